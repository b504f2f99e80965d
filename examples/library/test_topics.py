"""A test of a configuration on a cluster in memory."""

from pathlib import Path

import kplan
from kplan.testing import MemoryCluster, NewTopic

TOPICS = Path(__file__).parent / "topics"


def test_topics_have_the_partitions_that_are_asked_for(tmp_path: Path) -> None:
    """Plan and apply on three brokers; the second plan has no changes."""
    cluster = MemoryCluster(3)
    project = kplan.load(
        TOPICS,
        variables={"partitions": 6},
        state=tmp_path / "state.json",
        connect=lambda _: cluster,
    )
    assert kplan.plan(project).to_add == 2
    assert kplan.apply(kplan.plan(project)).is_verified
    assert not kplan.plan(project).has_changes
    assert kplan.drift(project).changes == ()


def test_a_topic_that_exists_is_adopted_and_a_refusal_is_an_outcome(tmp_path: Path) -> None:
    """Faults of the cluster in memory show what a program does when Kafka refuses."""
    cluster = MemoryCluster(1)
    cluster.seed([NewTopic("library.orders", 3, 1)])
    cluster.refuse("POLICY_VIOLATION", on="library.payments", call="create_topics")
    project = kplan.load(TOPICS, state=tmp_path / "s.json", connect=lambda _: cluster)
    result = kplan.apply(kplan.plan(project))
    assert [str(each.change.identity) for each in result.failures] == ["library.payments"]
