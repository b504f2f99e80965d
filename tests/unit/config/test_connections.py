"""Connections: `provider "kafka"` blocks with and without alias."""

from pathlib import Path

import pytest

from kplan.config.load import Configuration
from tests.unit.config.load_helper import load_files


def test_several_connections_are_told_apart_by_alias(tmp_path: Path) -> None:
    text = """
    provider "kafka" { bootstrap_servers = ["a:9092"] }
    provider "kafka" {
      alias             = "eu"
      bootstrap_servers = ["b:9092"]
    }
    resource "kafka_topic" "x" {
      provider = kafka.eu
      name     = "x"
    }
    """
    found = load_files(tmp_path, {"main.tf": text})
    assert found.diagnostics == ()
    assert [(each.key, each.arguments) for each in found.providers] == [
        ("", {"bootstrap_servers": ["a:9092"]}),
        ("eu", {"bootstrap_servers": ["b:9092"]}),
    ]


def test_two_of_the_same_alias_and_one_that_is_not_there_are_told(tmp_path: Path) -> None:
    text = """provider "kafka" {}
provider "kafka" {}
provider "kafka" {
  alias = "eu"
}
resource "kafka_topic" "x" {
  provider = kafka.ue
  name     = "x"
}
"""
    found = load_files(tmp_path, {"main.tf": text})
    assert [(each.code, str(each.subject), each.hint) for each in found.diagnostics] == [
        ("KP128", "main.tf:2:1", "Give each connection an alias = ...; one can be without."),
        ("KP192", "main.tf:7:14", 'Did you mean "kafka.eu"?'),
    ]


def test_an_argument_that_fails_is_told_and_the_others_are_there(tmp_path: Path) -> None:
    text = 'provider "kafka" {\n  timeout = 1 + "x"\n  tls_enabled = true\n}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP150"]
    assert found.providers[0].arguments == {"tls_enabled": True}


def keys(found: Configuration) -> dict[str, str]:
    """Give the key of the connection of every resource, by address."""
    return {str(each.address): each.provider for each in found.resources}


REGIONS = """
variable "regions" {
  default = { eu = "eu:9092", us = "us:9092" }
}
provider "kafka" {
  alias             = "by_region"
  for_each          = var.regions
  bootstrap_servers = [each.value]
}
"""


def test_a_provider_with_for_each_is_a_connection_for_each_element(tmp_path: Path) -> None:
    text = (
        REGIONS
        + """
    resource "kafka_topic" "eu" {
      provider = kafka.by_region["eu"]
      name     = "x"
    }
    resource "kafka_topic" "all" {
      for_each = var.regions
      provider = kafka.by_region[each.key]
      name     = "y"
    }
    resource "kafka_topic" "here" {
      name = "x"
    }
    """
    )
    found = load_files(tmp_path, {"main.tf": text})
    assert found.diagnostics == ()
    assert [(each.key, each.arguments) for each in found.providers] == [
        ('by_region["eu"]', {"bootstrap_servers": ["eu:9092"]}),
        ('by_region["us"]', {"bootstrap_servers": ["us:9092"]}),
    ]
    assert keys(found) == {
        'kafka_topic.all["eu"]': 'by_region["eu"]',
        'kafka_topic.all["us"]': 'by_region["us"]',
        "kafka_topic.eu": 'by_region["eu"]',
        "kafka_topic.here": "",
    }


INNER = """
resource "kafka_topic" "own" { name = "own" }
module "deeper" { source = "../deeper" }
"""


def test_modules_inherit_the_connection_without_alias_and_are_handed_others(
    tmp_path: Path,
) -> None:
    text = (
        REGIONS
        + """
    provider "kafka" { alias = "west" }
    module "plain" { source = "./inner" }
    module "west" {
      source    = "./inner"
      providers = { kafka = kafka.west }
    }
    module "each" {
      for_each  = var.regions
      source    = "./inner"
      providers = { kafka = kafka.by_region[each.key] }
    }
    module "two" {
      source    = "./two"
      providers = { kafka.source = kafka.west, kafka.target = kafka.by_region["us"] }
    }
    """
    )
    two = """
    terraform {
      required_providers {
        kafka = { configuration_aliases = [kafka.source, kafka.target] }
      }
    }
    resource "kafka_topic" "a" {
      provider = kafka.source
      name     = "a"
    }
    resource "kafka_topic" "b" {
      provider = kafka.target
      name     = "b"
    }
    resource "kafka_topic" "c" { name = "c" }
    """
    files = {
        "main.tf": text,
        "inner/main.tf": INNER,
        "deeper/main.tf": 'resource "kafka_topic" "deep" { name = "deep" }',
        "two/main.tf": two,
    }
    found = load_files(tmp_path, files)
    assert found.diagnostics == ()
    assert keys(found) == {
        'module.each["eu"].kafka_topic.own': 'by_region["eu"]',
        'module.each["eu"].module.deeper.kafka_topic.deep': 'by_region["eu"]',
        'module.each["us"].kafka_topic.own': 'by_region["us"]',
        'module.each["us"].module.deeper.kafka_topic.deep': 'by_region["us"]',
        "module.plain.kafka_topic.own": "",
        "module.plain.module.deeper.kafka_topic.deep": "",
        "module.two.kafka_topic.a": "west",
        "module.two.kafka_topic.b": 'by_region["us"]',
        "module.two.kafka_topic.c": "",
        "module.west.kafka_topic.own": "west",
        "module.west.module.deeper.kafka_topic.deep": "west",
    }


