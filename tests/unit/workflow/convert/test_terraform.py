"""Terraform files of the providers of Confluent and Aiven, converted, loaded and planned."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.config.declarations.collect import CONVERTIBLE_TYPES
from kplan.model.errors import ConfigError
from kplan.workflow.convert.convert import SourceFormat, convert
from kplan.workflow.convert.terraform_block import RESOURCE_TYPES
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.config.load_helper import load_files

SAMPLE = """
terraform {
  required_providers {
    confluent = { source = "confluentinc/confluent", version = "2.1.0" }
  }
}
provider "confluent" {
  cloud_api_key    = var.key
}
variable "key" { type = string }
variable "prefix" {
  type    = string
  default = "eu"
}
locals {
  retention = 7 * 24 * 3600 * 1000
  unused    = 3
}
resource "confluent_service_account" "app" {
  display_name = "orders-app"
}
# The orders of the shop.
resource "confluent_kafka_topic" "orders" {
  kafka_cluster { id = confluent_kafka_cluster.basic.id }
  topic_name       = "${var.prefix}.orders"
  partitions_count = 4
  rest_endpoint    = confluent_kafka_cluster.basic.rest_endpoint
  config = {
    "cleanup.policy" = "compact"
    "retention.ms"   = local.retention
  }
  credentials {
    key    = confluent_api_key.app.id
    secret = confluent_api_key.app.secret
  }
  lifecycle { prevent_destroy = true }
}
resource "confluent_kafka_topic" "many" {
  for_each = toset(["a", "b"])
  kafka_cluster { id = "lkc-1" }
  topic_name = each.key
}
resource "confluent_kafka_acl" "read" {
  kafka_cluster { id = "lkc-1" }
  resource_type = "TOPIC"
  resource_name = confluent_kafka_topic.orders.topic_name
  pattern_type  = "LITERAL"
  principal     = "User:${confluent_service_account.app.id}"
  host          = "*"
  operation     = "READ"
  permission    = "ALLOW"
  depends_on = [confluent_kafka_topic.orders, confluent_service_account.app]
}
resource "confluent_kafka_acl" "group" {
  resource_type = "GROUP"
  resource_name = "orders-"
  pattern_type  = "PREFIXED"
  principal     = "User:*"
  host          = "*"
  operation     = "DESCRIBE_CONFIGS"
  permission    = "DENY"
}
resource "aiven_kafka_topic" "t" {
  project      = "p"
  service_name = "s"
  topic_name   = "pay"
  partitions   = 3
  replication  = 2
  termination_protection = true
  config {
    flush_ms       = 10
    cleanup_policy = "compact,delete"
    made_up        = 3
  }
  tag {
    key = "team"
    value = "pay"
  }
  timeouts { create = "1m" }
}
resource "aiven_kafka_acl" "w" {
  project = "p"
  service_name = "s"
  topic = "pay*"
  permission = "readwrite"
  username = "svc"
}
resource "aiven_kafka_native_acl" "n" {
  project = "p"
  service_name = "s"
  resource_name = "pay"
  resource_type = "Topic"
  pattern_type = "LITERAL"
  principal = "User:svc"
  operation = "Create"
  permission_type = "ALLOW"
}
output "x" { value = confluent_kafka_topic.orders.id }
"""


def converted(folder: Path, text: str, name: str = "main.tf") -> tuple[str, list[str]]:
    file = folder / name
    file.write_text(text)
    found = convert([str(file)], None)
    return found.text, [f"{each.subject}: {each.reason}" for each in found.unconverted]


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_what_is_converted_is_planned_as_the_same_objects(desk: MemoryCommand) -> None:
    (desk.folder / "main.tf").unlink()
    (desk.folder / "old").mkdir()
    (desk.folder / "old" / "main.tf").write_text(SAMPLE)
    assert run(["convert", "old/main.tf", "-out=new.tf"], {}) == 0
    shown = {"TF_VAR_confluent_service_account_app_id": "sa-1"}
    desk.capture.readouterr()
    assert run(["plan", "-json", "-out=p.kplan", "-broker-validate=false"], shown) == 0
    desk.capture.readouterr()
    desk.run("show", "-json", "p.kplan")
    assert run(["show", "-json", "p.kplan"], {}) == 0
    plan = json.loads(desk.capture.readouterr().out.splitlines()[-1])
    after = {each["address"]: each["change"]["after"] for each in plan["resource_changes"]}
    assert after["kafka_topic.orders"]["config"] == {
        "cleanup.policy": "compact",
        "retention.ms": "604800000",
    }
    assert after["kafka_topic.orders"]["name"] == "eu.orders"
    assert after['kafka_topic.many["a"]']["partitions"] == 6, "what Confluent's provider makes"
    assert after["kafka_topic.t"]["config"] == {
        "cleanup.policy": "compact,delete",
        "flush.ms": "10",
    }
    read = after["kafka_acl.read"]
    assert (read["acl_principal"], read["acl_operation"]) == ("User:sa-1", "Read")
    group = after["kafka_acl.group"]
    assert (group["resource_pattern_type_filter"], group["acl_permission_type"]) == (
        "Prefixed",
        "Deny",
    )
    writes = {name for name in after if name.startswith("kafka_acl.w")}
    assert len(writes) == 4


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    text, left_out = converted(tmp_path, SAMPLE)
    told = "\n".join(left_out)
    for each in (
        "kafka_cluster of confluent_kafka_topic.orders",
        "credentials of confluent_kafka_topic.orders",
        "confluent_service_account.app.id",
        "config.made_up of aiven_kafka_topic.t",
        "timeouts of aiven_kafka_topic.t",
        "consumer groups of aiven_kafka_acl.w",
        "output.x",
        "var.key",
        "local.unused",
        "provider.confluent",
    ):
        assert each in told, each
    assert "# The orders of the shop." in text
    assert '# key = "team"' in text, "tags stay as comments"


@pytest.mark.parametrize(
    ("topic", "told"),
    [("a*b", "wildcards only at the end"), ("?", "wildcards only at the end")],
)
def test_a_wildcard_that_kafka_has_not_is_told(tmp_path: Path, topic: str, told: str) -> None:
    text = SAMPLE.replace('topic = "pay*"', f'topic = "{topic}"')
    out, left_out = converted(tmp_path, text)
    assert any(told in each for each in left_out)
    assert 'resource "kafka_acl" "w"' not in out


@pytest.mark.parametrize("name", ["main.tf", "main.tf.json"])
@pytest.mark.parametrize("text", ["", "resource", 'resource "aiven_kafka_acl" "x" {}', "{", "{}"])
def test_any_file_is_converted_or_refused(tmp_path: Path, name: str, text: str) -> None:
    with suppress(ConfigError):
        converted(tmp_path, text, name)


def test_every_line_of_the_sample_may_be_missing(tmp_path: Path) -> None:
    lines = SAMPLE.splitlines(keepends=True)
    for at in range(len(lines)):
        with suppress(ConfigError):
            converted(tmp_path, "".join((*lines[:at], *lines[at + 1 :])))


def test_the_format_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "topics.hcl"
    file.write_text(SAMPLE)
    assert "kafka_topic" in convert([str(file)], SourceFormat.TERRAFORM).text


def test_what_can_be_converted_is_hinted_at_as_that(tmp_path: Path) -> None:
    """It was taken for a misspelt kafka_topic."""
    assert set(RESOURCE_TYPES) == CONVERTIBLE_TYPES
    for each in CONVERTIBLE_TYPES:
        found = load_files(tmp_path, {"main.tf": f'resource "{each}" "x" {{}}\n'})
        (told,) = found.diagnostics
        assert (told.code, "kplan convert" in told.hint) == ("KP126", True)
