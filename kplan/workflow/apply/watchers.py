"""Watchers of an apply: what writes its checkpoints, and what remembers its outcomes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from kplan.apply.limits import Clock, Watcher
from kplan.apply.progress import state_after
from kplan.model.dataclass import dataclass
from kplan.model.errors import InProgress, StateError
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Batch, Change, ObjectKey, Plan
from kplan.model.state import OutputValue, State
from kplan.workflow.plan.plan import PlanResult

CHECKPOINT_INTERVAL_S = 30.0


class CheckpointWatcher:
    """A watcher that has the state of so far written, for all who read states and not journals.

    Nothing rests on it: the journal holds every outcome before. So a write that fails is passed
    over, and the one at the end tells why. `serial` is the last one that was used.
    """

    def __init__(self, result: PlanResult, clock: Clock, write: Callable[[State], None]) -> None:
        self.serial = result.state.serial
        self._plan_result = result
        self._clock = clock
        self._write = write
        self._outcomes: list[Outcome] = []
        self._written_at = clock.now()

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Hear it."""

    def on_visibility(self, visibility: Visibility) -> None:
        """Hear it."""

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Hear it."""

    def on_reassignment(self, progress: InProgress) -> None:
        """Hear it."""

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Take the outcomes in, and write the state when the last time was long ago."""
        self._outcomes += outcomes
        if self._clock.now() - self._written_at < CHECKPOINT_INTERVAL_S:
            return
        state = self.next_state(self._outcomes, dict(self._plan_result.state.outputs))
        with suppress(StateError, OSError):
            self._write(state)
        self._written_at = self._clock.now()

    def next_state(self, outcomes: Sequence[Outcome], outputs: dict[str, OutputValue]) -> State:
        """Return the state after these outcomes, with a serial that no write has used."""
        self.serial += 1
        state = state_after(self._plan_result.state, self._plan_result.plan, outcomes, outputs)
        return replace(state, serial=self.serial)


@dataclass(frozen=True, slots=True)
class TeeWatcher:
    """Tells the first watcher before the second: the journal, then the terminal."""

    first: Watcher
    second: Watcher

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Notify both that changes are about to be sent."""
        self.first.on_send(batch, changes)
        self.second.on_send(batch, changes)

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Notify both the outcome of changes."""
        self.first.on_outcomes(outcomes)
        self.second.on_outcomes(outcomes)

    def on_visibility(self, visibility: Visibility) -> None:
        """Notify both of the brokers that do not serve the applied changes yet."""
        self.first.on_visibility(visibility)
        self.second.on_visibility(visibility)

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Notify both which changes every broker serves."""
        self.first.on_verified(outcomes)
        self.second.on_verified(outcomes)

    def on_reassignment(self, progress: InProgress) -> None:
        """Notify both how many partitions are to move still."""
        self.first.on_reassignment(progress)
        self.second.on_reassignment(progress)


class SentWatcher:
    """A watcher that remembers what was sent, and the outcomes of it."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._sent: set[ObjectKey] = set()
        self._outcomes: dict[ObjectKey, Outcome] = {}

    @property
    def has_sent(self) -> bool:
        """Whether a request was sent."""
        return bool(self._sent)

    def outcomes(self, plan: Plan) -> tuple[Outcome, ...]:
        """Return what is known: what was sent and has no outcome is unknown, the rest skipped."""
        return tuple(
            self._outcomes.get(each.key) or Outcome(each, self._status(each))
            for each in plan.allowed_changes
            if each.touches_cluster
        )

    def _status(self, change: Change) -> OutcomeStatus:
        return OutcomeStatus.UNKNOWN if change.key in self._sent else OutcomeStatus.SKIPPED

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Remember what is sent: the journal has it already."""
        self._sent.update(each.key for each in changes)
        self._watcher.on_send(batch, changes)

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Remember outcomes."""
        self._outcomes.update((each.change.key, each) for each in outcomes)
        self._watcher.on_outcomes(outcomes)

    def on_visibility(self, visibility: Visibility) -> None:
        """Notify of the brokers that do not serve the applied changes yet."""
        self._watcher.on_visibility(visibility)

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Remember what every broker serves."""
        self._outcomes.update((each.change.key, each) for each in outcomes)
        self._watcher.on_verified(outcomes)

    def on_reassignment(self, progress: InProgress) -> None:
        """Notify how many partitions are to move still."""
        self._watcher.on_reassignment(progress)
