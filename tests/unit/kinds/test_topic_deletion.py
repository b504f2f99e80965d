"""Deletion of topics on clusters that have no topic ids (before Kafka 2.8)."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic, TopicDescription
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_deletion import delete_topics
from kplan.kinds.topic_rules import Topic
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from tests.values import address

KIND = TopicKind()
ORDERS = Identity("orders")


class OlderCluster(MemoryCluster):
    """A cluster in memory that shows no topic ids."""

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Describe topics without their ids."""
        found = super().topics(names, broker=broker)
        return {
            name: replace(each, topic_id="") if isinstance(each, TopicDescription) else each
            for name, each in found.items()
        }


@pytest.fixture
def cluster() -> OlderCluster:
    found = OlderCluster(1)
    found.seed([NewTopic("orders", 2, 1, config={"retention.ms": "5000"})])
    return found


def deletion(cluster: MemoryCluster) -> Change:
    """Plan the deletion of the topic as it is now."""
    live = KIND.read(cluster, [ORDERS]).objects[ORDERS].value
    assert isinstance(live, Topic)
    return Change(address("kafka_topic.orders"), KIND.name, ORDERS, Action.DELETE, live, None)


def result(cluster: MemoryCluster, change: Change) -> str:
    answer = delete_topics(cluster, [change], lambda each: each.identity)[ORDERS]
    return "ok" if answer is None else answer.error


def test_a_topic_that_is_as_planned_is_deleted_by_name(cluster: OlderCluster) -> None:
    assert result(cluster, deletion(cluster)) == "ok"
    assert "orders" not in cluster.topics()


@pytest.mark.parametrize(
    "again",
    [NewTopic("orders", 5, 1, config={"retention.ms": "5000"}), NewTopic("orders", 2, 1)],
    ids=["partitions", "configs"],
)
def test_one_that_differs_from_the_plan_stays(cluster: OlderCluster, again: NewTopic) -> None:
    """Partitions and configs show that it was created again, and no request is sent."""
    planned = deletion(cluster)
    other = OlderCluster(1)
    other.seed([again])
    assert result(other, planned) == "CLIENT_STALE"
    assert "orders" in other.topics()
    assert other.count("delete_topics") == 0


def test_one_that_is_gone_already_is_left_to_the_broker(cluster: OlderCluster) -> None:
    assert result(OlderCluster(1), deletion(cluster)) == "UNKNOWN_TOPIC_OR_PARTITION"
