"""Use of topics: offsets, sizes, producers, and groups with their members and lag."""

from collections.abc import Mapping
from dataclasses import field

from kplan.model.dataclass import dataclass

TopicPartition = tuple[str, int]

EARLIEST, LATEST = -2, -1
"""Times that mean the first offset of a partition and its end (ListOffsets)."""


@dataclass(frozen=True, slots=True)
class PartitionUse:
    """The log of a partition: offsets from `start` up to but not including `end`; None is unknown.

    `newest_ms` is the time of its newest record in milliseconds since 1970, None also where there
    is no record. `producers` counts those whose state the leader keeps: only producers with an id
    (idempotent, transactional) are seen.
    """

    start: int | None = None
    end: int | None = None
    newest_ms: int | None = None
    size_bytes: int | None = None
    producers: int | None = None

    @property
    def records(self) -> int | None:
        """Count the offsets; there may be fewer records, as compaction leaves gaps."""
        return None if self.start is None or self.end is None else self.end - self.start


@dataclass(frozen=True, slots=True)
class GroupUse:
    """A group with committed offsets in a topic.

    `members` is None where the group is not of the classic protocol; `is_live` says whether it has
    any. `lag` counts offsets behind the end of the partitions it committed in.
    """

    group: str
    is_live: bool
    members: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class TopicUse:
    """All that could be read of a topic's use. `groups` None: they could not be listed in full.

    `unread` says what is missing and why. `topic_id` is "" where the broker does not return one.
    """

    partitions: Mapping[int, PartitionUse] = field(default_factory=dict)
    groups: tuple[GroupUse, ...] | None = None
    unread: tuple[str, ...] = ()
    topic_id: str = ""


@dataclass(frozen=True, slots=True, order=True)
class GroupListing:
    """A group as its coordinator lists it.

    `type` is classic, consumer (KIP-848), share or streams; "" where the broker does not return
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
    assignment: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """All about a group. `members` None: what kplan cannot read.

    `committed_offsets` are the offsets that are read next, by partition; `end_offsets` those that
    the next records get, only where they are known. `unread` says what is missing and why;
    `has_offsets` False is that committed offsets are missing. Those of share groups are start
    offsets.
    """

    name: str
    type: str
    protocol: str
    state: str
    coordinator: int
    assignor: str = ""
    members: tuple[GroupMember, ...] | None = ()
    committed_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    end_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    has_offsets: bool = True

    @property
    def listing(self) -> GroupListing:
        """The group as it is listed."""
        return GroupListing(self.name, self.type, self.protocol, self.state)

    def lag(self, partition: TopicPartition) -> int | None:
        """Count the offsets behind the end; None where either is not known."""
        if partition not in self.committed_offsets or partition not in self.end_offsets:
            return None
        return max(0, self.end_offsets[partition] - self.committed_offsets[partition])
