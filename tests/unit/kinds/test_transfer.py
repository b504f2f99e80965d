"""The bytes that are left to copy, while replicas move."""

from collections.abc import Collection, Mapping

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.cluster.topology import Reassignment
from kplan.cluster.usage import PartitionUse, TopicPartition, TopicUse
from kplan.kinds.reassignment import Reassigner, ReassignmentLimits, TopicTargets
from kplan.kinds.transfer import CopyMeter, bytes_left
from kplan.model.errors import InProgress, UnreadableError
from kplan.model.resource import Identity


def test_a_move_says_how_many_bytes_are_left_and_reads_them_now_and_then() -> None:
    """Every broker is asked for sizes, so not at each look."""
    held = MemoryCluster()
    held.seed([NewTopic("orders", assignment=((1, 2),))])
    held.set_topic_use("orders", TopicUse({0: PartitionUse(0, 10, 0, 2048, 0)}, groups=()))
    held.slow_reassignments(99)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 3)})]
    found = []
    for _ in range(12):
        told = mover.advance(held, wish)[Identity("orders")]
        assert isinstance(told, InProgress)
        found.append(told.bytes_left)
    assert {*found} == {2048}, "at the first look, too, before the move is seen"
    assert held.count("replica_sizes") == 2


def test_the_bytes_left_are_those_of_all_batches_and_shrink_with_each_partition() -> None:
    held = MemoryCluster()
    held.seed([NewTopic("orders", assignment=((1, 2),) * 4)])
    use = {number: PartitionUse(0, 10, 0, 1000, 0) for number in range(4)}
    held.set_topic_use("orders", TopicUse(use, groups=()))
    held.slow_reassignments(2)
    mover = Reassigner(ReassignmentLimits(max_partitions=1))
    wish = [TopicTargets("orders", "", dict.fromkeys(range(4), (1, 3)))]
    found = []
    while (told := mover.advance(held, wish)[Identity("orders")]) is not None:
        assert isinstance(told, InProgress)
        found.append(told.bytes_left or 0)
    assert found == sorted(found, reverse=True)
    assert {*found} >= {4000, 3000, 2000, 1000}
    assert held.count("replica_sizes") <= 1 + len(found) // 10


def test_partitions_that_begin_to_move_between_readings_are_read_at_once() -> None:
    held, meter = Silent({FIRST: {2: 50}, SECOND: {2: 7}}), CopyMeter()
    assert meter.read(held, {FIRST: GROWS}) == 50
    assert meter.read(held, {FIRST: GROWS, SECOND: GROWS}) == 57
    held.sizes = {}
    assert meter.read(held, {SECOND: GROWS}) == 7, "those that have arrived count no more"
    assert meter.read(held, {}) is None
    assert meter.read(held, {SECOND: GROWS}) is None, "a new move is read anew"


class Closed(MemoryCluster):
    """A cluster that shows no sizes to us."""

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        raise UnreadableError(f"Sizes of {sorted(topics)} cannot be read.")


def test_a_move_without_the_right_to_sizes_says_nothing_of_bytes() -> None:
    held = Closed()
    held.seed([NewTopic("orders", assignment=((1, 2),))])
    held.slow_reassignments(99)
    mover = Reassigner(ReassignmentLimits())
    for _ in range(3):
        told = mover.advance(held, [TopicTargets("orders", "", {0: (1, 3)})])[Identity("orders")]
        assert isinstance(told, InProgress)
        assert told.bytes_left is None


class Silent(MemoryCluster):
    """A cluster some of whose brokers do not tell sizes."""

    def __init__(self, sizes: Mapping[TopicPartition, Mapping[int, int]]) -> None:
        super().__init__()
        self.sizes = sizes

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        return {key: held for key, held in self.sizes.items() if key[0] in topics}


FIRST, SECOND = ("orders", 0), ("orders", 1)
GROWS = Reassignment((1, 2, 3), adding=(3,), removing=(2,))
SHRINKS = Reassignment((1, 2), removing=(2,))


@pytest.mark.parametrize(
    ("sizes", "known"),
    [
        ({}, {}),
        ({FIRST: {3: 10}}, {}),
        ({FIRST: {3: 10}, SECOND: {2: 50}}, {SECOND: 50}),
        ({FIRST: {2: 50, 3: 10}, SECOND: {2: 0}}, {FIRST: 40, SECOND: 0}),
    ],
    ids=["nobody answers", "the new one alone", "one of two", "old ones, and one is empty"],
)
def test_no_bytes_are_told_where_no_old_replica_is_known(
    sizes: Mapping[TopicPartition, Mapping[int, int]], known: Mapping[TopicPartition, int]
) -> None:
    """Nothing known is not nothing to copy."""
    held, moving = Silent(sizes), {FIRST: GROWS, SECOND: GROWS}
    assert bytes_left(held, moving) == known
    whole = sum(known.values()) if known.keys() == moving.keys() else None
    assert CopyMeter().read(held, moving) == whole


def test_replicas_that_only_go_have_nothing_to_copy_whoever_answers() -> None:
    held = Silent({})
    assert bytes_left(held, {FIRST: SHRINKS}) == {FIRST: 0}
    assert CopyMeter().read(held, {FIRST: SHRINKS}) == 0
