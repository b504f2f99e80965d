"""Groups of consumers and the like: who is in them, and how far they have read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kplan.cluster.usage import TopicPartition


@dataclass(frozen=True, slots=True, order=True)
class ListedGroup:
    """A group as its coordinator lists it.

    `type` is classic, consumer (KIP-848), share or streams; "" where the broker does not tell
    (before Kafka 3.8). `protocol` is what members of a classic group have agreed on: consumer,
    connect, or nothing.
    """

    name: str
    type: str
    protocol: str
    state: str


@dataclass(frozen=True, slots=True, order=True)
class GroupMember:
    """A member of a group, with the partitions that it reads, sorted."""

    id: str
    client_id: str
    host: str
    instance_id: str = ""
    assigned: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """All about a group. `members` None: what kplan cannot read, as of share groups.

    `committed` is the offset that is read next, by partition; `ends` the offset that the next
    record gets, only where it is known. `unread` says what is missing and why.
    """

    name: str
    type: str
    protocol: str
    state: str
    coordinator: int
    assignor: str = ""
    members: tuple[GroupMember, ...] | None = ()
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def listed(self) -> ListedGroup:
        """The group as it is listed."""
        return ListedGroup(self.name, self.type, self.protocol, self.state)

    def lag(self, partition: TopicPartition) -> int | None:
        """Count the offsets behind the end; None where either is not known."""
        if partition not in self.committed or partition not in self.ends:
            return None
        return max(0, self.ends[partition] - self.committed[partition])
