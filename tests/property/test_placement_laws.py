"""Placing replicas, for any brokers, racks and layouts (S09; K4-18, K4-20, K4o-11)."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kplan.cluster.request import Assignment
from kplan.kinds.placement import (
    BALANCED_LEADERS,
    IN_RACK,
    RACK_AWARE,
    BrokerLoad,
    PlacementError,
    PlacementRequest,
    place_replicas,
)
from kplan.model.state import Broker

STRATEGIES = st.sampled_from(["", RACK_AWARE, BALANCED_LEADERS])
Case = tuple[PlacementRequest, list[Broker], Assignment]


def cluster(*racks: str) -> list[Broker]:
    return [Broker(number, "h", 9092, rack) for number, rack in enumerate(racks, 1)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw brokers in racks, and a topic that stands on some of them."""
    racks = draw(st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=7))
    brokers = cluster(*racks)
    ids = [each.id for each in brokers]
    factor = draw(st.integers(1, len(ids)))
    partitions = draw(st.integers(1, 9))
    had = draw(st.integers(0, partitions))
    old = draw(st.integers(1, len(ids)))
    current = tuple(tuple(draw(st.permutations(ids))[:old]) for _ in range(had))
    return (
        PlacementRequest(draw(st.sampled_from("tuvw")), partitions, factor, draw(STRATEGIES)),
        brokers,
        current,
    )


def moved(before: Assignment, after: Assignment) -> int:
    return sum(len(set(new) - set(old)) for old, new in zip(before, after, strict=False))


def spread(counted: Counter[int], brokers: list[Broker]) -> int:
    numbers = [counted[each.id] for each in brokers]
    return max(numbers) - min(numbers)


def loads(found: Assignment) -> Counter[int]:
    return Counter(each for row in found for each in row)


def leaders(found: Assignment) -> Counter[int]:
    return Counter(row[0] for row in found)


@given(case=cases())
def test_every_partition_has_its_replicas_on_different_brokers_that_are_there(case: Case) -> None:
    request, brokers, current = case
    found = place_replicas(request, brokers, current)
    assert len(found) == request.partitions
    assert all(len(set(row)) == len(row) == request.factor for row in found)
    assert {each for row in found for each in row} <= {each.id for each in brokers}


@given(case=cases())
def test_placing_what_was_placed_moves_nothing_and_any_order_of_brokers_is_the_same(
    case: Case,
) -> None:
    """S09: deterministic across plan and apply."""
    request, brokers, current = case
    found = place_replicas(request, brokers, current)
    assert place_replicas(request, brokers, found) == found
    assert place_replicas(request, brokers[::-1], current) == found


@given(case=cases())
def test_a_change_of_the_factor_alone_adds_or_takes_only_what_it_must(case: Case) -> None:
    """K4o-11: RF up keeps every replica, RF down adds none; the preferred leader stays."""
    request, brokers, current = case
    found = place_replicas(
        PlacementRequest(request.topic, len(current), request.factor), brokers, current
    )
    for old, new in zip(current, found, strict=True):
        assert set(old) <= set(new) or set(new) <= set(old)
        assert new[0] == old[0]


@given(case=cases())
def test_rack_aware_uses_as_many_racks_as_there_are(case: Case) -> None:
    request, brokers, current = case
    found = place_replicas(
        PlacementRequest(request.topic, request.partitions, request.factor, RACK_AWARE),
        brokers,
        current,
    )
    racks = {each.id: each.rack or f"{each.id}" for each in brokers}
    for row in found:
        assert len({racks[each] for each in row}) == min(request.factor, len(set(racks.values())))


@given(case=cases())
def test_balanced_leaders_lets_every_broker_lead_equally_many(case: Case) -> None:
    request, brokers, current = case
    wanted = PlacementRequest(request.topic, request.partitions, request.factor, BALANCED_LEADERS)
    assert spread(leaders(place_replicas(wanted, brokers, current)), brokers) <= 1


@given(
    racks=st.integers(1, 4),
    each=st.integers(1, 3),
    factor=st.integers(1, 4),
    partitions=st.integers(1, 30),
)
def test_new_topics_spread_replicas_and_leaders_evenly(
    racks: int, each: int, factor: int, partitions: int
) -> None:
    brokers = cluster(*[name for name in "abcd"[:racks] for _ in range(each)])
    found = place_replicas(
        PlacementRequest("t", partitions, min(factor, len(brokers)), RACK_AWARE), brokers
    )
    assert spread(loads(found), brokers) <= 1
    assert spread(leaders(found), brokers) <= 1


@given(
    old=st.integers(2, 5), new=st.integers(1, 3), factor=st.integers(1, 2), size=st.integers(1, 20)
)
def test_new_brokers_get_their_share_and_nothing_else_moves(
    old: int, new: int, factor: int, size: int
) -> None:
    """Minimal movement: exactly what the new ones hold was moved."""
    before = place_replicas(PlacementRequest("t", size, factor, RACK_AWARE), cluster(*[""] * old))
    brokers = cluster(*[""] * (old + new))
    after = place_replicas(PlacementRequest("t", size, factor, RACK_AWARE), brokers, before)
    assert spread(loads(after), brokers) <= 1
    taken = sum(loads(after)[each.id] for each in brokers[old:])
    assert moved(before, after) == taken


