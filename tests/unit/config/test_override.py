"""Override files change what other files declare.

That Terraform has the same values is held by the configuration `overrides` of the fixtures.
"""

from pathlib import Path

import pytest

from tests.unit.config.load_helper import load_files

TOPIC = """resource "kafka_topic" "t" {
  name       = "t"
  partitions = 3
  config     = { "retention.ms" = "1" }
  lifecycle {
    prevent_destroy = true
    ignore_changes  = [partitions]
  }
}
"""


def test_arguments_of_a_resource_are_replaced_one_by_one(tmp_path: Path) -> None:
    """A lifecycle block too is merged argument by argument."""
    over = """resource "kafka_topic" "t" {
  partitions = 6
  lifecycle {
    prevent_destroy = false
  }
}
"""
    found = load_files(tmp_path, {"main.tf": TOPIC, "main_override.tf": over})
    assert found.diagnostics == ()
    (topic,) = found.resources
    assert topic.value.partitions == 6  # type: ignore[attr-defined]
    assert topic.value.config == {"retention.ms": "1"}  # type: ignore[attr-defined]
    assert (topic.lifecycle.prevent_destroy, topic.lifecycle.ignore_changes) == (
        False,
        (("partitions",),),
    )


def test_a_mistake_is_told_in_the_file_that_it_is_in(tmp_path: Path) -> None:
    over = 'resource "kafka_topic" "t" {\n  partitions = "many"\n  config = var.nope\n}\n'
    base = TOPIC.replace("[partitions]", "[partitionz]")
    found = load_files(tmp_path, {"main.tf": base, "override.tf": over})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP121", "main.tf:7:24"),
        ("KP178", "override.tf:2:16"),
        ("KP140", "override.tf:3:12"),
    ]


@pytest.mark.parametrize(
    ("over", "place"),
    [
        ('resource "kafka_topic" "u" {}\n', "1:1"),
        ('variable "v" {}\n', "1:1"),
        ("locals {\n  l = 1\n}\n", "2:3"),
        ('provider "kafka" {\n  alias = "b"\n}\n', "1:1"),
        ("moved {\n  from = kafka_topic.a\n  to = kafka_topic.t\n}\n", "1:1"),
        ('check "c" {}\n', "1:1"),
        ('variable "w" {\n  validation {\n  }\n}\n', "2:3"),
    ],
)
def test_what_cannot_be_overridden_is_an_error(tmp_path: Path, over: str, place: str) -> None:
    base = 'variable "w" {\n  default = 1\n}\nprovider "kafka" {}\n' + TOPIC
    found = load_files(tmp_path, {"main.tf": base, "x_override.tf": over})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP131", f"x_override.tf:{place}")
    ]


def test_the_block_with_the_alias_is_the_one_overridden(tmp_path: Path) -> None:
    base = 'provider "kafka" {}\nprovider "kafka" {\n  alias = "b"\n}\n'
    over = 'provider "kafka" {\n  alias = "b"\n  bootstrap_servers = ["b:1"]\n}\n'
    found = load_files(tmp_path, {"main.tf": base, "override.tf": over})
    assert found.diagnostics == ()
    assert [each.arguments for each in found.providers] == [{}, {"bootstrap_servers": ["b:1"]}]
