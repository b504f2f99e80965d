"""What stands in topics, and who uses it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PartitionUse:
    """The log of a partition: offsets from `start` up to but not `end`; None is what is not known.

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

    `unread` says what is missing and why.
    """

    partitions: Mapping[int, PartitionUse] = field(default_factory=dict)
    groups: tuple[GroupUse, ...] | None = None
    unread: tuple[str, ...] = ()
