"""What is seen of topics and their moving replicas at one look."""

from collections.abc import Mapping

from kplan.cluster.request import TopicDescription
from kplan.cluster.topology import Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal


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

    def is_in_sync(self, key: TopicPartition, replicas: Replicas) -> bool:
        """Whether all of these replicas of a partition are in sync."""
        found = self.topics.get(key[0])
        if not isinstance(found, TopicDescription) or key[1] >= len(found.in_sync):
            return False
        return set(replicas) <= set(found.in_sync[key[1]])
