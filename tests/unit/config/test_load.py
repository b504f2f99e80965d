"""A folder of HCL becomes resources, providers and outputs."""

import re
from pathlib import Path

import pytest

from kplan.config.inputs import Inputs, VariableText
from kplan.kinds.topic_rules import Topic
from kplan.model.resource import Lifecycle
from tests.unit.config.load_helper import load_files

QUICKSTART = """
terraform {
  required_version = ">= 1.5"
  required_providers {
    kafka = { source = "Mongey/kafka" }
  }
}
provider "kafka" {
  bootstrap_servers = ["localhost:9092"]
  sasl_password     = var.password
  config            = { "client.id" = "kplan" }
}
variable "password" {
  sensitive = true
  default   = "secret"
}
variable "env" {
  type    = string
  default = "dev"
}
variable "topics" {
  type    = map(object({ partitions = optional(number, 3) }))
  default = { eu = { partitions = 6 }, us = {} }
}
locals {
  prefix = "${var.env}.orders"
}
resource "kafka_topic" "orders" {
  for_each           = var.topics
  name               = "${local.prefix}.${each.key}"
  partitions         = each.value.partitions
  replication_factor = var.env == "prod" ? 3 : 1
  config = {
    "retention.ms"   = each.key == "eu" ? 604800000 : null
    "cleanup.policy" = "delete"
  }
  lifecycle {
    prevent_destroy = true
    ignore_changes  = [partitions, config["retention.ms"]]
  }
}
resource "kafka_acl" "read" {
  count               = 2
  resource_name       = kafka_topic.orders["eu"].name
  resource_type       = "Topic"
  acl_principal       = "User:app${count.index}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
output "names" {
  value = [for topic in kafka_topic.orders : topic.name]
}
"""


