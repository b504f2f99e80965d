"""The quorum of controllers that keeps the metadata of a cluster (KIP-595)."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Follower:
    """A node that copies the metadata: a voter, or a broker or controller as an observer.

    `behind` is how many records it lacks of what the leader has; `fetched_ms` and `caught_up_ms`
    are how long ago it fetched last, and last had everything. None: not told (KIP-836), as for a
    voter that has not been heard of. `directory` is the id of where it keeps the metadata, "" where
    that is not told (KIP-853).
    """

    id: int
    end_offset: int
    behind: int
    fetched_ms: int | None = None
    caught_up_ms: int | None = None
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Quorum:
    """Who leads, and how far the others are.

    `addresses` are those of controllers, where told, and `listener` is the name of the listener
    there.
    """

    leader: int
    epoch: int
    high_watermark: int
    voters: tuple[Follower, ...]
    observers: tuple[Follower, ...]
    addresses: Mapping[int, str] = field(default_factory=dict)
    listener: str = ""


@dataclass(frozen=True, slots=True)
class Voter:
    """A controller that is to vote: which one, with which directory, and where it listens."""

    id: int
    directory: str
    listener: str
    host: str
    port: int