@pytest.mark.parametrize(
    ("chosen", "detail", "hint"),
    [
        ("kafka.by_regoin", "This names no connection", 'Did you mean "kafka.by_region"?'),
        ("kafka.by_region", "has for_each", "For example kafka.by_region[each.key]"),
        ('kafka.by_region["euu"]', 'There is no instance ["euu"].', 'Did you mean "eu"?'),
        ('kafka.west["eu"]', "It has no for_each, so it has no instances.", ""),
        ("aws.west", "This names no connection.", "Write kafka, kafka.ALIAS or kafka.ALIAS[KEY]."),
        ("kafka.by_region[local.no]", 'named "no"', "Define it in a block: locals { no = ... }"),
        ("kafka.by_region[each.key]", '"each" is an element of for_each', ""),
    ],
)  # fmt: skip
def test_a_choice_that_is_none_is_told(tmp_path: Path, chosen: str, detail: str, hint: str) -> None:
    text = f"""{REGIONS}
    provider "kafka" {{ alias = "west" }}
    resource "kafka_topic" "x" {{
      provider = {chosen}
      name     = "x"
    }}
    """
    (told,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert detail in told.detail
    assert told.hint == hint


@pytest.mark.parametrize(
    ("block", "detail"),
    [
        ('for_each = toset(["a"])', "this block has no alias"),
        ('alias = "a b"', "An alias is a name"),
        ('alias = ["a"]', "An alias is a name"),
        ('alias = "a"\nfor_each = ["a"]', "A map or a set of strings is needed"),
    ],
)
def test_a_provider_block_that_cannot_be_told_apart_is_told(
    tmp_path: Path, block: str, detail: str
) -> None:
    text = f'provider "kafka" {{\n{block}\n}}\nresource "kafka_topic" "x" {{ name = "x" }}\n'
    (told,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert detail in told.detail


def test_the_same_object_on_two_clusters_is_declared_once_on_each(tmp_path: Path) -> None:
    text = """
    provider "kafka" { alias = "west" }
    resource "kafka_topic" "a" { name = "x" }
    resource "kafka_topic" "b" {
      provider = kafka.west
      name     = "x"
    }
    resource "kafka_topic" "c" {
      provider = kafka.west
      name     = "x"
    }
    """
    (told,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert (told.code, str(told.address)) == ("KP191", "kafka_topic.c")


def test_a_called_module_declares_no_connection_of_its_own(tmp_path: Path) -> None:
    files = {
        "main.tf": 'module "a" { source = "./inner" }',
        "inner/main.tf": """
        provider "kafka" { bootstrap_servers = ["elsewhere:9092"] }
        provider "kafka" { alias = "proxy" }
        """,
    }
    (told,) = load_files(tmp_path, files).diagnostics
    assert told.code == "KP120"
    assert told.hint.startswith("Declare it there, and hand it on")


def test_json_names_connections_as_text(tmp_path: Path) -> None:
    text = """{
      "provider": {"kafka": [{"alias": "west"}, {"alias": "r", "for_each": {"a": 1}}]},
      "resource": {"kafka_topic": {
        "a": {"provider": "kafka.west", "name": "a"},
        "b": {"provider": "kafka.r[\\"a\\"]", "name": "b"}
      }},
      "module": {"m": {"source": "./inner", "providers": {"kafka": "kafka.west"}}}
    }"""
    inner = 'resource "kafka_topic" "x" { name = "x" }'
    found = load_files(tmp_path, {"main.tf.json": text, "inner/main.tf": inner})
    assert found.diagnostics == ()
    assert list(keys(found).values()) == ["west", 'r["a"]', "west"]