def test_a_folder_becomes_resources_in_order_of_address(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": QUICKSTART})
    assert found.diagnostics == ()
    assert [str(each.address) for each in found.resources] == [
        "kafka_acl.read[0]",
        "kafka_acl.read[1]",
        'kafka_topic.orders["eu"]',
        'kafka_topic.orders["us"]',
    ]


def test_arguments_are_evaluated_and_a_null_config_is_left_out(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": QUICKSTART})
    values = {str(each.address): each.value for each in found.resources}
    assert values['kafka_topic.orders["eu"]'] == Topic(
        "dev.orders.eu", 6, 1, None, {"retention.ms": "604800000", "cleanup.policy": "delete"}
    )
    assert values['kafka_topic.orders["us"]'] == Topic(
        "dev.orders.us", 3, 1, None, {"cleanup.policy": "delete"}
    )


def test_lifecycle_and_places_come_with_a_resource(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": QUICKSTART})
    topic = found.resources[2]
    assert topic.lifecycle.prevent_destroy
    assert topic.lifecycle.ignore_changes == (("partitions",), ("config", "retention.ms"))
    assert str(topic.declared_at) == "main.tf:28:1"
    assert str(topic.ranges["config", "retention.ms"]) == "main.tf:34:24"


def test_resources_without_a_lifecycle_share_one(tmp_path: Path) -> None:
    first, second, *_ = load_files(tmp_path, {"main.tf": QUICKSTART}).resources
    assert first.lifecycle == Lifecycle()
    assert first.lifecycle is second.lifecycle


def test_a_provider_is_evaluated_and_its_secrets_are_named(tmp_path: Path) -> None:
    (provider,) = load_files(tmp_path, {"main.tf": QUICKSTART}).providers
    assert provider.key == ""
    assert provider.arguments["bootstrap_servers"] == ["localhost:9092"]
    assert provider.arguments["config"] == {"client.id": "kplan"}
    assert provider.sensitive == {"sasl_password"}
    assert "secret" not in repr(provider)


def test_references_to_all_instances_and_outputs(tmp_path: Path) -> None:
    (output,) = load_files(tmp_path, {"main.tf": QUICKSTART}).outputs
    assert output.name == "names"
    assert output.value == ["dev.orders.eu", "dev.orders.us"]
    assert output.type == ["tuple", ["string", "string"]]


def test_sensitive_variables_are_not_told(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": QUICKSTART})
    assert found.variables["password"].value is None
    assert found.variables["password"].is_sensitive
    assert found.variables["env"].value == "dev"


@pytest.mark.parametrize(
    "block",
    [
        'resource "kafka_logger" "x" {\n node_id = 1\n logger = "l"\n level = var.s\n}',
        'resource "kafka_connector" "x" {\n name = "c"\n config = {}\n state = var.s\n}',
        'resource "kafka_schema" "x" {\n subject = "c"\n schema = "{}"\n schema_type = var.s\n}',
        'resource "kafka_feature" "x" {\n name = "f"\n level = 1\n downgrade = var.s\n}',
        'resource "kafka_feature" "x" {\n name = "f"\n level = var.number\n}',
        'resource "kafka_feature" "x" {\n name = var.none\n level = 1\n downgrade = var.s\n}',
        'resource "kafka_topic" "x" {\n name = "t"\n config = sensitive({"flush.ms" = var.s})\n}',
        'resource "kafka_quota" "x" {\n entity_type="user"\n config={request_percentage=var.s}\n}',
    ],
)
def test_what_a_kind_says_of_a_sensitive_value_does_not_show_it(tmp_path: Path, block: str) -> None:
    """Kinds may write it in another case, or without quotes."""
    text = """
    variable "s" {
      sensitive = true
      default   = "Straße"
    }
    variable "number" {
      sensitive = true
      default   = -77
    }
    variable "none" {}
    """
    found = load_files(tmp_path, {"main.tf": f"{text}{block}\n"}).diagnostics
    told = "".join(each.detail for each in found)
    assert "(sensitive value)" in told
    assert not re.search("stra(ß|ss)e|77", told, re.IGNORECASE)


def test_a_long_sensitive_value_is_not_shown_in_part(tmp_path: Path) -> None:
    text = """
    resource "kafka_topic" "x" {
      name   = "t"
      config = { "flush.ms" = sensitive(replace(format("%3000s", ""), " ", "hunter2")) }
    }
    """
    (found,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert (
        found.detail == 'The value of "flush.ms" has 21,000 characters: Not a number of type LONG.'
    )


def test_the_words_of_a_sentence_are_no_passwords(tmp_path: Path) -> None:
    text = """
    resource "kafka_user_scram_credential" "x" {
      username         = "alice"
      scram_mechanism  = "SCRAM-SHA-256"
      scram_iterations = 1
      password         = "Kafka"
    }
    """
    (found,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert found.detail == "scram_iterations is 1; Kafka takes 4096 to 16384."


def test_the_result_does_not_depend_on_how_the_files_are_cut(tmp_path: Path) -> None:
    blocks = [each for each in QUICKSTART.split("\n}\n") if each.strip()]
    one = load_files(
        tmp_path / "one", {f"{at}.tf": f"{each}\n}}\n" for at, each in enumerate(blocks)}
    )
    other = load_files(
        tmp_path / "other", {f"{9 - at}.hcl": f"{each}\n}}\n" for at, each in enumerate(blocks)}
    )
    assert one.diagnostics == other.diagnostics == ()
    assert [(each.address, each.value) for each in one.resources] == [
        (each.address, each.value) for each in other.resources
    ]
    assert [each.value for each in one.outputs] == [each.value for each in other.outputs]


def test_the_digest_tells_configurations_apart(tmp_path: Path) -> None:
    first = load_files(tmp_path / "a", {"main.tf": QUICKSTART})
    same = load_files(tmp_path / "b", {"main.tf": QUICKSTART})
    text = load_files(tmp_path / "c", {"main.tf": QUICKSTART + "\n"})
    given = load_files(
        tmp_path / "d", {"main.tf": QUICKSTART}, Inputs((VariableText("env", "prod", "-var"),))
    )
    assert first.digest == same.digest
    assert len({first.digest, text.digest, given.digest}) == 3


def test_a_data_source_of_one_check_is_told_with_the_way_out(tmp_path: Path) -> None:
    text = (
        'check "c" {\n  data "kafka_topic" "e" {\n    name = "e"\n  }\n'
        '  assert {\n    condition     = terraform.workspace != ""\n'
        '    error_message = "no"\n  }\n}\n'
    )
    (found,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert (found.code, str(found.subject)) == ("KP120", "main.tf:2:3")
    assert found.hint == (
        "Write the data block beside the check block; a failing read is an error then."
    )


def test_a_dynamic_block_is_told_with_the_way_out(tmp_path: Path) -> None:
    text = 'resource "kafka_topic" "t" {\n  name = "t"\n  dynamic "config" {\n  }\n}\n'
    (problem,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert (problem.code, str(problem.subject)) == ("KP120", "main.tf:3:3")
    assert "config = { for" in problem.hint


def test_an_argument_without_a_value_hides_no_error_of_the_others(tmp_path: Path) -> None:
    """Every error at once, and none that only follows from the argument without a value."""
    text = """
resource "kafka_topic" "t" {
  for_each       = { a = "a b", b = "ok" }
  name           = each.value
  partitions     = 0
  config         = { "retention.ms" = "abc", "cleanup.policy" = each.value }
  placement      = { strategy = "rack-aware" }
  retention_step = var.nope
}
resource "kafka_topic" "u" {
  name           = "u"
  partitions     = var.nope
  config         = var.nope
  placement      = { strategy = "rack-aware" }
  retention_step = "1h"
}
resource "kafka_topic" "v" {
  name       = var.nope
  partitions = "abc"
}
"""
    found = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert [(each.code, each.subject.line if each.subject else 0) for each in found] == [
        ("KP201", 4),
        ("KP204", 5),
        ("KP204", 5),
        *[("KP208", 6)] * 4,
        ("KP140", 8),
        ("KP140", 12),
        ("KP140", 13),
        ("KP140", 18),
        ("KP178", 19),
    ]


def test_a_required_argument_without_a_value_hides_no_error_of_the_others(tmp_path: Path) -> None:
    """Every error at once, for each kind, and none about what stands for the missing value."""
    text = """
locals { none = var.nope }
resource "kafka_acl" "a" {
  resource_type       = local.none
  resource_name       = "orders"
  acl_principal       = "alice"
  acl_host            = ""
  acl_operation       = "Reed"
  acl_permission_type = "Alow"
}
resource "kafka_acl" "b" {
  resource_type       = "Topik"
  resource_name       = "orders"
  acl_principal       = "User:a"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_topic" "t" {
  name       = local.none
  partitions = 0
}
resource "kafka_user_scram_credential" "u" {
  username         = local.none
  scram_mechanism  = "MD5"
  scram_iterations = 3
}
resource "kafka_logger" "l" {
  node_id = local.none
  logger  = ""
  level   = "loud"
}
resource "kafka_feature" "f" {
  name  = local.none
  level = -1
}
resource "kafka_group_config" "g" {
  group_id = local.none
  config   = { "consumer.session.timeout.ms" = "x" }
}
resource "kafka_schema" "s" {
  subject     = local.none
  schema      = "x"
  schema_type = "YAML"
}
resource "kafka_connector" "c" {
  name  = local.none
  state = "dead"
}
resource "kafka_quota" "q" {
  entity_type = local.none
  config      = { "producer_byte_rate" = "x" }
}
"""
    found = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert [(each.code, each.subject.line if each.subject else 0) for each in found] == [
        ("KP140", 2),
        ("KP223", 6),
        ("KP221", 7),
        ("KP221", 8),
        ("KP221", 9),
        ("KP122", 11),  # acl_host
        ("KP221", 12),
        ("KP204", 20),
        ("KP225", 24),
        ("KP225", 25),
        ("KP226", 29),
        ("KP226", 30),
        ("KP227", 34),
        ("KP226", 38),
        ("KP520", 43),
        ("KP530", 47),
    ]
    assert not any("(unknown)" in each.detail for each in found)
    (count,) = (each for each in found if each.code == "KP204")
    assert count.detail == "kafka_topic.t needs at least 1 partition, got 0."
