"""Data sources with depends_on: read after what they depend on, not from the cluster of before."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
TEXT = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
}
data "kafka_topics" "all" { depends_on = [kafka_topic.a] }
output "names" { value = [for each in data.kafka_topics.all.list : each.topic_name] }
"""
USER = """
resource "kafka_acl" "r" {
  for_each            = toset([for each in data.kafka_topics.all.list : each.topic_name])
  resource_name       = each.key
  resource_type       = "Topic"
  acl_principal       = "User:a"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_outputs_are_known_after_the_apply_and_then_stay(desk: MemoryCommand) -> None:
    desk.write(TEXT)
    told = desk.run("plan")
    assert "Changes to Outputs:\n  + names = (known after apply)\n" in told
    assert "Plan: 1 to add" in told
    told = desk.run("apply", "-auto-approve")
    assert (
        desk.run("output", "-json", "names").strip().replace("\n", "").replace(" ", "") == '["a"]'
    )
    assert "No changes." in desk.run("plan", "-detailed-exitcode")
    desk.write(TEXT.replace("partitions         = 1", "partitions         = 2"))
    told = desk.run("plan", "-detailed-exitcode", code=2)
    assert "1 to change" in told
    assert '  ~ names = ["a"] -> (known after apply)\n' in told
    assert "names" not in desk.run("destroy", "-auto-approve").partition("Destroy complete")[2]
    assert desk.run("output", "-json").strip() == "{}"


SECRET = """
output "count" {
  sensitive = true
  value     = length(data.kafka_topics.all.list)
}
"""


def test_documents_say_which_outputs_are_known_after_the_apply(desk: MemoryCommand) -> None:
    """As in Terraform's JSON; a saved plan keeps it, and the apply fills it in."""
    desk.write(TEXT + SECRET)
    desk.run("plan", "-out=p.kplan")
    told = json.loads(desk.run("show", "-json", "p.kplan"))
    names, count = (told["output_changes"][each] for each in ("names", "count"))
    assert (names["actions"], names["after"], names["after_unknown"]) == (["create"], None, True)
    assert (count["after_unknown"], count["after_sensitive"]) == (True, True)
    outputs = {"count": {"sensitive": True}, "names": {"sensitive": False}}
    assert told["planned_values"]["outputs"] == outputs
    assert "(sensitive value)" in desk.run("show", "p.kplan")
    desk.run("apply", "p.kplan")
    assert desk.run("output") == 'count = <sensitive>\nnames = [\n  "a",\n]\n'
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_a_resource_that_needs_it_is_an_error_until_the_targets_are_applied(
    desk: MemoryCommand,
) -> None:
    desk.write(TEXT + USER)
    told = desk.run_failing("plan")
    assert "KP510" in told
    assert "kplan apply -target=kafka_topic.a" in told
    desk.run("apply", "-auto-approve", "-target=kafka_topic.a")
    assert "Plan: 1 to add" in desk.run("plan")
    desk.run("apply", "-auto-approve")
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_depends_on_of_a_module_call_counts_for_the_data_sources_in_it(desk: MemoryCommand) -> None:
    inner, _, _ = (
        TEXT[TEXT.index("data ") :]
        .replace("{ depends_on = [kafka_topic.a] }", "{}")
        .partition("\0")
    )
    (desk.folder / "m").mkdir()
    desk.write(inner, "m/main.tf")
    outer = TEXT[: TEXT.index("data ")]
    call = 'module "m" {\n  source     = "./m"\n  depends_on = [kafka_topic.a]\n}\n'
    desk.write(outer + call + 'output "n" { value = length(module.m.names) }\n')
    desk.run("apply", "-auto-approve")
    assert desk.run("output", "n").strip() == "1"
    assert "No changes." in desk.run("plan", "-detailed-exitcode")
