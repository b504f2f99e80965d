"""Two watchers of one apply."""

from collections.abc import Sequence

from kplan.apply.limits import Watcher
from kplan.model.dataclass import dataclass
from kplan.model.outcome import Outcome
from kplan.model.plan import Batch, Change


@dataclass(frozen=True, slots=True)
class Both:
    """Tells the first watcher before the second: the journal, then the terminal."""

    first: Watcher
    second: Watcher

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Tell both that changes are about to be sent."""
        self.first.on_send(batch, changes)
        self.second.on_send(batch, changes)

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Tell both what became of changes."""
        self.first.on_outcomes(outcomes)
        self.second.on_outcomes(outcomes)

    def on_visibility(self, waiting: int, total: int) -> None:
        """Tell both how many changes are not visible yet."""
        self.first.on_visibility(waiting, total)
        self.second.on_visibility(waiting, total)

    def on_reassignment(self, left: int, total: int) -> None:
        """Tell both how many partitions are to move still."""
        self.first.on_reassignment(left, total)
        self.second.on_reassignment(left, total)
