"""Facts that policies read are whole, or unknown."""

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.kinds import KINDS
from kplan.kinds.topic_reader import read_missing_configs
from kplan.model.errors import Refusal, UnreachableError
from kplan.model.policy import UnknownFactError
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot
from kplan.policy.facts import ClusterFacts
from kplan.workflow.policy.policy import cluster_facts
from kplan.workflow.snapshot import read_snapshot

TOPIC = "kafka_topic"
NAMES = tuple(kind.name for kind in KINDS)


@pytest.fixture
def cluster() -> MemoryCluster:
    found = MemoryCluster()
    found.seed([NewTopic(name, 1, 1, config={"retention.ms": "7"}) for name in ("a", "b")])
    return found


def test_configs_of_topics_that_nobody_declares_are_read_when_they_are_asked_for(
    cluster: MemoryCluster,
) -> None:
    snapshot = read_snapshot(cluster, cluster.describe(), KINDS, {TOPIC: [Identity("a")]})
    assert snapshot.readings[TOPIC].partial == {"b"}
    topics = cluster_facts(snapshot, cluster)["topics"]
    assert {name: each["config"] for name, each in topics.items()} == {  # type: ignore[attr-defined]
        "a": {"retention.ms": "7"},
        "b": {"retention.ms": "7"},
    }


def test_what_was_not_read_or_cannot_be_is_unknown(cluster: MemoryCluster) -> None:
    snapshot = read_snapshot(cluster, cluster.describe(), KINDS, {})
    reading = snapshot.readings[TOPIC]

    def refused() -> KindSnapshot:
        denied = Refusal("TOPIC_AUTHORIZATION_FAILED", 29, "no")
        return KindSnapshot({}, {Identity("b"): denied})

    def silent() -> KindSnapshot:
        raise UnreachableError("no broker answers")

    with pytest.raises(UnknownFactError, match="configs of 2 topics were not read"):
        ClusterFacts(snapshot, NAMES)["topics"]
    with pytest.raises(UnknownFactError, match="1 topics could not be read, b for one"):
        ClusterFacts(snapshot, NAMES, refused)["topics"]
    with pytest.raises(UnknownFactError, match="no broker answers"):
        ClusterFacts(snapshot, NAMES, silent)["topics"]
    assert ClusterFacts(snapshot, NAMES)["totals"]["partitions"] == 2  # type: ignore[index]
    assert read_missing_configs(cluster, reading).partial == frozenset()
