"""Reassignments of replicas, leader elections, and the quorum of controllers."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum

from kplan.cluster.usage import TopicPartition
from kplan.model.dataclass import dataclass

Replicas = tuple[int, ...]
TargetReplicas = Mapping[TopicPartition, Replicas | None]
"""Where replicas are to stand; None cancels what is under way."""


class ElectionType(IntEnum):
    """Which leaders may be elected (KIP-460); UNCLEAN takes one that lacks records."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A partition whose replicas are being moved: all of them, those to come and those to go."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def target(self) -> Replicas:
        """Where replicas will stand."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def origin(self) -> Replicas:
        """Where replicas stood; which of them came first, Kafka does not keep."""
        return tuple(each for each in self.replicas if each not in self.adding)


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A node that copies the metadata: a voter, or a broker or controller as an observer.

    `behind` is how many records it lacks of what the leader has; `fetched_ms` and `caught_up_ms`
    are how long ago it fetched last, and last had everything. None: not told (KIP-836), as for a
    voter that has not been heard of. `directory` is the id of where it keeps the metadata, "" where
    that is not told (KIP-853).
    """

    id: int
    end_offset: int
    lag: int
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
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
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
