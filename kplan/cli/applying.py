"""What apply and destroy have in common: ask, carry out, tell what became of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from kplan.apply.pace import IN_FLIGHT, Watcher
from kplan.cli import approval, exits, showing, wiring
from kplan.cli.exits import Exit
from kplan.cli.problems import timestamp
from kplan.cli.progress import Progress, progress
from kplan.cli.reporting import reporting
from kplan.cli.session import Session
from kplan.cli.signals import Stopped
from kplan.cli.watching import ApplyWatcher, StreamWatcher
from kplan.cli.wish import Wish
from kplan.model.errors import StalePlan
from kplan.report import views
from kplan.report.report import Report
from kplan.report.reports import apply_report, plan_report
from kplan.workflow.apply import apply, resume
from kplan.workflow.apply_saved import OnStale, apply_saved
from kplan.workflow.execution import Applied, Hands
from kplan.workflow.plan import Planned


def carried_out(session: Session, wish: Wish) -> int:
    """Plan, ask and apply under one lock, or apply a saved plan; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    _check(session, wish)
    verb = "destroy" if wish.is_destroy else "apply"
    reports = reporting(session, verb, wish.answer.report, is_json=wish.answer.json)
    with (
        reports.of_failures(),
        _saying_how_to_go_on(session, wish),
        progress(session.terminal) as shown,
    ):
        done = _applied(session, wish, shown)
    session.signals.obey()
    code = _told(session, wish, done)
    return reports.write(_report(wish, done), code)


@contextmanager
def _saying_how_to_go_on(session: Session, wish: Wish) -> Iterator[None]:
    """Name the way on when a second signal ends an apply in the middle of a request."""
    try:
        yield
    except Stopped:
        if session.signals.is_deferred:
            session.terminal.talk(
                "\nStopped at once. What was in flight is looked up, and the rest is done, by:\n"
                f"    {wish.again(is_resumable=True)}"
            )
        raise


def _check(session: Session, wish: Wish) -> None:
    wish.check()
    if wish.needs_approval:
        approval.check_can_approve(session, auto_approve=False, may_ask=wish.inputs.input)


def _applied(session: Session, wish: Wish, shown: Progress) -> Applied:
    project = wiring.project(session, wish.states, wish.inputs)
    options = wiring.plan_options(wish.planning, is_destroy=wish.is_destroy)
    in_flight = wish.planning.in_flight(session.environ) or IN_FLIGHT
    pace = replace(
        options.pace,
        in_flight=in_flight,
        waits_for_visibility=wish.waits,
        total_s=wish.total_s or options.pace.total_s,
    )
    options = replace(options, pace=pace, move_pace=wish.move_pace or options.move_pace)
    if wish.needs_approval:  # who is asked is asked for the names of what is lost
        options = replace(options, acknowledged=frozenset(options.replaced))
    verb = "destroy" if wish.is_destroy else "apply"
    ports = wiring.ports(session, verb, wish.states, shown)
    hands = Hands(partial(_approved, session, wish, shown), _watcher(session, wish, shown))
    if wish.is_resume:
        return resume(project, options, ports, hands)
    if wish.saved is not None:
        on_stale = OnStale(wish.on_stale)
        return apply_saved(project, wish.saved, options, (ports, hands), on_stale)
    return apply(project, options, ports, hands)


def _approved(session: Session, wish: Wish, shown: Progress, made: Planned) -> bool:
    """Show a plan, and let it be approved by a yes, by an option or by its checksum.

    Raises:
        StalePlan: it is not the plan that was approved, and there is nobody to approve it.

    """
    with shown.hidden():
        _show(session, wish, made)
    if wish.expected_checksum not in {None, made.plan.checksum}:
        raise StalePlan(
            f"The plan has the checksum {made.plan.checksum}, and {wish.expected_checksum} "
            "was expected: something changed since that plan was reviewed.",
            "Review the plan above, and expect its checksum.",
        )
    if wish.expected_checksum is not None or wish.auto_approve:
        return True
    if wish.saved and not (wish.inputs.input and session.terminal.can_ask):
        raise StalePlan(
            "The plan made anew is another one, and there is nobody to approve it.",
            "Review the plan above, and save it; or give -auto-approve.",
        )
    given = wish.planning.acknowledge_data_loss
    lost = [each for each in made.plan.granted if each.is_recreated]
    names = [str(each.identity) for each in lost if str(each.address) not in given]
    question = approval.DESTROY if wish.is_destroy else approval.APPLY
    return approval.named(session, shown, names) and approval.asked(session, shown, question)


def _watcher(session: Session, wish: Wish, shown: Progress) -> Watcher:
    if wish.answer.json:
        return StreamWatcher(shown, session.signals, session.terminal)
    return ApplyWatcher(shown, session.signals, session.terminal.talk_look)


def _show(session: Session, wish: Wish, made: Planned) -> None:
    if wish.answer.json:
        showing.stream_plan(session, made)
    else:
        showing.show_plan(session, made, wish.planning, is_told=wish.answer.is_silent)


def _report(wish: Wish, done: Applied) -> Report:
    """Report what was done, or what was planned where nobody approved it."""
    plan, sources, at = done.planned.plan, done.planned.configuration.sources, timestamp()
    if done.is_approved or not (plan.has_changes or plan.has_errors):
        again = wish.again(is_resumable=done.is_resumable)
        return apply_report(plan, done.outcomes, sources, at, again)
    return plan_report(plan, sources, at)


def _told(session: Session, wish: Wish, done: Applied) -> int:
    made, detailed = done.planned, wish.answer.detailed_exitcode
    if done.is_approved:
        if wish.answer.json:
            session.terminal.data(views.summary_line(done.outcomes, timestamp()))
        elif not wish.answer.is_silent:
            showing.show_outcomes(session, done, wish.again(is_resumable=done.is_resumable))
        if session.signals.number:
            return exits.of_signal(session.signals.number)
        return exits.of_outcomes(made.plan, done.outcomes, detailed=detailed, waited=wish.waits)
    if made.plan.is_applyable:
        return Exit.ERROR  # somebody looked at it and did not say yes
    _show(session, wish, made)
    if made.plan.has_errors:
        return exits.of_plan(made.plan, detailed=detailed)
    return exits.of_outcomes(made.plan, (), detailed=detailed)
