"""The cluster in memory answers as Apache Kafka 4 was measured to answer."""

import pytest

from kplan.cluster.memory import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.specs import NewTopic, TopicRef


def test_the_cluster_in_memory_is_a_cluster() -> None:
    cluster: Cluster = MemoryCluster()
    assert cluster.topics() == {}
    assert cluster.acls() == frozenset()


def test_a_created_topic_is_served_with_an_id_shaped_like_kafkas() -> None:
    cluster = MemoryCluster()
    assert cluster.create_topics([NewTopic("orders", 3, 2)]) == {"orders": None}
    orders = cluster.topics()["orders"]
    assert orders == MemoryCluster(store=cluster._store).topics(["orders"])["orders"]
    assert len(getattr(orders, "topic_id")) == 22  # noqa: B009 - it may also be a refusal
    assert getattr(orders, "assignment") == ((1, 2), (2, 3), (3, 1))  # noqa: B009


def test_a_topic_is_deleted_by_id_and_its_successor_is_left_alone() -> None:
    """K4-36: a stale plan cannot delete a re-created topic."""
    cluster = MemoryCluster()
    cluster.seed([NewTopic("orders")])
    old = getattr(cluster.topics()["orders"], "topic_id")  # noqa: B009
    assert cluster.delete_topics([TopicRef("orders", old)]) == {"orders": None}
    cluster.seed([NewTopic("orders")])
    verdict = cluster.delete_topics([TopicRef("orders", old)])["orders"]
    assert verdict is not None
    assert verdict.error == "UNKNOWN_TOPIC_ID"
    assert "orders" in cluster.topics()


def test_a_seed_that_the_cluster_refuses_is_an_error_of_the_test() -> None:
    with pytest.raises(ValueError, match="INVALID_TOPIC_EXCEPTION"):
        MemoryCluster().seed([NewTopic("a/b")])
