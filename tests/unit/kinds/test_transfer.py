"""The bytes that are left to copy, while replicas move."""

from collections.abc import Collection, Mapping

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.cluster.usage import PartitionUse, TopicPartition, TopicUse
from kplan.kinds.reassignment import Reassigner, ReassignmentLimits, TopicTargets
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
    assert (found[0], {*found[1:]}) == (None, {2048})
    assert held.count("replica_sizes") == 2


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
