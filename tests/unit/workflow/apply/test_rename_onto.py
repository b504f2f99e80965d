"""An address that comes to declare an object which someone else has made."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import QuotaAlteration, QuotaEntity, ScramAlteration, ScramUser
from kplan.model.errors import StalePlanError
from kplan.model.plan import Action, Reason
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.plan import save_plan
from kplan.workflow.ports import PlanOptions
from tests.project_harness import ProjectHarness

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
USER = """
resource "kafka_user_scram_credential" "u" {
  username        = "%s"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "declared"
}
"""
QUOTA = """
resource "kafka_quota" "q" {
  entity_name = "%s"
  entity_type = "user"
  config      = { producer_byte_rate = 1 }
}
"""
BOB = ScramUser("bob", "SCRAM-SHA-256")


def renamed(folder: Path, text: str) -> ProjectHarness:
    """Apply it for alice and declare it for bob."""
    harness = ProjectHarness(folder, MemoryCluster())
    harness.write(PROVIDER + text % "alice")
    harness.apply()
    harness.write(PROVIDER + text % "bob")
    return harness


def make_bob(harness: ProjectHarness) -> None:
    """Have someone else make the user and its quota."""
    other = harness.cluster.connect_as()
    other.alter_scram_users([ScramAlteration(BOB, 8192, "his own")])
    other.alter_quotas([QuotaAlteration(QuotaEntity(user="bob"), {"producer_byte_rate": 77.0})])


@pytest.mark.parametrize("text", [USER, QUOTA])
def test_an_existing_object_is_adopted_and_never_replaced_silently(
    tmp_path: Path, text: str
) -> None:
    """As if its address had owned nothing; the old object is deleted beside that."""
    harness = renamed(tmp_path, text)
    make_bob(harness)
    plan = harness.plan().plan
    assert {(each.action, each.reason) for each in plan.changes} == {
        (Action.DELETE, Reason.NOT_DECLARED),
        (Action.UPDATE, Reason.ADOPTED_AND_CHANGED),
    }
    assert plan.adoption_count == 1
    done = harness.apply()
    assert done.state is not None
    (owned,) = done.state.owned.values()
    assert "bob" in owned.identity
    assert not harness.plan().plan.has_changes


def test_the_password_of_an_existing_user_is_warned_of(tmp_path: Path) -> None:
    """It is the warning of every user that is adopted."""
    harness = renamed(tmp_path, USER)
    make_bob(harness)
    change = next(each for each in harness.plan().plan.changes if each.after is not None)
    assert any(note.startswith("KP2412") for note in change.notes)


@pytest.mark.parametrize("text", [USER, QUOTA])
def test_a_saved_replacement_is_stale_once_its_new_object_exists(tmp_path: Path, text: str) -> None:
    """It would take over what the review never saw."""
    harness = renamed(tmp_path, text)
    plan = harness.plan()
    assert [each.action for each in plan.plan.changes] == [Action.REPLACE]
    path = harness.folder / "p.kplan"
    save_plan(plan, path, harness.now)
    make_bob(harness)
    hands = ApplyHandlers(lambda _: True, harness.watcher)
    with pytest.raises(StalePlanError, match="it has been created since the plan, and differs"):
        apply_saved(harness.project, path, PlanOptions(), (harness.ports, hands))
    assert harness.cluster.scram_users()[BOB] == 8192
