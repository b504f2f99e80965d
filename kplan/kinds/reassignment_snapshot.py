"""What is seen of topics and their moving replicas at one look."""

from collections.abc import Collection, Mapping

from kplan.cluster.request import TopicDescription
from kplan.cluster.topology import Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.throttle import own_pair
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal

_FOLLOWERS, _LEADERS = THROTTLED_REPLICAS


@dataclass(frozen=True, slots=True)
class ReassignmentSnapshot:
    """The cluster at one moment: topics, and all that is moving on it."""

    topics: Mapping[str, TopicDescription | Refusal]
    reassignments: Mapping[TopicPartition, Reassignment]

    def replicas(self, key: TopicPartition) -> Replicas:
        """Return the replicas of a partition, () where it is not seen."""
        found = self.topics.get(key[0])
        if not isinstance(found, TopicDescription) or key[1] >= len(found.assignment):
            return ()
        return found.assignment[key[1]]

    def move_to(self, key: TopicPartition, target: Replicas) -> Reassignment:
        """Return the move of a partition to these replicas, whether it has begun or not."""
        held = self.reassignments.get(key)
        origin = held.origin if held else self.replicas(key)
        adding = tuple(each for each in target if each not in origin)
        removing = tuple(each for each in origin if each not in target)
        return Reassignment((*origin, *adding), adding, removing)

    def new_brokers(self, moves: Mapping[TopicPartition, Reassignment]) -> set[int]:
        """Name the brokers of moves that were not seen yet."""
        new = (move for key, move in moves.items() if key not in self.reassignments)
        return {broker for each in new for broker in (*each.origin, *each.target)}

    def is_in_sync(self, key: TopicPartition, replicas: Replicas) -> bool:
        """Whether all of these replicas of a partition are in sync."""
        found = self.topics.get(key[0])
        if not isinstance(found, TopicDescription) or key[1] >= len(found.in_sync):
            return False
        return set(replicas) <= set(found.in_sync[key[1]])

    def throttled_pairs(
        self, topic: str, targets: Mapping[int, Replicas], moving: Collection[TopicPartition]
    ) -> dict[str, str]:
        """List the pairs PARTITION:BROKER to throttle: who copies, and whom it may be copied from.

        Partitions that wait for their turn are left out: a config has room for some thousands of
        pairs.
        """
        copying: list[str] = []
        copied: list[str] = []
        for number, target in sorted(targets.items()):
            move = self.move_to((topic, number), target)
            if (topic, number) in moving:
                copying += [own_pair(number, each) for each in move.adding]
                copied += [own_pair(number, each) for each in move.origin if move.adding]
        return {_FOLLOWERS: ",".join(copying), _LEADERS: ",".join(copied)}
