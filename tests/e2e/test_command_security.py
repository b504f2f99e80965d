"""The installed command against a cluster that asks for a password."""

from pathlib import Path

import pytest

from kplan.sandbox.record import Sandbox, properties_file
from tests.e2e.commands import kplan

pytestmark = pytest.mark.broker

CONFIGURATION = """
provider "kafka" {}
resource "kafka_topic" "t" {
  name               = "secured"
  partitions         = 1
  replication_factor = 1
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(CONFIGURATION, encoding="utf-8")
    return tmp_path


def password(sandbox: Sandbox, user: str) -> str:
    jaas = sandbox.client(user)["sasl.jaas.config"]
    return jaas.partition('password="')[2].partition('"')[0]


def test_a_properties_file_of_kafkas_own_tools_is_all_it_takes(
    folder: Path, sasl_broker: Sandbox
) -> None:
    file = properties_file(sasl_broker.folder, "admin")
    ran = kplan(folder, "plan", "-detailed-exitcode", env={"KPLAN_COMMAND_CONFIG": str(file)})
    assert ran.code == 2
    assert "as User:admin" in ran.out


def test_a_wrong_password_is_told_as_such(folder: Path, sasl_broker: Sandbox) -> None:
    right = properties_file(sasl_broker.folder, "admin").read_text(encoding="utf-8")
    wrong = folder / "wrong.properties"
    wrong.write_text(right.replace(password(sasl_broker, "admin"), "not-it"), encoding="utf-8")
    ran = kplan(folder, "plan", "-detailed-exitcode", env={"KPLAN_COMMAND_CONFIG": str(wrong)})
    assert ran.code == 7
    assert "Error: The cluster refused the connection" in ran.err
    assert "admin" in ran.err


def test_a_password_is_in_no_output_no_log_and_no_file(folder: Path, sasl_broker: Sandbox) -> None:
    secret = password(sasl_broker, "admin")
    env = {
        "KPLAN_COMMAND_CONFIG": str(properties_file(sasl_broker.folder, "admin")),
        "KPLAN_LOG": "trace",
    }
    said = ""
    for typed in ("plan -out=p", "apply p", "show -json", "destroy -auto-approve"):
        ran = kplan(folder, *typed.split(), env=env)
        assert ran.code == 0, ran
        said += ran.out + ran.err
    assert secret not in said
    written = [each for each in folder.rglob("*") if each.is_file()]
    assert len(written) > 2
    assert all(secret.encode() not in each.read_bytes() for each in written)


def test_without_the_right_to_list_acls_nothing_is_planned_from_them(
    folder: Path, sasl_broker: Sandbox
) -> None:
    """An ACL listing without permission is no empty listing (P3)."""
    acl = """
resource "kafka_acl" "a" {
  resource_type       = "Topic"
  resource_name       = "secured"
  acl_principal       = "User:bob"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
    (folder / "acl.tf").write_text(acl, encoding="utf-8")
    file = properties_file(sasl_broker.folder, "alice")
    ran = kplan(folder, "plan", env={"KPLAN_COMMAND_CONFIG": str(file)})
    assert "kafka_acl.a" not in ran.out.partition("Plan:")[0]
    assert "kafka_acl objects could not be read" in " ".join(ran.out.split())
