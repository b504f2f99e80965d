"""A change that failed after some of its steps: what kplan did is no change by someone else."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Reason
from kplan.workflow.plan.drift import detect_drift
from tests.apply_harness import RecordingWatcher
from tests.project_harness import Killed, ProjectHarness

TOPIC = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "t" {
  name               = "orders"
  partitions         = %s
  replication_factor = %s
  config             = { "retention.ms" = "%s" }
}
"""


def begin(folder: Path, after: tuple[int, int, int], call: str) -> ProjectHarness:
    """Apply a topic and declare another size and retention; one step of that is refused."""
    harness = ProjectHarness(folder, MemoryCluster(brokers=3))
    harness.write(TOPIC % (3, 1, 86400000))
    harness.apply()
    harness.write(TOPIC % after)
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call=call, times=None)
    return harness


def check_no_drift(harness: ProjectHarness) -> None:
    """Expect that nothing counts as changed outside of kplan, and the rest as to be changed."""
    harness.cluster.clear_faults()
    made = harness.plan().plan
    assert made.has_changes
    assert made.drift == ()
    assert {each.reason for each in made.changes} == {Reason.NONE}
    assert detect_drift(harness.project, harness.ports).changes == ()
    harness.apply()
    assert not harness.plan().plan.has_changes
    assert detect_drift(harness.project, harness.ports).changes == ()


@pytest.mark.parametrize(
    ("after", "call"),
    [((6, 1, 3600000), "create_partitions"), ((6, 2, 3600000), "reassign")],
)
def test_steps_that_were_executed_are_no_drift(
    tmp_path: Path, after: tuple[int, int, int], call: str
) -> None:
    """The configs were altered, and before replicas are moved the partitions created."""
    harness = begin(tmp_path, after, call)
    (outcome,) = harness.apply(has_broker_check=False).outcomes
    assert outcome.status is OutcomeStatus.FAILED
    check_no_drift(harness)


def test_what_someone_else_changes_then_is_drift(tmp_path: Path) -> None:
    """Also of the keys that kplan has just set."""
    harness = begin(tmp_path, (6, 1, 3600000), "create_partitions")
    harness.apply(has_broker_check=False)
    harness.cluster.connect_as().alter_topic_configs(
        [ConfigAlteration("orders", {"retention.ms": "5"})]
    )
    (drift,) = harness.plan().plan.drift
    (attribute,) = drift.attributes
    assert (attribute.before, attribute.after) == ("3600000", "5")


class DyingWatcher(RecordingWatcher):
    """Kills the run once the journal has an outcome."""

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Kill it."""
        raise Killed(outcomes)


def test_a_journal_tells_the_executed_steps(tmp_path: Path) -> None:
    """The run was killed before it wrote the state."""
    harness = begin(tmp_path, (6, 1, 3600000), "create_partitions")

    harness.watcher = DyingWatcher()
    with pytest.raises(Killed):
        harness.apply(has_broker_check=False)
    harness.watcher = RecordingWatcher()
    check_no_drift(harness)


ACL = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_acl" "a" {
  resource_name       = "%s"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


@pytest.mark.parametrize("is_topic", [True, False], ids=["topic", "acl"])
def test_what_a_replacement_has_deleted_was_not_deleted_outside(
    tmp_path: Path, is_topic: bool
) -> None:
    """The new object was refused."""
    harness = ProjectHarness(tmp_path, MemoryCluster(brokers=3))
    harness.write(TOPIC % (3, 1, 86400000) if is_topic else ACL % "old")
    harness.apply()
    replaced = {"kafka_topic.t": ""} if is_topic else {}
    if not is_topic:
        harness.write(ACL % "new")
    call = "create_topics" if is_topic else "create_acls"
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call=call, times=None)
    (outcome,) = harness.apply(
        has_broker_check=False, replacements=replaced, acknowledged=frozenset(replaced)
    ).outcomes
    assert outcome.status is OutcomeStatus.FAILED
    check_no_drift(harness)


@pytest.mark.parametrize(
    ("held", "after", "wanted"),
    [
        (
            Topic("a", 1, 1, ((1,),)),
            Topic("a", 2, 1, ((2,), (3,))),
            Topic("a", 2, 1, ((1,), (3,))),
        ),
        (
            Topic("a", 1, 1, ((1,),), is_generated=True),
            Topic("a", 2, 2, ((2, 3), (3, 1))),
            Topic("a", 2, 1, ((1,), (3,)), is_generated=True),
        ),
        (Topic("a", 1, 1, ((1,),)), Topic("a", 2, 1), Topic("a", 2, 1)),
        (Topic("a", 1, 1), Topic("a", 2, 2, ((2, 3), (3, 1))), Topic("a", 2, 1)),
    ],
)
def test_new_partitions_are_where_they_were_created(
    held: Topic, after: Topic, wanted: Topic
) -> None:
    """Those that there were have not moved."""
    assert TopicKind().value_after(held, after, ["create_partitions"]) == wanted
