"""The exit codes of every verb."""

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from kplan.model.errors import KplanError

if TYPE_CHECKING:  # help must not wait for what only verbs need
    from kplan.model.errors import Refusal
    from kplan.model.outcome import Outcome
    from kplan.model.plan import Plan


class ExitCode(IntEnum):
    """The codes of every verb. From REFUSED on only with `-detailed-exitcode`, else 1.

    A query exits with PARTIAL if it could not read everything (K117-08).
    """

    DONE = 0
    ERROR = 1
    CHANGES = 2
    REFUSED = 3
    PARTIAL = 4
    UNKNOWN = 5
    STALE = 6
    UNREACHABLE = 7


GUARD_CODES = frozenset(
    {"KP232", "KP235", "KP240", "KP246", "KP247", "KP329"}
    | {"KP441", "KP442", "KP443", "KP451", "KP452"}
)
"""Diagnostic codes of the guards of a plan: what somebody must allow before it is applied."""


def error_exit(error: KplanError, *, detailed: bool) -> ExitCode:
    """Return the exit code of an error."""
    return ExitCode(error.detailed_exit) if detailed else ExitCode.ERROR


def plan_exit(plan: "Plan", *, detailed: bool) -> ExitCode:
    """Return the exit code of a plan; objects that could not be read or planned are an error."""
    from kplan.model.diagnostic import stopping_errors  # noqa: PLC0415 - as above

    if detailed and _has_lost_cluster(plan) and not plan.has_errors:
        return ExitCode.UNREACHABLE
    if plan.has_errors or plan.unread:
        faults = {each.code for each in stopping_errors(plan.diagnostics)}
        is_refused = detailed and bool(faults) and faults <= GUARD_CODES
        return ExitCode.REFUSED if is_refused else ExitCode.ERROR
    if plan.refused_keys:
        return ExitCode.REFUSED if detailed else ExitCode.ERROR
    return ExitCode.CHANGES if detailed and plan.has_changes else ExitCode.DONE


def outcomes_exit(
    plan: "Plan", outcomes: Sequence["Outcome"], *, detailed: bool, waited: bool = False
) -> ExitCode:
    """Return the exit code of an apply; an unknown outcome is worse than a failed one.

    Objects that could not be read count as failed (K4-51), unless only controllers were asked. With
    `waited`, changes that not every broker serves count as unknown (K4-49, design law 10).
    """
    from kplan.model.outcome import OutcomeStatus  # noqa: PLC0415 - as above

    met = {outcome.status for outcome in outcomes}
    if waited and any(
        each.status is OutcomeStatus.APPLIED and not each.is_verified for each in outcomes
    ):
        met.add(OutcomeStatus.UNKNOWN)
    is_unread = bool(plan.unread) and not _is_direct(plan)
    if is_unread or _has_lost_cluster(plan) or plan.refused_keys:
        met.add(OutcomeStatus.FAILED)
    if met <= {OutcomeStatus.APPLIED}:
        return ExitCode.DONE
    if not detailed:
        return ExitCode.ERROR
    if OutcomeStatus.UNKNOWN in met:
        return ExitCode.UNKNOWN
    failed = [each for each in outcomes if each.status is OutcomeStatus.FAILED]
    stopped = {each.change.key for each in failed}
    if not plan.unread and OutcomeStatus.SKIPPED not in met and stopped <= plan.refused_keys:
        return ExitCode.REFUSED  # what could be done was done
    if met & {OutcomeStatus.APPLIED, OutcomeStatus.IN_PROGRESS}:
        return ExitCode.PARTIAL
    is_lost = not outcomes and _has_lost_cluster(plan)
    refusals = [each.refusal for each in failed if each.refusal is not None]
    return ExitCode.UNREACHABLE if is_lost else refusals_exit(refusals)


def _has_lost_cluster(plan: "Plan") -> bool:
    from kplan.model.diagnostic import connection_errors  # noqa: PLC0415 - as above

    return bool(connection_errors(plan.diagnostics))


def _is_direct(plan: "Plan") -> bool:
    """Whether controllers were asked, which cannot show every kind: that is no failure of it."""
    return any(each.code == "KP245" for each in plan.diagnostics)


def refusals_exit(refusals: Sequence["Refusal"]) -> ExitCode:
    """Return STALE for changed objects, REFUSED for policy violations, else ERROR."""
    from kplan.cluster.errors import Handling, handling  # noqa: PLC0415 - as above

    if refusals and all(handling(each) is Handling.STALE for each in refusals):
        return ExitCode.STALE
    if refusals and all(each.error == "POLICY_VIOLATION" for each in refusals):
        return ExitCode.REFUSED
    return ExitCode.ERROR


def signal_exit(number: int) -> int:
    """Return the code shells expect after a signal: 129 SIGHUP, 130 SIGINT, 143 SIGTERM."""
    return 128 + number
