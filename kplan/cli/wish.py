"""What is asked of apply and destroy, and what cannot be asked at once."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.cli.options import (
    InputOptions,
    PlanningOptions,
    ResultOptions,
    StateOptions,
    span_s,
)
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.kinds.moving import MovePace

_SUM = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}")
ON_STALE = ("abort", "skip", "replan")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be carried out, and how it is approved and told.

    `saved` is a plan file, and `on_stale` what to do when something moved since it was made.
    `is_resume` asks for the rest of an apply that was interrupted, and approved before.
    `expected_checksum` approves just the plan that has it. Without `waits` nobody looks whether
    the brokers serve what was applied. Replicas move at `move_pace`, None is the usual one.
    `deadline` is a span, after which nothing more is sent.
    """

    inputs: InputOptions = field(default_factory=InputOptions)
    states: StateOptions = field(default_factory=StateOptions)
    planning: PlanningOptions = field(default_factory=PlanningOptions)
    answer: ResultOptions = field(default_factory=ResultOptions)
    auto_approve: bool = False
    is_destroy: bool = False
    is_resume: bool = False
    saved: Path | None = None
    on_stale: str = ON_STALE[0]
    expected_checksum: str | None = None
    waits: bool = True
    move_pace: "MovePace | None" = None
    deadline: str = ""

    @property
    def total_s(self) -> float | None:
        """How long requests may be sent, in seconds; None is as long as always."""
        return span_s("-deadline", self.deadline) if self.deadline else None

    @property
    def needs_approval(self) -> bool:
        """Whether somebody has to say yes to what is planned now."""
        is_expected = self.expected_checksum is not None
        return not (self.is_resume or self.saved or self.auto_approve or is_expected)

    def check(self) -> None:
        """Refuse what contradicts itself. Raises UsageError."""
        narrows = (
            self.is_destroy
            or bool(self.planning.target or self.planning.replace)
            or self.expected_checksum is not None
        )
        if self.is_resume and (self.saved or narrows):
            raise UsageError(
                "-resume does what was approved: leave the plan, -destroy, -target, -replace and "
                "-expect-checksum out."
            )
        if self.saved and narrows:
            raise UsageError(
                "A saved plan is carried out as it is: leave -destroy, -target, -replace and "
                "-expect-checksum out."
            )
        self._check_values()
        if self.on_stale != ON_STALE[0] and not self.saved:
            raise UsageError("-on-stale goes with a saved plan; without one kplan plans anew.")
        if (self.answer.json or self.answer.is_silent) and self.needs_approval:
            option = "-json" if self.answer.json else "A report on stdout"
            raise UsageError(f"{option} needs a saved plan or -auto-approve: it cannot ask.")

    def _check_values(self) -> None:
        if self.expected_checksum is not None and not _SUM.fullmatch(self.expected_checksum):
            raise UsageError(
                f"-expect-checksum={self.expected_checksum} is no checksum of a plan.",
                "It stands in the last line of the plan, as 5c2e-91ab-07fe-1d3c.",
            )
        if self.total_s is not None and self.total_s <= 0:
            raise UsageError("-deadline must be greater than 0.")
        if self.on_stale not in ON_STALE:
            known = ", ".join(ON_STALE)
            raise UsageError(f"-on-stale={self.on_stale} is none of {known}.")

    def again(self, *, is_resumable: bool) -> str:
        """Write the command that goes on; values of variables may be secret and are left out."""
        verb = ["destroy"] if self.is_destroy else ["apply"]
        return shlex.join(
            [
                "kplan",
                *(["apply", "-resume"] if is_resumable else verb),
                *([f"-state={self.states.state}"] if self.states.state else []),
                *(f"-var-file={each}" for each in self.inputs.var_file),
                *(f"-var={each.partition('=')[0]}=..." for each in self.inputs.var),
            ]
        )
