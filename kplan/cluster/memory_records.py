"""Records in memory that several writers share, with the faults of a real cluster on request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kplan.cluster.records import Shelf, Unsettled


@dataclass(slots=True)
class Kept:
    """The records themselves. `writer` counts claims: only the last one may write."""

    records: dict[str, bytes] | None = None
    writer: int = 0
    writes: list[Mapping[str, bytes | None]] = field(default_factory=list)


class MemoryRecords:
    """One writer's access to records in memory; `kept.writes` holds every write in order."""

    def __init__(self, kept: Kept | None = None, shelf: Shelf | None = None) -> None:
        self.kept = kept or Kept()
        self.shelf = shelf or Shelf()
        self.is_closed = False
        self._writer = 0
        self._lost: list[bool] = []
        self._meanwhile: list[Callable[[], object]] = []

    def another(self) -> "MemoryRecords":
        """Give another writer access to the same records."""
        return MemoryRecords(self.kept, self.shelf)

    def lose_answer(self, *, is_written: bool) -> None:
        """Let the next write end without an answer, carried out or not."""
        self._lost.append(is_written)

    def meanwhile(self, action: Callable[[], object]) -> None:
        """Let something happen right before the next write."""
        self._meanwhile.append(action)

    def glance(self) -> Mapping[str, bytes] | None:
        """Give what is written."""
        return None if self.kept.records is None else dict(self.kept.records)

    def read(self) -> Mapping[str, bytes] | None:
        """Give what is written."""
        return self.glance()

    def claim(self) -> Mapping[str, bytes]:
        """Become the only writer."""
        self.kept.records = self.kept.records or {}
        self.kept.writer += 1
        self._writer = self.kept.writer
        self.is_closed = False
        return dict(self.kept.records)

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put and remove records; raises Unsettled."""
        while self._meanwhile:
            self._meanwhile.pop(0)()
        if self._writer != self.kept.writer or self.kept.records is None:
            raise Unsettled("another writer came between")
        is_lost = bool(self._lost)
        if not is_lost or self._lost.pop(0):
            self.kept.writes.append(dict(changes))
            merged = {**self.kept.records, **changes}
            self.kept.records = {name: each for name, each in merged.items() if each is not None}
        if is_lost:
            self._writer = 0
            raise Unsettled("no answer came")

    def close(self) -> None:
        """Note that nothing is held any more."""
        self.is_closed = True
        self._writer = 0