@given(
    racks=st.integers(1, 3),
    each=st.integers(2, 3),
    size=st.integers(1, 12),
    factor=st.integers(1, 2),
)
def test_in_rack_keeps_each_partition_in_one_rack_and_racks_lead_equally_many(
    racks: int, each: int, size: int, factor: int
) -> None:
    brokers = cluster(*[name for name in "abc"[:racks] for _ in range(each)])
    found = place_replicas(PlacementRequest("t", size, factor, IN_RACK), brokers)
    rack = {broker.id: broker.rack for broker in brokers}
    assert all(len({rack[each] for each in row}) == 1 for row in found)
    per_rack = Counter(rack[row[0]] for row in found)
    assert max(per_rack.values()) - min(per_rack[name] for name in set(rack.values())) <= 1
    assert place_replicas(PlacementRequest("t", size, factor, IN_RACK), brokers, found) == found


def test_what_a_broker_that_is_down_holds_stays_there() -> None:
    """A broker that is away for a moment is not emptied."""
    current = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    assert (
        place_replicas(PlacementRequest("t", 3, 3, ""), cluster("a", "b", "c"), current) == current
    )
    found = place_replicas(
        PlacementRequest("t", 2, 2, RACK_AWARE), cluster("a", "b"), ((1, 3), (3, 2))
    )
    assert [set(row) for row in found] == [{1, 3}, {2, 3}]


@pytest.mark.parametrize("strategy", [RACK_AWARE, BALANCED_LEADERS, IN_RACK, ""])
def test_a_topic_that_has_its_replicas_is_left_alone_while_a_broker_is_down(strategy: str) -> None:
    """Nothing to do must not become an error in an outage."""
    brokers = cluster(*("aaa" if strategy == IN_RACK else "abc"))
    current = place_replicas(PlacementRequest("t", 6, 3, strategy), brokers)
    assert place_replicas(PlacementRequest("t", 6, 3, strategy), brokers[:2], current) == current


def test_fewer_replicas_take_away_that_of_a_broker_that_is_down() -> None:
    """What is in sync is worth more."""
    assert place_replicas(
        PlacementRequest("t", 1, 2), cluster("a", "b", "c")[::2], ((1, 2, 3),)
    ) == ((1, 3),)


def test_different_topics_begin_at_different_brokers() -> None:
    """Or one broker would lead every topic of one partition."""
    brokers = cluster(*"abc")
    first = Counter(
        place_replicas(PlacementRequest(f"t{each}", 1, 1, RACK_AWARE), brokers)[0][0]
        for each in range(300)
    )
    assert min(first.values()) > 60


@pytest.mark.parametrize(
    ("strategy", "factor", "room"),
    [
        ("", 4, "the cluster has 3 live brokers"),
        (RACK_AWARE, 4, "the cluster has 3 live brokers"),
        (IN_RACK, 2, "a rack has 1 live broker"),
    ],
)
def test_too_few_brokers_are_told(strategy: str, factor: int, room: str) -> None:
    with pytest.raises(PlacementError, match=rf"{factor} replicas are needed, and {room}\.$"):
        place_replicas(PlacementRequest("t", 1, factor, strategy), cluster(*"abc"))


def placed_one_by_one(
    requests: list[PlacementRequest], brokers: list[Broker]
) -> dict[str, Assignment]:
    """Place topics in the order of their names, each beside those before it."""
    others, found = BrokerLoad(), {}
    for request in sorted(requests, key=lambda each: each.topic):
        found[request.topic] = place_replicas(request, brokers, (), others)
        others.add(found[request.topic])
    return found


@given(
    count=st.integers(1, 60),
    racks=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=7),
    factor=st.integers(1, 3),
    strategy=st.sampled_from([RACK_AWARE, BALANCED_LEADERS]),
)
def test_many_topics_of_one_partition_are_led_by_all_brokers_alike(
    count: int, racks: list[str], factor: int, strategy: str
) -> None:
    """S09: even over topics as a whole, not only within each."""
    brokers = cluster(*racks)
    requests = [
        PlacementRequest(f"topic-{number}", 1, min(factor, len(brokers)), strategy)
        for number in range(count)
    ]
    found = placed_one_by_one(requests, brokers)
    led = Counter(rows[0][0] for rows in found.values())
    assert max(led.values()) <= -(-count // len(brokers)) + 1
    assert spread(led, brokers) <= 1
    assert placed_one_by_one(requests[::-1], brokers[::-1]) == found


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    brokers=st.integers(1, 6),
    factor=st.integers(1, 3),
)
def test_topics_of_any_size_spread_their_leaders_together(
    sizes: list[int], brokers: int, factor: int
) -> None:
    """S09: what is left over in each topic does not pile up on the same brokers."""
    nodes = cluster(*[""] * brokers)
    requests = [
        PlacementRequest(f"topic-{number}", size, min(factor, brokers), BALANCED_LEADERS)
        for number, size in enumerate(sizes)
    ]
    found = placed_one_by_one(requests, nodes)
    led = sum((leaders(rows) for rows in found.values()), Counter[int]())
    held = sum((loads(rows) for rows in found.values()), Counter[int]())
    assert spread(led, nodes) <= brokers
    assert spread(held, nodes) <= brokers


@given(case=cases(), more=st.integers(0, 50))
def test_other_topics_never_make_one_move_that_stands_well(case: Case, more: int) -> None:
    """Minimal movement comes first: what stands well stays, whatever else brokers have."""
    request, brokers, current = case
    found = place_replicas(request, brokers, current)
    others = BrokerLoad(Counter({brokers[0].id: more}), Counter({brokers[0].id: more}))
    assert place_replicas(request, brokers, found, others) == found
