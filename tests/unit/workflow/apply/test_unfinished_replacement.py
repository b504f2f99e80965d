"""Replacements and creations that an apply did not see the end of."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.outcome import OutcomeStatus
from kplan.workflow.apply.apply import ApplyHandlers, ApplyResult
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.forget import forget_objects
from tests.project_harness import Killed, ProjectHarness

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
TOPIC = """
resource "kafka_topic" "y" {
  name               = "y"
  partitions         = 1
  replication_factor = 1
}
"""
USER = """
resource "kafka_user_scram_credential" "u" {
  username        = "%s"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "declared"
}
"""
ACL = """
resource "kafka_acl" "a" {
  resource_name       = "%s"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
FIRST_ACL = ACL.replace("}", "  lifecycle { create_before_destroy = true }\n}")


@pytest.fixture
def harness(tmp_path: Path) -> ProjectHarness:
    """Return a folder beside an empty cluster."""
    return ProjectHarness(tmp_path, MemoryCluster())


def kill() -> None:
    """End the run as SIGKILL does."""
    raise Killed


def be_killed(harness: ProjectHarness, call: str) -> None:
    """Kill an apply before its first call of this name."""
    harness.cluster.run_before(call, kill)
    with pytest.raises(Killed):
        harness.apply()
    harness.cluster.clear_faults()


def lose_answers(harness: ProjectHarness, call: str, reading: str) -> None:
    """Let a call be carried out without an answer, and nobody look up what came of it."""

    def lose() -> None:
        harness.cluster.time_out(call=call, carried_out=True, times=None)
        harness.cluster.time_out(call=reading, times=None)

    harness.cluster.run_before(call, lose)


def resume(harness: ProjectHarness) -> ApplyResult:
    """Finish what was killed."""
    hands = ApplyHandlers(lambda _: True, harness.watcher)
    return resume_apply(harness.project, PlanOptions(), harness.ports, hands)


def live_acls(harness: ProjectHarness) -> set[str]:
    """Name the topics of the ACLs there are."""
    return {each.resource_name for each in harness.cluster.acls()}


def test_a_resume_whose_journal_stays_does_not_write_the_state_behind_it(
    harness: ProjectHarness,
) -> None:
    harness.write(PROVIDER + USER % "u" + TOPIC)
    be_killed(harness, "create_topics")
    lose_answers(harness, "create_topics", "topics")
    resume(harness)
    harness.cluster.clear_faults()
    assert harness.project.store.read_journal() is not None
    harness.apply()
    assert harness.project.store.read_journal() is None
    assert not harness.plan().plan.has_changes


def test_a_resume_deletes_the_old_object_beside_the_new_one_that_was_sent(
    harness: ProjectHarness,
) -> None:
    """The new one is not somebody else's: the journal has it."""
    harness.write(PROVIDER + FIRST_ACL % "old")
    harness.apply()
    harness.write(PROVIDER + FIRST_ACL % "new")
    be_killed(harness, "delete_acls")
    assert live_acls(harness) == {"old", "new"}
    resume(harness)
    assert live_acls(harness) == {"new"}
    assert harness.project.store.read_journal() is None
    assert not harness.plan().plan.has_changes


def test_a_replacement_without_an_answer_is_looked_up_later(harness: ProjectHarness) -> None:
    harness.write(PROVIDER + ACL % "old")
    harness.apply()
    harness.write(PROVIDER + ACL % "new")
    lose_answers(harness, "create_acls", "acls")
    harness.apply()
    harness.cluster.clear_faults()
    assert live_acls(harness) == {"new"}
    harness.write(PROVIDER + TOPIC)
    harness.apply()
    assert not live_acls(harness)
    assert harness.project.store.read_journal() is None


def test_a_creation_that_is_refused_after_a_lost_answer_is_looked_up_later(
    harness: ProjectHarness,
) -> None:
    """The first request made it; the second was refused, and nobody saw the topic."""

    def lose() -> None:
        harness.cluster.time_out(call="create_topics", carried_out=True)
        harness.cluster.time_out(call="topics", times=None)
        harness.cluster.run_before("create_topics", refuse)

    def refuse() -> None:
        harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="create_topics")

    harness.write(PROVIDER + TOPIC)
    harness.cluster.run_before("create_topics", lose)
    (outcome,) = harness.apply().outcomes
    assert outcome.status is OutcomeStatus.FAILED
    harness.cluster.clear_faults()
    assert "y" in harness.cluster.topics()
    assert not harness.plan().plan.has_changes
    harness.write(PROVIDER + ACL % "other")
    harness.apply()
    assert "y" not in harness.cluster.topics()
    assert harness.project.store.read_journal() is None


