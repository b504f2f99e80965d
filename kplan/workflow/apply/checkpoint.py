"""Writing the state down now and then during a long apply."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from kplan.apply.limits import Clock
from kplan.apply.state import state_after
from kplan.model.errors import StateError
from kplan.model.outcome import Outcome
from kplan.model.plan import Batch, Change
from kplan.model.state import OutputValue, State
from kplan.workflow.plan.plan import PlanResult

EVERY_S = 30.0


class Checkpoints:
    """A watcher that has the state of so far written, for all who read states and not journals.

    Nothing rests on it: the journal holds every outcome before. So a write that fails is passed
    over, and the one at the end tells why. `serial` is the last one that was used.
    """

    def __init__(self, made: PlanResult, clock: Clock, write: Callable[[State], None]) -> None:
        self.serial = made.state.serial
        self._made = made
        self._clock = clock
        self._write = write
        self._outcomes: list[Outcome] = []
        self._written_at = clock.now()

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Hear it."""

    def on_visibility(self, waiting: int, total: int) -> None:
        """Hear it."""

    def on_reassignment(self, left: int, total: int) -> None:
        """Hear it."""

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Take the outcomes in, and write the state when the last time was long ago."""
        self._outcomes += outcomes
        if self._clock.now() - self._written_at < EVERY_S:
            return
        state = self.after(self._outcomes, dict(self._made.state.outputs))
        with suppress(StateError, OSError):
            self._write(state)
        self._written_at = self._clock.now()

    def after(self, outcomes: Sequence[Outcome], outputs: dict[str, OutputValue]) -> State:
        """Return the state after these outcomes, with a serial that no write has used."""
        self.serial += 1
        state = state_after(self._made.state, self._made.plan, outcomes, outputs)
        return replace(state, serial=self.serial)
