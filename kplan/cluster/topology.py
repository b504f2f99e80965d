"""Reassignments, leader elections, the quorum of controllers, and keyed records."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Protocol
from urllib.parse import urlsplit

from kplan.cluster.topic import KPLAN_PREFIX
from kplan.cluster.usage import TopicPartition
from kplan.model.dataclass import dataclass

Replicas = tuple[int, ...]
TargetReplicas = Mapping[TopicPartition, Replicas | None]
"""Where replicas are to be; None cancels what is under way."""


class ElectionType(IntEnum):
    """Which leaders may be elected (KIP-460); UNCLEAN takes one that lacks records."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A partition under reassignment: all replicas, the adding ones and the removing ones."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def target(self) -> Replicas:
        """Where replicas will be."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def origin(self) -> Replicas:
        """Where replicas stood; which of them came first, Kafka does not keep."""
        return tuple(each for each in self.replicas if each not in self.adding)

    def can_turn_to(self, target: Replicas) -> bool:
        """Whether a move to another target may take the place of this one without cancelling it.

        With no other replica than these Kafka keeps the list of the adding ones: it waits for them
        even where it removes them, or ends where this move was to end. Another order of the target
        is none.
        """
        return {*target} == {*self.target} or not {*target} <= {*self.replicas}


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A node that copies the metadata: a voter, or a broker or controller as an observer.

    `lag` is how many records it lacks of what the leader has; `fetched_ms` and `caught_up_ms`
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


DEFAULT_TOPIC = f"{KPLAN_PREFIX}state"
DEFAULT_KEY = "default"


@dataclass(frozen=True, slots=True)
class StateTopic:
    """The place of the records of one state: a topic and the key of the state.

    `replication_factor` is for a topic that has to be created; None is three, or as many as there
    are brokers where they are fewer.
    """

    topic: str = DEFAULT_TOPIC
    key: str = DEFAULT_KEY
    replication_factor: int | None = None

    def __str__(self) -> str:
        """Name it in a sentence."""
        return f'the topic {self.topic} (key "{self.key}")'


class ObjectService(StrEnum):
    """Services that keep objects: those of Amazon, Google and Microsoft."""

    S3 = "s3"
    GCS = "gcs"
    AZURE = "azure"


@dataclass(frozen=True, slots=True)
class StateBucket:
    """Where one state is kept in a bucket, which Azure calls a container.

    `endpoint` is that of another server which speaks the protocol; `region` is for S3, and
    `account` for Azure.
    """

    bucket: str
    key: str
    region: str = ""
    endpoint: str = ""
    allow_http: bool = False
    service: ObjectService = ObjectService.S3
    account: str = ""

    def __str__(self) -> str:
        """Name it in a sentence."""
        holder = f"{self.account}/" if self.account else ""
        return f"{self.service}://{holder}{self.bucket}/{self.key}"


def is_loopback(endpoint: str) -> bool:
    """Whether the server of an endpoint is on this machine."""
    return urlsplit(endpoint).hostname in {"localhost", "127.0.0.1", "::1"}


CURRENT_STATE = "state"
"""The record of a state that names the current one."""
FIRST_OF_JOURNAL = "journal/000000"
"""The record that a journal begins with; an apply that was killed may have left nothing else."""


class UncertainWriteError(Exception):
    """A write has no certain outcome: another writer came between, or no answer did.

    Whoever claims the records again sees the outcome of it.
    """


class Records(Protocol):
    """Records by name, which one writer at a time changes.

    A writer claims them and sees all that was ever written; from then on writers from before are
    shut out. So what a writer concludes from what it saw still holds when its write succeeds.

    Every method raises `UnreachableError` or `AuthError` where no one can be asked, and
    `StateError` where a right is missing or the place is not fit to keep a state.
    """

    @property
    def location(self) -> str:
        """Where they are, as it is named in a sentence."""
        ...

    @property
    def key(self) -> str:
        """The key of this state among others in the same place."""
        ...

    def list_keys(self) -> tuple[str, ...]:
        """List the keys of all states in the same place that have a current one."""
        ...

    def beside(self, key: str) -> "Records":
        """Return the records of another state in the same place, to read them meanwhile."""
        ...

    def peek(self) -> Mapping[str, bytes] | None:
        """Return the committed records without waiting for a write in progress.

        None: there is no such place yet, nor anything in it.
        """
        ...

    def read(self) -> Mapping[str, bytes] | None:
        """Give all that was written before the call, waiting for writes under way to be decided."""
        ...

    def claim(self) -> Mapping[str, bytes]:
        """Shut out every other writer, make the place where there is none, and read."""
        ...

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put records, or remove those that are None: all of them, or none.

        Raises:
            UncertainWriteError: it must be looked up which of the two.

        """
        ...

    def without_retries(self) -> AbstractContextManager[None]:
        """Wait in the block for no outage that calls outside of it wait out."""
        ...

    def close(self) -> None:
        """Free sockets and threads; the next claim takes new ones."""
        ...
