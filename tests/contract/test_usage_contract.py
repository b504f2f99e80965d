"""What stands in topics and who uses it: by a real broker, whose records a real client wrote."""

import time

import pytest
from confluent_kafka import Consumer, Producer

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.request import NewTopic, TopicDescription
from kplan.cluster.usage import GroupUse, PartitionUse, TopicUse
from kplan.model.errors import Refusal, UnreadableError
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import committed, made
from tests.contract.conftest import Lacking

RECORDS = 5


@pytest.fixture
def used(cluster: Cluster, prefix: str, request: pytest.FixtureRequest) -> str:
    """Make a topic of two partitions; a group has read two of five records in the first."""
    topic = f"{prefix}used"
    made(cluster, NewTopic(topic, 2, 1))
    if isinstance(cluster, MemoryCluster):
        now = int(time.time() * 1000)
        groups = (GroupUse(f"{prefix}group", is_live=False, members=0, lag=3),)
        cluster.set_topic_use(topic, TopicUse({0: PartitionUse(0, RECORDS, now, 500, 1)}, groups))
        return topic
    sandbox: Sandbox = request.getfixturevalue("broker")
    servers = {"bootstrap.servers": sandbox.bootstrap_servers}
    producer = Producer({**servers, "enable.idempotence": True})
    for each in range(RECORDS):
        producer.produce(topic, f"value {each}", partition=0)
    assert producer.flush(20) == 0
    consumer = Consumer({**servers, "group.id": f"{prefix}group", "enable.auto.commit": False})
    committed(consumer, topic, 2)
    consumer.close()
    return topic


def test_a_topic_tells_records_bytes_age_groups_and_producers(
    cluster: Cluster, used: str, prefix: str
) -> None:
    """Item 7 of the blast radius; K4-31."""
    found = cluster.topic_use([used])[used]
    assert found.unread == ()
    described = cluster.topics([used])[used]
    assert isinstance(described, TopicDescription)
    assert found.topic_id == described.topic_id != ""
    first, second = found.partitions[0], found.partitions[1]
    assert (first.records, first.producers) == (RECORDS, 1)
    assert (first.size_bytes or 0) > 0
    assert abs((first.newest_ms or 0) / 1000 - time.time()) < 120
    assert (second.records, second.newest_ms, second.size_bytes, second.producers) == (
        0,
        None,
        0,
        0,
    )
    assert found.groups is not None
    (group,) = found.groups
    assert (group.group, group.is_live, group.lag) == (f"{prefix}group", False, RECORDS - 2)


def test_the_use_of_a_topic_is_known_right_after_it_was_created(
    cluster: Cluster, prefix: str
) -> None:
    """A broker that has not opened the logs of its partitions yet is asked again."""
    names = [f"{prefix}new{number}" for number in range(6)]
    made(cluster, *(NewTopic(name, 100, 1) for name in names))
    found = cluster.topic_use(names)
    assert {name: found[name].unread for name in names} == dict.fromkeys(names, ())
    assert all(len(found[name].partitions) == 100 for name in names)


def test_a_topic_that_is_not_there_is_unknown_and_not_empty(cluster: Cluster, prefix: str) -> None:
    found = cluster.topic_use([f"{prefix}none"])[f"{prefix}none"]
    assert found.partitions == {}
    assert "UNKNOWN_TOPIC_OR_PARTITION" in found.unread[0]


def test_records_are_deleted_partition_by_partition(cluster: Cluster, used: str) -> None:
    """K201-20."""
    found = cluster.delete_records({(used, 0): 3, (used, 1): 9, (used, 7): 1})
    assert found[used, 0] == 3
    errors = {key: each.error for key, each in found.items() if isinstance(each, Refusal)}
    assert errors[used, 1] == "OFFSET_OUT_OF_RANGE"
    assert errors[used, 7] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert cluster.topic_use([used])[used].partitions[0].records == RECORDS - 3


def test_records_are_deleted_at_the_leader_of_each_partition(
    wide: Cluster, prefix: str, request: pytest.FixtureRequest
) -> None:
    """K201-20: three partitions that three brokers lead."""
    topic = f"{prefix}led"
    made(wide, NewTopic(topic, assignment=((1,), (2,), (3,))))
    if isinstance(wide, MemoryCluster):
        wide.set_topic_use(
            topic, TopicUse(dict.fromkeys(range(3), PartitionUse(0, RECORDS, 1, 500, 1)), ())
        )
    else:
        sandbox: Sandbox = request.getfixturevalue("cluster3")
        producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
        for each in range(3 * RECORDS):
            producer.produce(topic, f"value {each}", partition=each % 3)
        assert producer.flush(20) == 0
    wanted = {(topic, number): number + 1 for number in range(3)}
    assert wide.delete_records(wanted) == wanted
    found = wide.topic_use([topic])[topic].partitions
    assert {(topic, number): each.start for number, each in found.items()} == wanted


def test_groups_are_named_and_without_the_right_they_are_unread(
    cluster: Cluster, used: str, prefix: str, lacking: Lacking
) -> None:
    """Some groups are shown to whoever may not describe the cluster: that is no list of them."""
    assert used.startswith(prefix)
    assert f"{prefix}group" in cluster.group_names()
    with pytest.raises(UnreadableError, match="needs DESCRIBE on CLUSTER"):
        # ALTER implies DESCRIBE.
        lacking(("DESCRIBE", "CLUSTER"), ("ALTER", "CLUSTER")).group_names()
