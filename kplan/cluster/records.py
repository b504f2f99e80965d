"""Keyed records on the cluster with a single writer: storage of the state in a topic."""

from collections.abc import Mapping
from typing import Protocol

from kplan.cluster.topic import KPLAN_PREFIX
from kplan.model.dataclass import dataclass

DEFAULT_TOPIC = f"{KPLAN_PREFIX}state"
DEFAULT_KEY = "default"


@dataclass(frozen=True, slots=True)
class StateTopic:
    """Where the records of one state stand: a topic, and the key that tells it from other states.

    `replication_factor` is for a topic that has to be created; None is three, or as many as there
    are brokers where they are fewer.
    """

    topic: str = DEFAULT_TOPIC
    key: str = DEFAULT_KEY
    replication_factor: int | None = None

    def __str__(self) -> str:
        """Name it in a sentence."""
        return f'the topic {self.topic} (key "{self.key}")'


class UncertainWriteError(Exception):
    """A write has no certain outcome: another writer came between, or no answer did.

    Whoever claims the records again sees what became of it.
    """


class Records(Protocol):
    """Records by name, which one writer at a time changes.

    A writer claims them and sees all that was ever written; from then on writers from before are
    shut out. So what a writer concludes from what it saw still holds when its write succeeds.

    Every method raises `Unreachable` or `AuthError` where nobody can be asked, and `StateError`
    where a right is missing or the place is not fit to keep a state.
    """

    @property
    def state_topic(self) -> StateTopic:
        """Where they stand."""
        ...

    def peek(self) -> Mapping[str, bytes] | None:
        """Return what is known to be written, without waiting for what is being written just now.

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
            Unsettled: it must be looked up which of the two.

        """
        ...

    def close(self) -> None:
        """Free sockets and threads; the next claim takes new ones."""
        ...
