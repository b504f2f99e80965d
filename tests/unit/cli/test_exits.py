"""The table of exit codes."""

from dataclasses import replace

import pytest

from kplan.cli import exits
from kplan.cli.exits import Exit
from kplan.cluster.errors import refusal
from kplan.model import errors
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Action, BasedOn, Change, Plan
from kplan.model.resource import Identity

CHANGE = Change(
    Address("kafka_topic", "a"), "kafka_topic", Identity("a"), Action.CREATE, None, object()
)


def plan(*changes: Change, diagnostics: tuple[Diagnostic, ...] = ()) -> Plan:
    return Plan(BasedOn("", "", 0, ""), changes, (), diagnostics=diagnostics)


@pytest.mark.parametrize(
    ("error", "detailed"),
    [
        (errors.KplanError(), Exit.ERROR),
        (errors.PolicyDenied(), Exit.REFUSED),
        (errors.StateLocked(), Exit.STALE),
        (errors.StalePlan(), Exit.STALE),
        (errors.WrongCluster(), Exit.STALE),
        (errors.Unreachable(), Exit.UNREACHABLE),
        (errors.AuthError(), Exit.UNREACHABLE),
        (errors.StateCorrupt(), Exit.ERROR),
    ],
)
def test_the_reason_of_a_failure_is_told_only_on_request(
    error: errors.KplanError, detailed: Exit
) -> None:
    assert exits.of_error(error, detailed=True) is detailed
    assert exits.of_error(error, detailed=False) is Exit.ERROR


def test_changes_are_two_only_on_request() -> None:
    assert exits.of_plan(plan(CHANGE), detailed=True) is Exit.CHANGES
    assert exits.of_plan(plan(CHANGE), detailed=False) is Exit.DONE
    assert exits.of_plan(plan(), detailed=True) is Exit.DONE


def test_a_plan_with_errors_is_an_error_whatever_it_would_change() -> None:
    problem = Diagnostic("KP201", Severity.ERROR, "Something")
    assert exits.of_plan(plan(CHANGE, diagnostics=(problem,)), detailed=True) is Exit.ERROR


@pytest.mark.parametrize(
    ("met", "code"),
    [
        ([], Exit.DONE),
        ([Status.APPLIED], Exit.DONE),
        ([Status.APPLIED, Status.FAILED], Exit.PARTLY),
        ([Status.APPLIED, Status.SKIPPED], Exit.PARTLY),
        ([Status.FAILED], Exit.ERROR),
        ([Status.SKIPPED], Exit.ERROR),
        ([Status.APPLIED, Status.FAILED, Status.UNKNOWN], Exit.UNKNOWN),
    ],
)
def test_the_worst_outcome_decides(met: list[Status], code: Exit) -> None:
    outcomes = [Outcome(CHANGE, status) for status in met]
    short = Exit.DONE if code == 0 else Exit.ERROR
    assert exits.of_outcomes(plan(), outcomes, detailed=True) is code
    assert exits.of_outcomes(plan(), outcomes, detailed=False) is short


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((44,), Exit.REFUSED),
        ((44, 44), Exit.REFUSED),
        ((44, 40), Exit.ERROR),
        ((100,), Exit.STALE),
        ((100, -187), Exit.STALE),
        ((100, 44), Exit.ERROR),
        ((29,), Exit.ERROR),
    ],
)
def test_where_nothing_was_done_for_one_reason_the_reason_is_told(
    codes: tuple[int, ...], code: Exit
) -> None:
    """Requirements, section 6: a policy is 3, a topic that was created again is 6."""
    refused = [Outcome(CHANGE, Status.FAILED, refusal(each)) for each in codes]
    assert exits.of_outcomes(plan(), refused, detailed=True) is code
    assert exits.of_outcomes(plan(), refused, detailed=False) is Exit.ERROR
    done = Outcome(CHANGE, Status.APPLIED)
    assert exits.of_outcomes(plan(), [done, *refused], detailed=True) is Exit.PARTLY


def test_what_was_waited_for_in_vain_is_no_success() -> None:
    """K4-49, S17: exit 0 means that every broker serves the new state."""
    seen = Outcome(CHANGE, Status.APPLIED, is_verified=True)
    late = Outcome(CHANGE, Status.APPLIED)
    assert exits.of_outcomes(plan(), [seen], detailed=True, waited=True) is Exit.DONE
    assert exits.of_outcomes(plan(), [seen, late], detailed=True, waited=True) is Exit.UNKNOWN
    assert exits.of_outcomes(plan(), [seen, late], detailed=False, waited=True) is Exit.ERROR
    assert exits.of_outcomes(plan(), [seen, late], detailed=True, waited=False) is Exit.DONE


def test_what_could_not_be_read_is_never_a_success() -> None:
    """K4-41, K4-51: nothing was planned from it, so nothing was done for it."""
    blind = replace(plan(CHANGE), unread={"kafka_acl": "no authorizer"})
    done = [Outcome(CHANGE, Status.APPLIED)]
    assert exits.of_plan(blind, detailed=True) is Exit.ERROR
    assert exits.of_outcomes(blind, done, detailed=True) is Exit.PARTLY
    assert exits.of_outcomes(blind, (), detailed=True) is Exit.ERROR
    assert exits.of_outcomes(blind, done, detailed=False) is Exit.ERROR


def test_signals_end_the_process_as_shells_expect() -> None:
    assert [exits.of_signal(number) for number in (1, 2, 15)] == [129, 130, 143]