def test_a_deletion_without_an_answer_is_no_creation_of_the_new_object(
    harness: ProjectHarness,
) -> None:
    """The old ACL goes first, so that the new one was never sent: it is of whoever creates it."""

    def lose() -> None:
        harness.cluster.time_out(call="acls", times=None)
        harness.cluster.run_before("delete_acls", refuse)

    def refuse() -> None:
        harness.cluster.clear_faults()
        harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delete_acls")

    harness.write(PROVIDER + ACL % "old")
    harness.apply()
    harness.write(PROVIDER + ACL % "new")
    harness.cluster.time_out(call="delete_acls", carried_out=False)
    harness.cluster.run_before("delete_acls", lose)
    (outcome,) = harness.apply().outcomes
    assert outcome.status is OutcomeStatus.FAILED
    assert harness.project.store.read_journal() is None
    assert live_acls(harness) == {"old"}


def test_a_creation_that_was_answered_with_a_refusal_leaves_no_journal(
    harness: ProjectHarness,
) -> None:
    """Also where it was sent twice."""
    harness.write(PROVIDER + TOPIC)
    harness.cluster.refuse("NOT_CONTROLLER", call="create_topics", times=1)
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="create_topics")
    (outcome,) = harness.apply(has_broker_check=False).outcomes
    assert outcome.status is OutcomeStatus.FAILED
    assert harness.project.store.read_journal() is None


def begin_replacement(harness: ProjectHarness) -> None:
    """Create the new ACL, and be refused to delete the old one."""
    harness.write(PROVIDER + FIRST_ACL % "old")
    harness.apply()
    harness.write(PROVIDER + FIRST_ACL % "new")
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delete_acls")
    harness.apply()
    harness.cluster.clear_faults()
    assert live_acls(harness) == {"old", "new"}


@pytest.mark.parametrize("text", [TOPIC, FIRST_ACL % "old"])
def test_the_new_object_is_owned_where_the_old_one_could_not_be_deleted(
    harness: ProjectHarness, text: str
) -> None:
    begin_replacement(harness)
    harness.write(PROVIDER + text)
    harness.apply()
    assert live_acls(harness) == ({"old"} if "old" in text else set())
    assert not harness.plan().plan.has_changes


def test_the_old_object_is_deleted_by_the_next_apply(harness: ProjectHarness) -> None:
    begin_replacement(harness)
    harness.apply()
    assert live_acls(harness) == {"new"}
    assert not harness.plan().plan.has_changes


def test_a_resume_deletes_an_old_object_that_could_not_be_deleted(harness: ProjectHarness) -> None:
    harness.write(PROVIDER + FIRST_ACL % "old")
    harness.apply()
    harness.write(PROVIDER + FIRST_ACL % "new" + TOPIC)
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delete_acls")
    be_killed(harness, "create_topics")
    assert live_acls(harness) == {"old", "new"}
    resume(harness)
    assert live_acls(harness) == {"new"}
    assert not harness.plan().plan.has_changes


def test_a_resume_leaves_another_old_object_of_the_same_block(harness: ProjectHarness) -> None:
    """It is left from another apply, and nobody approved to delete it by this one."""
    text = FIRST_ACL.replace("{\n", '{\n  for_each = { x = "%s", z = "%s" }\n', 1) % (
        "%s", "%s", "${each.value}",
    )  # fmt: skip
    harness.write(PROVIDER + text % ("x1", "z1"))
    harness.apply()
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delete_acls")
    harness.write(PROVIDER + text % ("x1", "z2"))
    harness.apply()
    assert live_acls(harness) == {"x1", "z1", "z2"}
    harness.write(PROVIDER + text % ("x2", "z2") + TOPIC)
    harness.cluster.run_before("create_topics", kill)
    with pytest.raises(Killed):
        harness.apply(targets=('kafka_acl.a["x"]', "kafka_topic.y"))
    harness.cluster.clear_faults()
    resume(harness)
    assert live_acls(harness) == {"z1", "x2", "z2"}
    harness.apply()
    assert live_acls(harness) == {"x2", "z2"}


def kill_between(harness: ProjectHarness) -> None:
    """Create the new ACL, and be killed before the old one is deleted."""
    harness.write(PROVIDER + FIRST_ACL % "old")
    harness.apply()
    harness.write(PROVIDER + FIRST_ACL % "new")
    be_killed(harness, "delete_acls")
    assert live_acls(harness) == {"old", "new"}


@pytest.mark.parametrize("text", [TOPIC, FIRST_ACL % "old"])
def test_a_new_object_beside_the_old_one_goes_if_it_is_not_declared_any_more(
    harness: ProjectHarness, text: str
) -> None:
    kill_between(harness)
    harness.write(PROVIDER + text)
    harness.apply()
    assert live_acls(harness) == ({"old"} if "old" in text else set())
    assert harness.project.store.read_journal() is None
    assert not harness.plan().plan.has_changes


def test_both_objects_of_a_replacement_are_destroyed(harness: ProjectHarness) -> None:
    kill_between(harness)
    harness.apply(is_destroy=True)
    assert not live_acls(harness)


def test_a_creation_is_forgotten_without_the_object_that_it_replaces(
    harness: ProjectHarness,
) -> None:
    kill_between(harness)
    gone = forget_objects(harness.project, ("kafka_acl.a",), harness.ports)
    assert not gone.owned
    assert len(gone.creations) == 1
    harness.write(PROVIDER + TOPIC)
    harness.apply()
    assert live_acls(harness) == {"new"}
