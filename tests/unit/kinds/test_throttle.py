"""Throttles of moves beside those of other people, which stay whatever happens (decision 0169)."""

from collections.abc import Mapping

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.request import ConfigAlteration, ConfigSource, NewTopic
from kplan.cluster.settings import ConfigResourceAlteration
from kplan.kinds.reassignment import Reassigner, ReassignmentLimits, TopicTargets
from kplan.kinds.throttle import (
    THROTTLE_RATES,
    add_own_pairs,
    broker_rates,
    broker_resource,
    foreign_pairs,
    foreign_rates,
    own_pair,
    own_rates,
    restore_rates,
    topic_throttles,
)
from kplan.kinds.throttle_removal import remove_leftover_throttles
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import InProgress, Refusal
from kplan.model.resource import Identity

ORDERS = Identity("orders")
FOLLOWERS, LEADERS = THROTTLED_REPLICAS
FOLLOWER_RATE = THROTTLE_RATES[0]
WISH = [TopicTargets("orders", "", {0: (3, 2)})]


def cluster() -> MemoryCluster:
    found = MemoryCluster(make_brokers(4))
    found.seed([NewTopic("orders", assignment=((1, 2),))])
    found.slow_reassignments(3)
    return found


def set_rates(held: MemoryCluster, broker: int, rates: Mapping[str, str]) -> None:
    held.alter_configs([ConfigResourceAlteration(broker_resource(broker), rates, ())])


def rates(held: MemoryCluster) -> Mapping[int, Mapping[str, str]]:
    return broker_rates(held, [1, 2, 3, 4])


def lists(held: MemoryCluster) -> Mapping[str, str]:
    return topic_throttles(held, ["orders"])["orders"]


def finish(held: MemoryCluster, mover: Reassigner) -> None:
    while isinstance(mover.advance(held, WISH)[ORDERS], InProgress):
        pass


STRANGERS = (
    {FOLLOWER_RATE: "777777"},
    dict.fromkeys(THROTTLE_RATES, "1000"),  # equal to that of kplan
    {FOLLOWER_RATE: "1000", THROTTLE_RATES[1]: "1464"},
)


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("is_killed", [False, True])
def test_rates_of_a_broker_that_somebody_else_set_stay(
    stranger: Mapping[str, str], *, is_killed: bool
) -> None:
    """Seen on Kafka 4.3: the run after a kill took them for its own and removed them."""
    held = cluster()
    set_rates(held, 3, stranger)
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    mover.advance(held, WISH)
    assert rates(held) == {1: own_rates(1000), 2: own_rates(1000), 3: stranger}
    finish(held, Reassigner(ReassignmentLimits(bytes_per_s=1000)) if is_killed else mover)
    assert (rates(held), lists(held)) == ({3: stranger}, {})


def test_a_rate_that_somebody_sets_after_a_kill_in_place_of_ours_stays() -> None:
    held = cluster()
    Reassigner(ReassignmentLimits(bytes_per_s=1000)).advance(held, WISH)
    set_rates(held, 1, dict.fromkeys(THROTTLE_RATES, "9999999"))
    finish(held, Reassigner(ReassignmentLimits(bytes_per_s=5)))
    assert (rates(held), lists(held)) == ({1: dict.fromkeys(THROTTLE_RATES, "9999999")}, {})


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_list_of_a_topic_that_somebody_else_set_stays_beside_ours(*, is_killed: bool) -> None:
    """Seen on Kafka 4.3, without any kill: the list was gone, and the rate of the broker in it."""
    held = cluster()
    held.alter_topic_configs([ConfigAlteration("orders", {LEADERS: "0:2"})])
    set_rates(held, 2, {FOLLOWER_RATE: "5000000"})
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    mover.advance(held, WISH)
    assert lists(held) == {FOLLOWERS: "00:3", LEADERS: "0:2,00:1,00:2"}
    finish(held, Reassigner(ReassignmentLimits(bytes_per_s=1000)) if is_killed else mover)
    assert (rates(held), lists(held)) == ({2: {FOLLOWER_RATE: "5000000"}}, {LEADERS: "0:2"})


def test_a_list_of_all_replicas_has_ours_already() -> None:
    held = cluster()
    held.alter_topic_configs([ConfigAlteration("orders", dict.fromkeys(THROTTLED_REPLICAS, "*"))])
    mover = Reassigner(ReassignmentLimits())
    mover.advance(held, WISH)
    assert lists(held) == dict.fromkeys(THROTTLED_REPLICAS, "*")
    assert rates(held).keys() == {1, 2, 3}
    finish(held, mover)
    assert lists(held) == dict.fromkeys(THROTTLED_REPLICAS, "*")
    assert rates(held) == {}


def test_leftovers_are_those_that_kplan_wrote() -> None:
    held = cluster()
    held.alter_topic_configs([ConfigAlteration("orders", {LEADERS: "0:4,00:1", FOLLOWERS: "0:3"})])
    set_rates(held, 1, own_rates(9))
    set_rates(held, 3, dict.fromkeys(THROTTLE_RATES, "9"))
    set_rates(held, 4, own_rates(8))  # of a topic whose move had ended before the kill
    assert remove_leftover_throttles(held, ["orders"]).topics == ("orders",)
    assert lists(held) == {LEADERS: "0:4", FOLLOWERS: "0:3"}
    assert rates(held) == {3: dict.fromkeys(THROTTLE_RATES, "9")}
    assert remove_leftover_throttles(held, ["orders"]).topics == ()


