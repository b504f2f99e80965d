"""Keyed records in memory that several writers share, with faults on request."""

from collections.abc import Callable, Mapping
from dataclasses import field

from kplan.cluster.records import StateTopic, UncertainWriteError
from kplan.model.dataclass import dataclass


@dataclass(slots=True)
class RecordLog:
    """The records themselves. `writer` counts claims: only the last one may write."""

    records: dict[str, bytes] | None = None
    last_writer: int = 0
    writes: list[Mapping[str, bytes | None]] = field(default_factory=list)


class MemoryRecords:
    """One writer's access to records in memory; `kept.writes` holds every write in order."""

    def __init__(self, kept: RecordLog | None = None, shelf: StateTopic | None = None) -> None:
        self.log = kept or RecordLog()
        self.state_topic = shelf or StateTopic()
        self.is_closed = False
        self._writer = 0
        self._lost: list[bool] = []
        self._meanwhile: list[Callable[[], object]] = []

    def connect(self) -> "MemoryRecords":
        """Return another writer access to the same records."""
        return MemoryRecords(self.log, self.state_topic)

    def lose_next_response(self, *, is_written: bool) -> None:
        """Let the next write end without an answer, carried out or not."""
        self._lost.append(is_written)

    def run_before_write(self, action: Callable[[], object]) -> None:
        """Let something happen right before the next write."""
        self._meanwhile.append(action)

    def peek(self) -> Mapping[str, bytes] | None:
        """Return what is written."""
        return None if self.log.records is None else dict(self.log.records)

    def read(self) -> Mapping[str, bytes] | None:
        """Return what is written."""
        return self.peek()

    def claim(self) -> Mapping[str, bytes]:
        """Become the only writer."""
        self.log.records = self.log.records or {}
        self.log.last_writer += 1
        self._writer = self.log.last_writer
        self.is_closed = False
        return dict(self.log.records)

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put and remove records; raises Unsettled."""
        while self._meanwhile:
            self._meanwhile.pop(0)()
        if self._writer != self.log.last_writer or self.log.records is None:
            raise UncertainWriteError("another writer came between")
        is_lost = bool(self._lost)
        if not is_lost or self._lost.pop(0):
            self.log.writes.append(dict(changes))
            merged = {**self.log.records, **changes}
            self.log.records = {name: each for name, each in merged.items() if each is not None}
        if is_lost:
            self._writer = 0
            raise UncertainWriteError("no answer came")

    def close(self) -> None:
        """Note that nothing is held any more."""
        self.is_closed = True
        self._writer = 0
