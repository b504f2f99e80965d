"""Results of items, and how a client asks its cluster."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from threading import Lock
from typing import Generic, TypeVar

from kplan.cluster.errors import CLIENT_NOT_SENT, Handling, client_refusal, handling
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, RefusedError, UsageError

__all__ = ["Connector", "Result"]

_T = TypeVar("_T")
_K = TypeVar("_K")

Connector = Callable[[float | None], Cluster]
"""Opens a connection whose requests take at most so many seconds; None is the configured time."""


@dataclass(frozen=True, slots=True)
class Result(Generic[_T]):
    """The value of one item of a request, or the error it was answered with (KIP-117's `Try`).

    Attributes:
        value: What was asked for; None for a write, and where there is an error.
        error: Kafka's error, or one of the client; None where the item succeeded.

    """

    value: _T | None = None
    error: Refusal | None = None

    @property
    def is_success(self) -> bool:
        """Whether there is no error."""
        return self.error is None

    @property
    def is_uncertain(self) -> bool:
        """Whether the item may have been carried out although there is an error.

        No answer came: only reading the cluster shows what is so.
        """
        return self.error is not None and handling(self.error) is Handling.IN_DOUBT

    def get(self) -> _T:
        """Return the value.

        Raises:
            RefusedError: The item has an error.

        """
        if self.error is not None:
            raise RefusedError(self.error)
        return self.value  # type: ignore[return-value] # None is the value of a write


def read_results(found: Mapping[_K, _T | Refusal]) -> dict[_K, Result[_T]]:
    """Return answers of a read as results."""
    return {name: read_result(each) for name, each in found.items()}


def read_result(found: _T | Refusal) -> Result[_T]:
    """Return one answer as a result."""
    return Result(error=found) if isinstance(found, Refusal) else Result(found)


def write_results(asked: Iterable[_K], found: Mapping[_K, ItemResult]) -> dict[_K, Result[None]]:
    """Return answers of a write as results; an item without an answer is uncertain."""
    silent = client_refusal(CLIENT_NOT_SENT, "The response has no answer for this item.")
    return {name: Result(error=found.get(name, silent)) for name in asked}


def check_unique(names: Collection[_K]) -> None:
    """Refuse a request that has an item twice. Raises UsageError."""
    seen: set[_K] = set()
    twice = [str(each) for each in names if each in seen or seen.add(each)]  # type: ignore[func-returns-value]
    if twice:
        raise UsageError(f"The request has more than one item for {', '.join(sorted(twice))}.")


class Connections:
    """The connections of a client: one for each time that requests may take, opened when needed."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._clusters: dict[float | None, Cluster] = {}
        self._is_closed = False
        self._lock = Lock()

    def within(self, timeout: timedelta | None) -> Cluster:
        """Return the connection for requests that take at most so long.

        Raises:
            UsageError: the time is not positive, or the client is closed.

        """
        seconds = None if timeout is None else timeout.total_seconds()
        if seconds is not None and seconds <= 0:
            raise UsageError("timeout must be greater than 0: Kafka does not know how not to wait.")
        with self._lock:
            if self._is_closed:
                raise UsageError("The admin client is closed.")
            if seconds not in self._clusters:
                self._clusters[seconds] = self._connector(seconds)
            return self._clusters[seconds]

    def close(self) -> None:
        """Free all sockets and threads."""
        with self._lock:
            self._is_closed = True
            for each in self._clusters.values():
                each.close()
            self._clusters.clear()