def test_rates_of_a_broker_that_is_down_at_the_end_go_with_the_next_move() -> None:
    held = cluster()
    mover = Reassigner(ReassignmentLimits())
    mover.advance(held, WISH)
    held.stop_brokers(1)
    finish(held, mover)
    held.start_brokers()
    assert rates(held).keys() == {1}
    back = [TopicTargets("orders", "", {0: (4, 2)})]
    other = Reassigner(ReassignmentLimits())
    while isinstance(other.advance(held, back)[ORDERS], InProgress):
        pass
    assert (rates(held), lists(held)) == ({}, {})


def test_rates_that_another_run_of_kplan_removed_are_set_again_with_the_next_partitions() -> None:
    held = MemoryCluster(make_brokers(4))
    held.seed([NewTopic("orders", assignment=((1,), (1,)))])
    held.slow_reassignments(1)
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000, max_partitions=1))
    wish = [TopicTargets("orders", "", {0: (2,), 1: (2,)})]
    mover.advance(held, wish)
    held.alter_configs(
        [ConfigResourceAlteration(broker_resource(each), {}, THROTTLE_RATES) for each in (1, 2)]
    )
    while not held.reassignments().keys() & {("orders", 1)}:
        mover.advance(held, wish)
    assert rates(held) == {1: own_rates(1000), 2: own_rates(1000)}


def test_rates_that_another_run_of_kplan_removed_are_set_again_while_replicas_move() -> None:
    """It saw nothing move, and this run began before the rates were gone."""
    held = cluster()
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    mover.advance(held, WISH)
    before = rates(held)
    held.alter_configs(
        [ConfigResourceAlteration(broker_resource(each), {}, THROTTLE_RATES) for each in before]
    )
    set_rates(held, 2, {FOLLOWER_RATE: "777777"})
    mover.advance(held, WISH)
    assert held.reassignments()
    assert rates(held) == {**before, 2: {FOLLOWER_RATE: "777777"}}
    finish(held, mover)
    assert rates(held) == {2: {FOLLOWER_RATE: "777777"}}


def test_rates_that_no_broker_shows_are_set_again_once() -> None:
    """Some platforms hide these keys."""
    held, restored = cluster(), set[int]()
    restore_rates(held, [1, 2], own_rates(1000), restored)
    assert rates(held) == {1: own_rates(1000), 2: own_rates(1000)}
    held.alter_configs([ConfigResourceAlteration(broker_resource(1), {}, THROTTLE_RATES)])
    restore_rates(held, [1, 2], own_rates(1000), restored)
    assert rates(held) == {2: own_rates(1000)}
    restore_rates(held, [2], own_rates(1000), restored)
    assert restored == set(), "a broker that shows its rates may lose them again"


def test_lists_that_cannot_be_read_are_not_written() -> None:
    held = cluster()
    held.refuse("TOPIC_AUTHORIZATION_FAILED", call="topic_configs", times=None)
    found = Reassigner(ReassignmentLimits()).advance(held, WISH)[ORDERS]
    assert isinstance(found, Refusal)
    assert held.count("reassign") == 0
    assert held.count("alter_topic_configs") == 0


def test_pairs_and_rates_show_who_wrote_them() -> None:
    assert own_pair(12, 3) == "012:3"
    assert add_own_pairs("0:1, 012:3", "00:2") == "0:1,00:2"
    assert add_own_pairs("*", "00:2") == "*"
    assert foreign_pairs("0:1,00:1,10:1,010:1") == "0:1,10:1"
    assert own_rates(0) == {}
    held = cluster()
    set_rates(held, 1, own_rates(1))
    assert foreign_rates(held, [1, 2]) == {}
    configs = held.topic_configs(["orders"])["orders"]
    assert not isinstance(configs, Refusal)
    assert configs[LEADERS].source is not ConfigSource.TOPIC


def test_rates_of_a_run_that_began_meanwhile_stay() -> None:
    """Two runs move other topics: the first one ends just after the second has begun."""
    held = MemoryCluster(make_brokers(4))
    held.seed([NewTopic("a", assignment=((1,),)), NewTopic("b", assignment=((3,),))])
    held.slow_reassignments(4)
    first = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    second = Reassigner(ReassignmentLimits(bytes_per_s=2000))
    mine, others = [TopicTargets("a", "", {0: (2,)})], [TopicTargets("b", "", {0: (4,)})]
    first.advance(held, mine)
    while held.reassignments():
        pass
    begun: list[object] = []

    def begin() -> None:
        begun.append(second.advance(held.connect_as(), others))

    held.run_before("configs", begin)  # of the brokers, when nothing was seen to move
    while isinstance(first.advance(held, mine)[Identity("a")], InProgress):
        pass
    assert begun
    assert rates(held) == {3: own_rates(2000), 4: own_rates(2000)}
