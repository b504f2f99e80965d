"""Groups of both protocols: by a real broker, with real consumers that have read something."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial

import pytest
from confluent_kafka import Consumer, Producer

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.request import NewTopic
from kplan.cluster.usage import (
    EARLIEST,
    LATEST,
    GroupDescription,
    GroupListing,
    GroupMember,
    PartitionUse,
    TopicUse,
)
from kplan.kafka.wire.driver import WireCluster
from kplan.model.errors import Refusal
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import Has
from tests.capability import CONSUMER_PROTOCOL, GROUP_TYPES, SHARE_GROUPS
from tests.contract.clusters import committed, errors, made, settings_of, soon
from tests.contract.share_member import ShareMember

PROTOCOLS = ("classic", "consumer")
OF_PROTOCOLS = ("classic", pytest.param("consumer", marks=pytest.mark.needs(CONSUMER_PROTOCOL)))
BROKER = 1


@pytest.fixture
def protocols(has: Has) -> tuple[str, ...]:
    """Name the protocols that the brokers have."""
    return PROTOCOLS if has(CONSUMER_PROTOCOL) else PROTOCOLS[:1]


@pytest.fixture
def read(
    cluster: Cluster, prefix: str, protocols: tuple[str, ...], request: pytest.FixtureRequest
) -> Iterator[str]:
    """Give a topic with five records, of which a group of each protocol has read two.

    Both still have a member. A third group has only committed, and has none.
    """
    topic = f"{prefix}read"
    made(cluster, NewTopic(topic, 1, 1))
    if isinstance(cluster, MemoryCluster):
        for each in PROTOCOLS:
            cluster.add_described_group(_joined(prefix, each, topic))
        cluster.set_topic_use(topic, TopicUse({0: PartitionUse(0, 5, 1_000, 0, 0)}, groups=()))
        idle = _group(f"{prefix}idle", "classic", "Empty", topic, members=())
        cluster.add_described_group(replace(idle, protocol=""))
        yield topic
        return
    sandbox: Sandbox = request.getfixturevalue("broker")
    servers = {"bootstrap.servers": sandbox.bootstrap_servers}
    producer = Producer(servers)
    for number in range(5):
        producer.produce(topic, f"value {number}", partition=0)
    assert producer.flush(20) == 0
    with ExitStack() as stack:
        consumers = []
        for protocol in (*protocols, "idle"):
            consumer = Consumer(
                {
                    **servers,
                    "client.id": f"reader-{protocol}",
                    "group.id": f"{prefix}{protocol}",
                    "group.protocol": "consumer" if protocol == "consumer" else "classic",
                    "enable.auto.commit": False,
                }
            )
            stack.callback(consumer.close)
            if protocol == "idle":
                committed(consumer, topic, 2)
            else:
                consumer.subscribe([topic])
                consumers.append(consumer)
        for consumer in consumers:
            soon(partial(_has_joined, consumer))
            committed(consumer, topic, 2)
        yield topic


def _has_joined(consumer: Consumer) -> bool:
    consumer.poll(0.2)
    return bool(consumer.assignment())


def _joined(prefix: str, protocol: str, topic: str) -> GroupDescription:
    member = GroupMember("m", f"reader-{protocol}", "/127.0.0.1", assignment=((topic, 0),))
    return _group(f"{prefix}{protocol}", protocol, "Stable", topic, members=(member,))


def _group(
    name: str, kind: str, state: str, topic: str, members: tuple[GroupMember, ...]
) -> GroupDescription:
    committed, ends = {(topic, 0): 2}, {(topic, 0): 5}
    return GroupDescription(name, kind, "consumer", state, BROKER, "", members, committed, ends)


def described(cluster: Cluster, name: str) -> GroupDescription:
    found = cluster.describe_groups([name])[name]
    assert isinstance(found, GroupDescription)
    return found


@pytest.mark.usefixtures("read")
def test_groups_are_listed_by_the_broker_that_coordinates_them(
    cluster: Cluster, prefix: str, protocols: tuple[str, ...], has: Has
) -> None:
    """S28, K117-18: type, protocol and state of every group."""
    listed = cluster.groups()[BROKER]
    assert not isinstance(listed, Refusal)
    mine = {each for each in listed if each.name.startswith(prefix)}
    types = {each: each if has(GROUP_TYPES) else "" for each in PROTOCOLS}
    stable = {
        GroupListing(f"{prefix}{each}", types[each], "consumer", "Stable") for each in protocols
    }
    assert mine == stable | {GroupListing(f"{prefix}idle", types["classic"], "", "Empty")}


@pytest.mark.parametrize("protocol", OF_PROTOCOLS)
def test_a_group_tells_members_assignments_and_lag(
    cluster: Cluster, prefix: str, read: str, protocol: str, has: Has
) -> None:
    """S28, K117-19, for the classic protocol and for that of KIP-848."""
    found = described(cluster, f"{prefix}{protocol}")
    group_type = protocol if has(GROUP_TYPES) else ""
    assert (found.type, found.state, found.coordinator) == (group_type, "Stable", BROKER)
    assert found.unread == ()
    assert found.members is not None
    (member,) = found.members
    assert (member.client_id, member.assignment) == (f"reader-{protocol}", ((read, 0),))
    assert (found.committed_offsets, found.end_offsets) == ({(read, 0): 2}, {(read, 0): 5})
    assert found.lag((read, 0)) == 3


def test_a_group_without_members_tells_its_offsets(
    cluster: Cluster, prefix: str, read: str
) -> None:
    found = described(cluster, f"{prefix}idle")
    assert (found.state, found.members, found.lag((read, 0))) == ("Empty", (), 3)


def test_a_group_that_is_not_there_is_refused_and_nothing_is_made(
    open_cluster_without_acls: Cluster, prefix: str
) -> None:
    """P12: to ask for a coordinator would create a topic of Kafka's own."""
    cluster = open_cluster_without_acls
    before = set(cluster.topics())
    found = cluster.describe_groups([f"{prefix}none"])[f"{prefix}none"]
    assert isinstance(found, Refusal)
    assert found.error == "GROUP_ID_NOT_FOUND"
    assert set(cluster.topics()) == before


