"""`kplan validate` where variables have no value, as in a job that has none of them."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

UNSET = """
variable "servers" { type = list(string) }
variable "names" { type = set(string) }
variable "size" {
  type = number
  validation {
    condition     = var.size > 3
    error_message = "Too small."
  }
}
provider "kafka" { bootstrap_servers = var.servers }
resource "kafka_topic" "t" {
  for_each           = var.names
  name               = each.key
  partitions         = var.size
  replication_factor = 1
}
resource "kafka_topic" "whole" {
  name               = "whole"
  partitions         = 1
  replication_factor = 1
}
output "names" { value = [for each in kafka_topic.t : each.name] }
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(UNSET)
    return found


def test_variables_need_no_values(desk: MemoryCommand) -> None:
    """Terraform 1.11 calls the same folder valid."""
    told = desk.run_failing("validate", code=0)
    assert told.count("Warning: No value for required variable [KP170]") == 1
    assert "No value is given for var.servers, var.names, var.size." in told
    assert "-var-file=FILE, -var or TF_VAR_name" in told
    found = json.loads(desk.run("validate", "-json"))
    assert (found["valid"], found["error_count"], found["warning_count"]) == (True, 0, 1)


def test_what_depends_on_none_is_checked(desk: MemoryCommand) -> None:
    desk.write(UNSET.replace('"whole"\n  part', '"who le"\n  part'))
    assert "Invalid topic name [KP201]" in desk.run_failing("validate")


def test_values_that_are_given_are_checked(desk: MemoryCommand) -> None:
    told = desk.run_failing("validate", "-var=size=2")
    assert "Too small." in told
    assert "No value is given for var.servers, var.names." in told


def test_a_plan_needs_them(desk: MemoryCommand) -> None:
    told = desk.run_failing("plan", "-input=false")
    assert told.count("Error: No value for required variable [KP170]") == 3
    assert "or as TF_VAR_size." in told
