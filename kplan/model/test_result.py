"""Results of the runs of `kplan test`."""

from collections.abc import Iterable
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.plan import Plan
from kplan.model.state import OwnedObject


class RunStatus(StrEnum):
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
    status: RunStatus
    diagnostics: tuple[Diagnostic, ...] = ()
    elapsed_s: float = 0.0
    reason: str = ""
    plan: Plan | None = None
    owned: tuple[OwnedObject, ...] = ()
    is_apply: bool = False


def overall_status(results: Iterable[RunResult]) -> RunStatus:
    """Sum the runs up: an error counts more than a failure, and both more than a pass."""
    grades = {each.status for each in results}
    return next(
        (each for each in (RunStatus.ERROR, RunStatus.FAIL) if each in grades), RunStatus.PASS
    )
