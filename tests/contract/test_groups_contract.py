"""Groups of both protocols: by a real broker, with real consumers that have read something."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest
from confluent_kafka import Consumer, Producer

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.request import NewTopic
from kplan.cluster.usage import GroupDescription, GroupListing, GroupMember
from kplan.model.errors import Refusal
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import committed, made, soon

PROTOCOLS = ("classic", "consumer")
BROKER = 1


@pytest.fixture
def read(cluster: Cluster, prefix: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a topic with five records, of which a group of each protocol has read two.

    Both still have a member. A third group has only committed, and has none.
    """
    topic = f"{prefix}read"
    made(cluster, NewTopic(topic, 1, 1))
    if isinstance(cluster, MemoryCluster):
        for each in PROTOCOLS:
            cluster.add_described_group(_joined(prefix, each, topic))
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
        for protocol in (*PROTOCOLS, "idle"):
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
    cluster: Cluster, prefix: str
) -> None:
    """S28, K117-18: type, protocol and state of every group."""
    listed = cluster.groups()[BROKER]
    assert not isinstance(listed, Refusal)
    mine = {each for each in listed if each.name.startswith(prefix)}
    stable = {GroupListing(f"{prefix}{each}", each, "consumer", "Stable") for each in PROTOCOLS}
    assert mine == stable | {GroupListing(f"{prefix}idle", "classic", "", "Empty")}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_tells_members_assignments_and_lag(
    cluster: Cluster, prefix: str, read: str, protocol: str
) -> None:
    """S28, K117-19, for the classic protocol and for that of KIP-848."""
    found = described(cluster, f"{prefix}{protocol}")
    assert (found.type, found.state, found.coordinator) == (protocol, "Stable", BROKER)
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
