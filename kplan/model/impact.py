"""What a change destroys or cuts short, and whom it hits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupImpact:
    """A group that has committed offsets in the topic; None is what is not known."""

    group: str
    is_live: bool
    members: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Impact:
    """What stands in a topic and who uses it; None is what could not be read, never zero.

    `records` counts offsets, `size_bytes` the leaders' logs, `age_ms` the time since the newest
    record, None also where there is no record. `unread` says why something is not known.
    """

    records: int | None = None
    size_bytes: int | None = None
    age_ms: int | None = None
    groups: tuple[GroupImpact, ...] | None = None
    producers: int | None = None
    unread: tuple[str, ...] = ()

    @property
    def is_unused(self) -> bool:
        """Whether it is known that nothing is in there and nobody uses it."""
        return self.records == 0 and self.groups == () and self.producers == 0