def test_offsets_are_looked_up_by_time(cluster: Cluster, read: str) -> None:
    """K4o-09: the first offset, the end, and none where no record is that young."""
    key, lost = (read, 0), (read, 7)
    assert cluster.partition_offsets({key: EARLIEST}) == {key: 0}
    assert cluster.partition_offsets({key: LATEST}) == {key: 5}
    assert cluster.partition_offsets({key: 500}) == {key: 0}
    assert cluster.partition_offsets({key: 4_000_000_000_000}) == {key: -1}
    assert errors(cluster.partition_offsets({lost: LATEST})) == {lost: "UNKNOWN_TOPIC_OR_PARTITION"}


def test_offsets_of_a_group_without_members_are_set_and_deleted(
    cluster: Cluster, prefix: str, read: str
) -> None:
    key, name = (read, 0), f"{prefix}idle"
    assert cluster.commit_offsets(name, {key: 4}) == {key: None}
    soon(lambda: described(cluster, name).committed_offsets == {key: 4})
    assert cluster.delete_offsets(name, [key]) == {key: None}
    soon(lambda: _has_no_offsets(cluster, name))


def _has_no_offsets(cluster: Cluster, name: str) -> bool:
    """Whether a group has no offsets; Kafka 2.8 removes a group with its last one."""
    found = cluster.describe_groups([name])[name]
    if isinstance(found, Refusal):
        return found.error == "GROUP_ID_NOT_FOUND"
    return found.committed_offsets == {}


def test_a_commit_creates_a_group_and_deleting_it_removes_its_offsets(
    cluster: Cluster, prefix: str, read: str
) -> None:
    key, name = (read, 0), f"{prefix}new"
    assert cluster.commit_offsets(name, {key: 1}) == {key: None}
    assert described(cluster, name).committed_offsets == {key: 1}
    found = errors(cluster.delete_groups([name, f"{prefix}none"]))
    assert found == {name: "ok", f"{prefix}none": "GROUP_ID_NOT_FOUND"}
    gone = cluster.describe_groups([name])[name]
    assert isinstance(gone, Refusal)


@pytest.mark.parametrize("protocol", OF_PROTOCOLS)
def test_a_live_group_is_neither_reset_nor_deleted(
    cluster: Cluster, prefix: str, read: str, protocol: str
) -> None:
    """Kafka itself refuses what comes between the plan and the request."""
    key, name = (read, 0), f"{prefix}{protocol}"
    assert errors(cluster.commit_offsets(name, {key: 0})) == {key: "UNKNOWN_MEMBER_ID"}
    assert errors(cluster.delete_offsets(name, [key])) == {key: "GROUP_SUBSCRIBED_TO_TOPIC"}
    assert errors(cluster.delete_groups([name])) == {name: "NON_EMPTY_GROUP"}
    assert described(cluster, name).committed_offsets == {key: 2}


@pytest.mark.broker
@pytest.mark.needs(SHARE_GROUPS)
def test_a_share_group_is_described_with_members_and_start_offsets(
    broker: Sandbox, prefix: str
) -> None:
    """KIP-932: its start offsets are what it has done with, and its members share partitions."""
    settings, topic, name = settings_of(broker, "anonymous"), f"{prefix}shared", f"{prefix}share"
    with ExitStack() as stack:
        cluster = stack.enter_context(closing(WireCluster(settings)))
        made(cluster, NewTopic(topic, 1, 1))
        member = stack.enter_context(closing(ShareMember(settings, name, topic)))
        member.join()
        found = described(cluster, name)
        assert (found.type, found.state, found.unread) == ("share", "Stable", ())
        assert [each.assignment for each in found.members or ()] == [((topic, 0),)]
        member.leave()
        soon(lambda: described(cluster, name).state == "Empty")
        member.set_start(0, 0)
        assert described(cluster, name).committed_offsets == {(topic, 0): 0}
        assert cluster.delete_groups([name]) == {name: None}
