"""Access, worked out by the installed command on a broker that asks for a password."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.contract.clusters import connected, settings_of
from tests.e2e.commands import Ran, kplan

pytestmark = pytest.mark.broker

RIGHT = AclBinding("CLUSTER", "kafka-cluster", "LITERAL", "User:alice", "*", "ALL", "ALLOW")
OWN = """
provider "kafka" {}
resource "kafka_acl" "own" {
  resource_type       = "Cluster"
  resource_name       = "kafka-cluster"
  acl_principal       = "User:alice"
  acl_host            = "*"
  acl_operation       = "All"
  acl_permission_type = "Allow"
}
resource "kafka_acl" "app" {
  resource_type       = "Group"
  resource_name       = "access-app"
  acl_principal       = "User:bob"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


@pytest.fixture
def alice(sasl_broker: Sandbox) -> Iterator[dict[str, str]]:
    """Let alice do what she likes with the cluster; the environment of a run as alice."""
    with closing(connected("wire", settings_of(sasl_broker, "admin"))) as admin:
        before = admin.acls()
        assert set(admin.create_acls([RIGHT]).values()) == {None}
        yield {"KPLAN_COMMAND_CONFIG": str(properties_file(sasl_broker.folder, "alice"))}
        assert set(admin.delete_acls(sorted(admin.acls() - before)).values()) <= {None}


def ran(folder: Path, text: str, *words: str, env: dict[str, str]) -> Ran:
    (folder / "main.tf").write_text(text, encoding="utf-8")
    return kplan(folder, *words, "-detailed-exitcode", env=env)


def test_a_plan_that_locks_kplan_out_is_refused(tmp_path: Path, alice: dict[str, str]) -> None:
    """Item 6: the lockout refusal on a real SASL cluster."""
    assert ran(tmp_path, OWN, "apply", "-auto-approve", env=alice).code == 0
    less = OWN.replace('"All"', '"Describe"')
    refused = ran(tmp_path, less, "apply", "-auto-approve", env=alice)
    assert refused.code == 3, refused
    assert "Plan would lock kplan out" in refused.err
    assert "User:alice, as which kplan runs, loses ALTER on the cluster" in refused.err
    assert "User:alice loses CREATE, DELETE, ALTER" in refused.out
    swapped = ran(tmp_path, OWN.replace('"All"', '"Alter"'), "plan", env=alice)
    assert swapped.code == 3
    assert "could not be added any more" in swapped.err
    kept = ran(tmp_path, OWN, "plan", env=alice)
    assert kept.code == 0, "nothing was changed"
    lines = ran(tmp_path, less, "plan", "-json", env=alice).out.splitlines()
    (told,) = [each for each in map(json.loads, lines) if each["type"] == "plan"]
    shifts = told["kplan"]["access"]["shifts"]
    assert {(each["principal"], each["effect"]) for each in shifts} == {
        ("User:alice", "loss"),
        ("User:alice", "gap"),
    }
