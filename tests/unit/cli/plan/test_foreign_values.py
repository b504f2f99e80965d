"""`-foreign-values`: a folder with the cluster, the accounts and the topics together."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

MAIN = """
resource "aws_msk_cluster" "main" {}
provider "kafka" { bootstrap_servers = [aws_msk_cluster.main.bootstrap_brokers] }
resource "kafka_acl" "read" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:${confluent_service_account.x.id}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
  depends_on          = [confluent_service_account.x]
}
resource "confluent_service_account" "x" {}
output "account" { value = confluent_service_account.x.id }
"""
BLOCKS = (
    ("aws_msk_cluster", "main", {"bootstrap_brokers": "b:9092"}),
    ("confluent_service_account", "x", {"id": "sa-7"}),
)
STATE = {
    "version": 4,
    "terraform_version": "1.11.4",
    "resources": [
        {"mode": "managed", "type": kind, "name": name, "instances": [{"attributes": values}]}
        for kind, name, values in BLOCKS
    ],
}


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(MAIN)
    found.write(json.dumps(STATE), "terraform.tfstate")
    return found


def test_a_mixed_folder_is_planned_applied_and_planned_empty(desk: MemoryCommand) -> None:
    option = "-foreign-values=terraform.tfstate"
    assert "User:sa-7" in desk.run("plan", option, "-out=p.kplan")
    desk.run("apply", option, "p.kplan")
    assert {each.principal for each in desk.cluster.acls()} == {"User:sa-7"}
    assert desk.run("output", "-raw", "account", option) == "sa-7"
    assert "No changes." in desk.run("plan", option)


def test_without_values_what_needs_one_is_an_error_with_the_way_to_give_it(
    desk: MemoryCommand,
) -> None:
    told = desk.run_failing("plan", "-skip-foreign")
    assert "confluent_service_account.x belongs to another provider" in told
    assert "-foreign-values=terraform.tfstate" in told


@pytest.mark.parametrize(
    ("file", "reason"), [("absent.json", "No such file"), ("main.tf", "is not valid JSON")]
)
def test_a_file_that_cannot_be_used_is_refused(desk: MemoryCommand, file: str, reason: str) -> None:
    assert reason in desk.run_failing("plan", f"-foreign-values={file}")
