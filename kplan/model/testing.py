"""What became of the tests of a configuration."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from kplan.model.diagnostic import Diagnostic
from kplan.model.plan import Plan
from kplan.model.state import Owned


class Grade(StrEnum):
    """FAIL: an assertion does not hold. ERROR: the run came to no end, so the rest is SKIPped."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of one run. `path` is its file as shown; `reason` says why it was skipped.

    `plan` is what it planned, if it came so far, and `owned` what it owned after an apply.
    """

    path: str
    name: str
    grade: Grade
    diagnostics: tuple[Diagnostic, ...] = ()
    elapsed_s: float = 0.0
    reason: str = ""
    plan: Plan | None = None
    owned: tuple[Owned, ...] = ()
    is_apply: bool = False


def worst(results: Iterable[RunResult]) -> Grade:
    """Sum the runs up: an error counts more than a failure, and both more than a pass."""
    grades = {each.grade for each in results}
    return next((each for each in (Grade.ERROR, Grade.FAIL) if each in grades), Grade.PASS)
