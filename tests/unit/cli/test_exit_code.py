"""The table of exit codes."""

from dataclasses import replace

import pytest

from kplan.cli import exit_code
from kplan.cli.exit_code import ExitCode
from kplan.cluster.errors import refusal
from kplan.model import errors
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan, PlanBasis, Reason
from kplan.model.resource import Identity

CHANGE = Change(
    Address("kafka_topic", "a"), "kafka_topic", Identity("a"), Action.CREATE, None, object()
)


def plan(*changes: Change, diagnostics: tuple[Diagnostic, ...] = ()) -> Plan:
    return Plan(PlanBasis("", "", 0, ""), changes, (), diagnostics=diagnostics)


@pytest.mark.parametrize(
    ("error", "detailed"),
    [
        (errors.KplanError(), ExitCode.ERROR),
        (errors.PolicyDeniedError(), ExitCode.REFUSED),
        (errors.StateLockedError(), ExitCode.STALE),
        (errors.StalePlanError(), ExitCode.STALE),
        (errors.WrongClusterError(), ExitCode.STALE),
        (errors.UnreachableError(), ExitCode.UNREACHABLE),
        (errors.AuthError(), ExitCode.UNREACHABLE),
        (errors.StateCorruptError(), ExitCode.ERROR),
    ],
)
def test_the_reason_of_a_failure_is_told_only_on_request(
    error: errors.KplanError, detailed: ExitCode
) -> None:
    assert exit_code.error_exit(error, detailed=True) is detailed
    assert exit_code.error_exit(error, detailed=False) is ExitCode.ERROR


def test_changes_are_two_only_on_request() -> None:
    assert exit_code.plan_exit(plan(CHANGE), detailed=True) is ExitCode.CHANGES
    moved = replace(CHANGE, action=Action.NO_OP, reason=Reason.MOVED)
    assert exit_code.plan_exit(plan(moved), detailed=True) is ExitCode.CHANGES
    assert exit_code.plan_exit(plan(CHANGE), detailed=False) is ExitCode.DONE
    assert exit_code.plan_exit(plan(), detailed=True) is ExitCode.DONE


def test_a_plan_with_errors_is_an_error_whatever_it_would_change() -> None:
    problem = Diagnostic("KP201", Severity.ERROR, "Something")
    assert (
        exit_code.plan_exit(plan(CHANGE, diagnostics=(problem,)), detailed=True) is ExitCode.ERROR
    )


@pytest.mark.parametrize(
    ("met", "code"),
    [
        ([], ExitCode.DONE),
        ([OutcomeStatus.APPLIED], ExitCode.DONE),
        ([OutcomeStatus.APPLIED, OutcomeStatus.FAILED], ExitCode.PARTIAL),
        ([OutcomeStatus.APPLIED, OutcomeStatus.SKIPPED], ExitCode.PARTIAL),
        ([OutcomeStatus.FAILED], ExitCode.ERROR),
        ([OutcomeStatus.SKIPPED], ExitCode.ERROR),
        ([OutcomeStatus.APPLIED, OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN], ExitCode.UNKNOWN),
    ],
)
def test_the_worst_outcome_decides(met: list[OutcomeStatus], code: ExitCode) -> None:
    outcomes = [Outcome(CHANGE, status) for status in met]
    short = ExitCode.DONE if code == 0 else ExitCode.ERROR
    assert exit_code.outcomes_exit(plan(), outcomes, detailed=True) is code
    assert exit_code.outcomes_exit(plan(), outcomes, detailed=False) is short


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((44,), ExitCode.REFUSED),
        ((44, 44), ExitCode.REFUSED),
        ((44, 40), ExitCode.ERROR),
        ((100,), ExitCode.STALE),
        ((100, -187), ExitCode.STALE),
        ((100, 44), ExitCode.ERROR),
        ((29,), ExitCode.ERROR),
    ],
)
def test_where_nothing_was_done_for_one_reason_the_reason_is_told(
    codes: tuple[int, ...], code: ExitCode
) -> None:
    """Requirements, section 6: a policy is 3, a topic that was created again is 6."""
    refused = [Outcome(CHANGE, OutcomeStatus.FAILED, refusal(each)) for each in codes]
    assert exit_code.outcomes_exit(plan(), refused, detailed=True) is code
    assert exit_code.outcomes_exit(plan(), refused, detailed=False) is ExitCode.ERROR
    done = Outcome(CHANGE, OutcomeStatus.APPLIED)
    assert exit_code.outcomes_exit(plan(), [done, *refused], detailed=True) is ExitCode.PARTIAL


def test_what_was_waited_for_in_vain_is_no_success() -> None:
    """K4-49, S17: exit 0 means that every broker serves the new state."""
    seen = Outcome(CHANGE, OutcomeStatus.APPLIED, is_verified=True)
    late = Outcome(CHANGE, OutcomeStatus.APPLIED)
    assert exit_code.outcomes_exit(plan(), [seen], detailed=True, waited=True) is ExitCode.DONE
    assert (
        exit_code.outcomes_exit(plan(), [seen, late], detailed=True, waited=True)
        is ExitCode.UNKNOWN
    )
    assert (
        exit_code.outcomes_exit(plan(), [seen, late], detailed=False, waited=True) is ExitCode.ERROR
    )
    assert (
        exit_code.outcomes_exit(plan(), [seen, late], detailed=True, waited=False) is ExitCode.DONE
    )


def test_what_could_not_be_read_is_never_a_success() -> None:
    """K4-41, K4-51: nothing was planned from it, so nothing was done for it."""
    blind = replace(plan(CHANGE), unread={"kafka_acl": "no authorizer"})
    done = [Outcome(CHANGE, OutcomeStatus.APPLIED)]
    assert exit_code.plan_exit(blind, detailed=True) is ExitCode.ERROR
    assert exit_code.outcomes_exit(blind, done, detailed=True) is ExitCode.PARTIAL
    assert exit_code.outcomes_exit(blind, (), detailed=True) is ExitCode.ERROR
    assert exit_code.outcomes_exit(blind, done, detailed=False) is ExitCode.ERROR


def test_signals_end_the_process_as_shells_expect() -> None:
    assert [exit_code.signal_exit(number) for number in (1, 2, 15)] == [129, 130, 143]


@pytest.mark.parametrize("code", sorted(exit_code.GUARD_CODES))
def test_a_plan_that_only_a_guard_stops_is_refused_and_another_error_beside_it_wins(
    code: str,
) -> None:
    guard = Diagnostic(code, Severity.ERROR, "Not allowed")
    other = Diagnostic("KP201", Severity.ERROR, "Something")
    assert exit_code.plan_exit(plan(CHANGE, diagnostics=(guard,)), detailed=True) == 3
    assert exit_code.plan_exit(plan(CHANGE, diagnostics=(guard, other)), detailed=True) == 1


def test_kinds_that_controllers_cannot_show_are_no_failure_of_a_direct_apply() -> None:
    done = [Outcome(CHANGE, OutcomeStatus.APPLIED, is_verified=True)]
    unread = replace(plan(CHANGE), unread={"kafka_quota": "controllers do not return quotas"})
    assert exit_code.outcomes_exit(unread, done, detailed=True) is ExitCode.PARTIAL
    told = Diagnostic("KP245", Severity.WARNING, "Brokers are bypassed")
    direct = replace(unread, diagnostics=(told,))
    assert exit_code.outcomes_exit(direct, done, detailed=True) is ExitCode.DONE


def test_data_loss_and_controller_access_that_no_one_allowed_are_guards() -> None:
    assert {"KP246", "KP247"} <= exit_code.GUARD_CODES
