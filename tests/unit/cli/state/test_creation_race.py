"""Two workspaces create the same ACL, quota or user, which Kafka tells both is done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.workflow import workspaces
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.cli.state.test_adoption_race import end_in_default
from tests.unit.cli.state.test_interrupted_creations import ACL, USER
from tests.unit.cli.state.test_workspace_race import (
    DEFAULT,
    PROVIDER,
    W2,
    everything,
    owned_names,
)

QUOTA = """
resource "kafka_quota" "q" {
  entity_name = "app"
  entity_type = "client-id"
  config      = { "consumer_byte_rate" = "1000" }
}
"""
KINDS = [
    ("create_acls", ACL, "kafka_acl.a"),
    ("alter_quotas", QUOTA, "kafka_quota.q"),
    ("alter_scram_users", USER, "kafka_user_scram_credential.u"),
]


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    """Sit down where the second of two workspaces is selected."""
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(PROVIDER)
    found.run("workspace", "new", "w2")
    return found


@pytest.mark.parametrize(("call", "text", "address"), KINDS)
def test_of_two_that_create_it_one_owns_it_if_the_other_ends_meanwhile(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, call: str, text: str, address: str
) -> None:
    desk.write(PROVIDER + text)
    create: Callable[..., object] = getattr(MemoryCluster, call)
    said: list[str] = []

    def create_in_both(*args: object, **given: object) -> object:
        if given.get("validate_only"):
            return create(*args, **given)
        monkeypatch.setattr(MemoryCluster, call, create)
        assert run(("apply", "-auto-approve"), {"KPLAN_WORKSPACE": "default"}) == 1
        said.append(" ".join(desk.capture.readouterr().err.replace("│", " ").split()))
        return create(*args, **given)

    monkeypatch.setattr(MemoryCluster, call, create_in_both)
    desk.run("apply", "-auto-approve")
    assert (
        f"It was created, and since the plan an unfinished apply has sent it at {address} in the "
        'workspace "w2"'
    ) in said[0]
    assert (owned_names(DEFAULT), len(owned_names(W2))) == (set(), 1)
    desk.run("destroy", "-auto-approve")


@pytest.mark.parametrize(("text", "address"), [each[1:] for each in KINDS])
def test_of_two_that_create_it_and_end_at_the_same_moment_not_both_own_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, text: str, address: str
) -> None:
    desk.write(PROVIDER + text)
    end_in_default(desk, monkeypatch)
    before = MemoryCluster()
    monkeypatch.setattr(wiring, "_connect", lambda *_: before)
    told = everything(desk, "apply", "-auto-approve", code=1)
    assert f"It was created, and since the plan it is owned at {address} in the workspace" in told
    assert f"{address}: failed" in told
    assert (len(owned_names(DEFAULT)), owned_names(W2)) == (1, set())


def test_what_was_adopted_and_changed_is_not_said_to_be_created(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(PROVIDER + QUOTA)
    end_in_default(desk, monkeypatch)
    desk.write(PROVIDER + QUOTA.replace("1000", "2000"))
    told = everything(desk, "apply", "-auto-approve", code=1)
    assert "It was adopted and changed, and since the plan it is owned at kafka_quota.q" in told


def test_one_workspace_alone_reads_no_other_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = memory_command(tmp_path, capsys, monkeypatch)
    desk.write(PROVIDER + ACL + QUOTA + USER)
    monkeypatch.setattr(workspaces, "_read_states", None)
    desk.run("apply", "-auto-approve")
    assert len(owned_names(DEFAULT)) == 3
