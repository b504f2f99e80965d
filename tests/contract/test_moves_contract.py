"""Replicas on their way, their sizes, and elections (KIP-455, KIP-460; K4o-08, K4o-11, K4o-12)."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.request import NewTopic, TopicDescription
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.cluster.topology import ElectionType, Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.throttle import THROTTLE_RATES
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import Refusal, UnreadableError
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import is_default_version
from tests.contract.clusters import described, errors, made, soon
from tests.contract.conftest import Lacking


@pytest.fixture
def topic(wide: Cluster, prefix: str) -> str:
    """Make a topic of two partitions on brokers 1 and 2."""
    name = f"{prefix}moved"
    made(wide, NewTopic(name, assignment=((1, 2), (2, 1))))
    return name


def stands(cluster: Cluster, name: str, *assignment: Replicas) -> bool:
    found = cluster.topics([name])[name]
    return (
        isinstance(found, TopicDescription)
        and not cluster.reassignments([(name, number) for number in range(len(assignment))])
        and found.assignment == assignment
        and all(set(found.in_sync[at]) == set(each) for at, each in enumerate(assignment))
    )


def test_replicas_are_moved_and_others_stay(wide: Cluster, topic: str) -> None:
    assert wide.reassign({(topic, 0): (3, 1)}) == {(topic, 0): None}
    soon(lambda: stands(wide, topic, (3, 1), (2, 1)))
    assert wide.reassignments([(topic, 0), (topic, 1)]) == {}


def test_the_replication_factor_goes_up_and_down(wide: Cluster, topic: str) -> None:
    assert set(wide.reassign({(topic, 0): (1, 2, 3), (topic, 1): (2, 1, 3)}).values()) == {None}
    soon(lambda: stands(wide, topic, (1, 2, 3), (2, 1, 3)))
    assert set(wide.reassign({(topic, 0): (3,), (topic, 1): (2,)}).values()) == {None}
    soon(lambda: stands(wide, topic, (3,), (2,)))
    assert described(wide, topic).leaders == (3, 2)


def test_what_cannot_be_moved_is_refused_and_its_neighbour_moves(wide: Cluster, topic: str) -> None:
    found = wide.reassign(
        {
            (topic, 0): (3, 2),
            (topic, 1): (1, 9),
            (topic, 7): (1, 2),
            (f"{topic}-none", 0): (1,),
        }
    )
    assert errors(found) == {
        (topic, 0): "ok",
        (topic, 1): "INVALID_REPLICA_ASSIGNMENT",
        (topic, 7): "UNKNOWN_TOPIC_OR_PARTITION",
        (f"{topic}-none", 0): "UNKNOWN_TOPIC_OR_PARTITION",
    }
    soon(lambda: stands(wide, topic, (3, 2), (2, 1)))


def test_cancelling_what_does_not_move_is_refused_with_85(wide: Cluster, topic: str) -> None:
    """K4o-11."""
    assert errors(wide.reassign({(topic, 0): None})) == {(topic, 0): "NO_REASSIGNMENT_IN_PROGRESS"}


def test_every_broker_tells_the_size_of_its_replicas(wide: Cluster, topic: str) -> None:
    wanted = {(topic, 0): [1, 2], (topic, 1): [1, 2]}

    def told() -> dict[TopicPartition, list[int]]:
        found = wide.replica_sizes([topic])
        return {key: sorted(sizes) for key, sizes in found.items()}

    soon(lambda: told() == wanted)  # a follower makes its log a moment later
    found = wide.replica_sizes([topic])
    assert all(size >= 0 for sizes in found.values() for size in sizes.values())


def test_the_first_replica_is_elected_after_it_was_made_the_first(
    wide: Cluster, topic: str
) -> None:
    """K4o-12, K4o-13: a leader stays until somebody asks for an election."""
    keys: list[TopicPartition] = [(topic, 0), (topic, 1)]
    assert wide.reassign({(topic, 0): (2, 1)}) == {(topic, 0): None}
    soon(lambda: stands(wide, topic, (2, 1), (2, 1)))
    assert described(wide, topic).leaders == (1, 2)
    assert errors(wide.elect_leaders([*keys, (topic, 9)], ElectionType.PREFERRED)) == {
        (topic, 0): "ok",
        (topic, 1): "ELECTION_NOT_NEEDED",
        (topic, 9): "UNKNOWN_TOPIC_OR_PARTITION",
    }
    soon(lambda: described(wide, topic).leaders == (2, 2))
    found = errors(wide.elect_leaders(keys, ElectionType.UNCLEAN))
    assert found == dict.fromkeys(keys, "ELECTION_NOT_NEEDED")


def test_an_election_for_all_names_only_those_that_needed_one(wide: Cluster, topic: str) -> None:
    assert wide.reassign({(topic, 1): (1, 2)}) == {(topic, 1): None}
    soon(lambda: stands(wide, topic, (1, 2), (1, 2)))
    found = wide.elect_leaders(None, ElectionType.PREFERRED)
    assert found[topic, 1] is None
    assert (topic, 0) not in found


def test_who_lacks_the_right_is_refused(lacking: Lacking, prefix: str) -> None:
    """Lists are refused whole, never taken for empty. ALTER implies DESCRIBE."""
    blind = lacking(("DESCRIBE", "CLUSTER"), ("ALTER", "CLUSTER"))
    with pytest.raises(UnreadableError, match=r"CLUSTER_AUTHORIZATION_FAILED.*DESCRIBE on CL"):
        blind.reassignments()
    key = (f"{prefix}t", 0)
    refused = lacking(("ALTER", "CLUSTER"))
    for found in (
        refused.reassign({key: (1,)}),
        refused.elect_leaders([key], ElectionType.PREFERRED),
    ):
        told = found[key]
        assert isinstance(told, Refusal)
        assert told.error == "CLUSTER_AUTHORIZATION_FAILED"
        assert "User:alice needs ALTER on CLUSTER" in told.message


@pytest.fixture
def endless(wide: Cluster, topic: str, request: pytest.FixtureRequest) -> Iterator[TopicPartition]:
    """Give a partition on brokers 1 and 2 whose moves do not end: their rate is a byte a second."""
    if isinstance(wide, MemoryCluster):
        wide.slow_reassignments(10**6)
        yield topic, 0
        return
    if not is_default_version():
        pytest.skip("how earlier controllers turn moves was not measured")
    name = f"{topic}-slowly"
    followers, leaders = THROTTLED_REPLICAS
    throttles = {followers: "0:3", leaders: "0:1"}
    made(wide, NewTopic(name, assignment=((1, 2),), config=throttles))
    brokers = [ConfigResource(ConfigScope.BROKER, each) for each in "123"]
    slow = dict.fromkeys(THROTTLE_RATES, "1")
    sandbox: Sandbox = request.getfixturevalue("cluster3")
    try:
        wide.alter_configs([ConfigResourceAlteration(each, slow) for each in brokers])
        producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
        for _ in range(20):  # a follower fetches 1 MiB before the rate first holds it back
            producer.produce(name, bytes(200_000))
        producer.flush()
        yield name, 0
    finally:
        wide.alter_configs([ConfigResourceAlteration(each, {}, THROTTLE_RATES) for each in brokers])


@pytest.mark.parametrize(
    ("target", "turned", "is_turned"),
    [
        ((2, 1), Reassignment((2, 1, 3), (3,), (3,)), False),
        ((1,), Reassignment((1, 2, 3), (3,), (2, 3)), False),
        ((1, 2, 3), Reassignment((1, 2, 3), (3,), (2,)), False),
        ((1, 3), Reassignment((1, 3, 2), (3,), (2,)), True),
    ],
    ids=["the former replicas", "one of them", "all replicas", "another order"],
)
def test_a_move_that_is_sent_back_waits_until_it_is_cancelled(
    wide: Cluster, endless: TopicPartition, target: Replicas, turned: Reassignment, is_turned: bool
) -> None:
    """Kafka keeps the adding replicas where it gets no new ones, and waits for what it removes."""
    first = (3, 1)
    assert wide.reassign({endless: first}) == {endless: None}
    soon(lambda: endless in wide.reassignments([endless]))
    moving = wide.reassignments([endless])[endless]
    assert moving == Reassignment((3, 1, 2), (3,), (2,))
    assert wide.reassign({endless: target}) == {endless: None}
    soon(lambda: wide.reassignments([endless]) == {endless: turned})
    assert moving.can_turn_to(target) is is_turned
    assert wide.reassign({endless: None}) == {endless: None}
    soon(lambda: wide.reassignments([endless]) == {})
    back = tuple(each for each in turned.replicas if each != 3)
    soon(lambda: described(wide, endless[0]).assignment[0] == back)


def test_a_move_in_memory_is_under_way_until_it_was_listed_often_enough() -> None:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("t", assignment=((1, 2),))])
    cluster.slow_reassignments(2)
    cluster.reassign({("t", 0): (3, 2)})
    moving = cluster.reassignments()["t", 0]
    assert (moving.replicas, moving.target, moving.origin) == ((3, 2, 1), (3, 2), (2, 1))
    assert described(cluster, "t").in_sync == ((2, 1),)
    assert cluster.reassign({("t", 0): None}) == {("t", 0): None}
    assert described(cluster, "t").assignment == ((2, 1),)
    cluster.reassign({("t", 0): (3, 2)})
    cluster.reassign({("t", 0): (2, 1)})
    assert [len(cluster.reassignments()) for _ in range(3)] == [1, 1, 1]
    cluster.reassign({("t", 0): (3, 2)})
    assert [len(cluster.reassignments()) for _ in range(3)] == [1, 1, 0]


def test_a_leader_in_memory_that_was_down_leads_again_after_an_election() -> None:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("t", assignment=((1, 2),))])
    cluster.stop_brokers(1)
    assert described(cluster, "t").leaders == (2,)
    found = cluster.elect_leaders([("t", 0)], ElectionType.PREFERRED)
    assert errors(found) == {("t", 0): "PREFERRED_LEADER_NOT_AVAILABLE"}
    cluster.start_brokers()
    assert described(cluster, "t").leaders == (2,)
    assert cluster.elect_leaders(None, ElectionType.PREFERRED) == {("t", 0): None}
    assert described(cluster, "t").leaders == (1,)
