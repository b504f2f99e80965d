"""What is said against a declared topic, alone, beside others, and beside the live one."""

import pytest

from kplan.kinds.base import Problem
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.resource import Identity
from kplan.model.state import LiveObject
from tests.values import topic

KIND = TopicKind()


def codes(problems: object) -> list[tuple[str, tuple[str, ...], bool]]:
    found = list(problems)  # type: ignore[call-overload] # any iterable of problems
    assert all(isinstance(each, Problem) and each.code in SUMMARIES for each in found)
    return [(each.code, each.path, each.is_warning) for each in found]


@pytest.mark.parametrize(
    "value",
    [
        topic(),
        Topic("defaults"),
        topic(partitions=1, replication_factor=32_767),
        topic(replica_assignment=((0, 1), (1, 0))),
        topic(config={"leader.replication.throttled.replicas": "0:1," * 8191}),
        topic(config={"retention.ms": "1", "cleanup.policy": "compact"}),
        topic(config={"segment.bytes": "14", "message.format.version": "2.8"}),
        topic("x" * 249),
    ],
)
def test_a_good_topic_has_no_problem(value: Topic) -> None:
    assert codes(KIND.check(value)) == []


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        (topic("a/b"), "KP201", ("name",)),
        (topic("x" * 250), "KP201", ("name",)),
        (topic("."), "KP201", ("name",)),
        (topic("__consumer_offsets"), "KP207", ("name",)),
        (topic("__kplan_state"), "KP207", ("name",)),
        (topic(partitions=0), "KP204", ("partitions",)),
        (topic(partitions=2**31), "KP204", ("partitions",)),
        (topic(replication_factor=0), "KP205", ("replication_factor",)),
        (topic(replication_factor=40_000), "KP205", ("replication_factor",)),
        (
            Topic("a", partitions=1, replica_assignment=((1,),)),
            "KP203",
            ("replica_assignment",),
        ),
        (topic(replica_assignment=()), "KP206", ("replica_assignment",)),
        (topic(replica_assignment=((1, 2), (1,))), "KP206", ("replica_assignment",)),
        (topic(replica_assignment=((1, 1),)), "KP206", ("replica_assignment",)),
        (topic(replica_assignment=((-1,),)), "KP206", ("replica_assignment",)),
        (topic(replica_assignment=((1, 2**31),)), "KP206", ("replica_assignment",)),
        (topic(replica_assignment=((),)), "KP206", ("replica_assignment",)),
        (topic(config={"retention.ms": "1" * 40_000}), "KP208", ("config", "retention.ms")),
        (topic(config={"retention.ms": "1" * 10_000}), "KP208", ("config", "retention.ms")),
        (topic(config={"retention.ms": "7 days"}), "KP208", ("config", "retention.ms")),
        (topic(config={"cleanup.policy": "deleted"}), "KP208", ("config", "cleanup.policy")),
        (topic(config={"min.insync.replicas": "0"}), "KP208", ("config", "min.insync.replicas")),
        (topic(config={"preallocate": "yes"}), "KP208", ("config", "preallocate")),
        (topic(config={"segment.bytes": "13"}), "KP208", ("config", "segment.bytes")),
    ],
)
def test_a_mistake_is_told_at_its_attribute(value: Topic, code: str, path: tuple[str, ...]) -> None:
    """K4-17, K4-18, K4-29, K4-30."""
    assert codes(KIND.check(value)) == [(code, path, False)]


def test_a_count_that_is_too_large_is_told_with_the_largest() -> None:
    (problem,) = KIND.check(topic(replication_factor=40_000))
    assert "takes at most 32,767 replicas, got 40000" in problem.detail


def test_a_number_that_is_none_of_kafkas_is_a_mistake_and_no_crash() -> None:
    long = topic(replication_factor=1, config={"min.insync.replicas": "9" * 5_000})
    assert [code for code, _, _ in codes(KIND.check(long))] == ["KP208"]


@pytest.mark.parametrize(
    ("value", "is_told"),
    [
        (topic(replication_factor=2, config={"min.insync.replicas": "3"}), True),
        (topic(replication_factor=2, config={"min.insync.replicas": "2"}), False),
        (Topic("a", config={"min.insync.replicas": "3"}), False),
        (Topic("a", replica_assignment=((1,), (2,)), config={"min.insync.replicas": "2"}), True),
        (Topic("a", replica_assignment=((1, 2),), config={"min.insync.replicas": "2"}), False),
    ],
)
def test_more_in_sync_replicas_than_replicas_are_a_warning(value: Topic, is_told: bool) -> None:
    found = codes(KIND.check(value))
    assert found == ([("KP216", ("config", "min.insync.replicas"), True)] if is_told else [])


def test_an_unknown_config_key_is_a_warning_with_the_nearest_known_key() -> None:
    (found,) = KIND.check(topic(config={"retention.mss": "1", "retention.ms": "1"}))
    assert (found.code, found.is_warning, found.hint) == (
        "KP208",
        True,
        'Did you mean "retention.ms"?',
    )
    (strange,) = KIND.check(topic(config={"zzz": "1"}))
    assert strange.hint == "Check the name; a vendor's key is fine."


def test_a_very_long_name_is_shown_shortened() -> None:
    (found,) = KIND.check(topic("x" * 250))
    assert "x" * 58 not in found.detail
    assert "it has 250 characters" in found.detail


def test_names_that_kafka_takes_for_the_same_are_found_once_per_name() -> None:
    """K4-29."""
    declared = [Identity(each) for each in ("a.b", "a_b", "c.d", "e")]
    found = list(KIND.check_all(declared, [Identity("c_d"), Identity("e")]))
    assert [name for name, _ in found] == ["a_b", "c.d"]
    assert codes(problem for _, problem in found) == [("KP202", ("name",), False)] * 2


def held(
    value: Topic, assignment: tuple[tuple[int, ...], ...] = ((1, 2), (2, 3), (3, 1))
) -> LiveObject:
    return LiveObject(Topic(value.name, len(assignment), len(assignment[0]), assignment))


def test_partitions_are_never_taken_away() -> None:
    """K4-57, law 6."""
    (found,) = KIND.check_change(held(topic()), topic(partitions=2, replication_factor=3))
    assert (found.code, found.path) == ("KP211", ("partitions",))
    assert "has 3 partitions and 2 are declared" in found.detail
    fewer = topic(replica_assignment=((1, 2),))
    assert codes(KIND.check_change(held(topic()), fewer)) == [
        ("KP211", ("replica_assignment",), False)
    ]


@pytest.mark.parametrize(
    "desired",
    [
        topic(partitions=6, replication_factor=2),
        topic(replica_assignment=((1, 2), (2, 3), (3, 1), (1, 3))),
        Topic("orders"),
    ],
)
def test_growth_and_silence_are_not_refused(desired: Topic) -> None:
    assert codes(KIND.check_change(held(topic()), desired)) == []
