"""The bytes that moves of replicas have still to copy."""

from collections.abc import Mapping
from dataclasses import field

from kplan.cluster.port import Cluster
from kplan.cluster.topology import Reassignment
from kplan.cluster.usage import TopicPartition
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError

_READ_EVERY = 10
"""Looks from one reading of sizes to the next: every broker is asked for them."""


def bytes_left(
    cluster: Cluster, moving: Mapping[TopicPartition, Reassignment]
) -> Mapping[TopicPartition, int]:
    """Return the bytes left to copy by partition, without those whose sizes cannot be read.

    Of a partition whose old replicas are all on brokers that do not answer no size is known.
    """
    topics = {name for (name, _), each in moving.items() if each.adding}
    try:
        sizes = cluster.replica_sizes(topics) if topics else {}
    except ClusterError:
        return {}
    found: dict[TopicPartition, int] = {}
    for key, each in moving.items():
        held = sizes.get(key, {})
        current = [held[broker] for broker in each.origin if broker in held]
        if current or not each.adding:
            whole = max(current, default=0)
            found[key] = sum(max(0, whole - held.get(broker, 0)) for broker in each.adding)
    return found


@dataclass(slots=True)
class CopyMeter:
    """Sums the bytes that moves have left, and reads them at some of the looks.

    `found` is what the last reading told of the partitions `asked` for.
    """

    looks: int = 0
    asked: frozenset[TopicPartition] = frozenset()
    found: Mapping[TopicPartition, int] = field(default_factory=dict)

    def read(self, cluster: Cluster, moving: Mapping[TopicPartition, Reassignment]) -> int | None:
        """Return the bytes left as last read, None while nothing moves or one is unknown.

        Partitions that have arrived since then count no more; new ones are read at once.
        """
        if not moving:
            self.looks = 0
            return None
        if self.looks % _READ_EVERY == 0 or moving.keys() - self.asked:
            self.looks, self.asked = 0, frozenset(moving)
            self.found = bytes_left(cluster, moving)
        self.looks += 1
        known = self.found.keys() >= moving.keys()
        return sum(self.found[key] for key in moving) if known else None
