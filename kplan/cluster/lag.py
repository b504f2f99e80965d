"""Brokers that learn of acknowledged writes late."""

from collections.abc import Collection
from dataclasses import dataclass, field

from kplan.cluster.contents import Contents


@dataclass(slots=True)
class _View:
    """What one broker serves; `pending` holds contents with the number of the read they show at."""

    shown: Contents
    reads: int = 0
    pending: list[tuple[int, Contents]] = field(default_factory=list)

    def read(self) -> Contents:
        due = [contents for at, contents in self.pending if at <= self.reads]
        self.pending = [each for each in self.pending if each[0] > self.reads]
        self.reads += 1
        self.shown = due[-1] if due else self.shown
        return self.shown


class Lag:
    """For each lagging broker the contents it serves. A write shows after `reads` further reads."""

    def __init__(self, reads: int, brokers: Collection[int], contents: Contents) -> None:
        self._late_by = reads
        self._views = {broker: _View(contents) for broker in brokers}

    def written(self, contents: Contents) -> None:
        """Take note of an acknowledged write."""
        for view in self._views.values():
            view.pending.append((view.reads + self._late_by, contents))

    def seen_by(self, broker: int, contents: Contents) -> Contents:
        """Give what the broker serves now; a broker without lag serves `contents`."""
        view = self._views.get(broker)
        return view.read() if view else contents
