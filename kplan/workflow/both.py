"""Two watchers of one apply."""

from collections.abc import Sequence
from dataclasses import dataclass

from kplan.apply.pace import Watcher
from kplan.model.outcome import Outcome
from kplan.model.plan import Batch, Change


@dataclass(frozen=True, slots=True)
class Both:
    """Tells the first watcher before the second: the journal, then the terminal."""

    first: Watcher
    second: Watcher

    def sending(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Tell both that changes are about to be sent."""
        self.first.sending(batch, changes)
        self.second.sending(batch, changes)

    def finished(self, outcomes: Sequence[Outcome]) -> None:
        """Tell both what became of changes."""
        self.first.finished(outcomes)
        self.second.finished(outcomes)

    def settling(self, waiting: int, total: int) -> None:
        """Tell both how many changes are not visible yet."""
        self.first.settling(waiting, total)
        self.second.settling(waiting, total)

    def moving(self, left: int, total: int) -> None:
        """Tell both how many partitions are to move still."""
        self.first.moving(left, total)
        self.second.moving(left, total)
