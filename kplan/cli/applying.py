"""What apply and destroy have in common: ask, carry out, tell what became of it."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kplan.apply.pace import Watcher
from kplan.cli import approval, exits, showing, wiring
from kplan.cli.exits import Exit
from kplan.cli.options import AnswerOptions, InputOptions, PlanningOptions, StateOptions
from kplan.cli.problems import timestamp
from kplan.cli.progress import Progress, progress
from kplan.cli.session import Session
from kplan.cli.signals import Stopped
from kplan.cli.watching import ApplyWatcher, StreamWatcher
from kplan.model.errors import UsageError
from kplan.report import views
from kplan.workflow import apply as workflow
from kplan.workflow.apply import Applied, Hands
from kplan.workflow.plan import Planned


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be carried out, and how it is approved and told. `saved` is a plan file.

    `is_resume` asks for the rest of an apply that was interrupted, and approved before.
    """

    inputs: InputOptions = field(default_factory=InputOptions)
    states: StateOptions = field(default_factory=StateOptions)
    planning: PlanningOptions = field(default_factory=PlanningOptions)
    answer: AnswerOptions = field(default_factory=AnswerOptions)
    auto_approve: bool = False
    is_destroy: bool = False
    is_resume: bool = False
    saved: Path | None = None


def carried_out(session: Session, wish: Wish) -> int:
    """Plan, ask and apply under one lock, or apply a saved plan; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    _check(session, wish)
    with _saying_how_to_go_on(session, wish), progress(session.terminal) as shown:
        done = _applied(session, wish, shown)
    session.signals.obey()
    return _told(session, wish, done)


@contextmanager
def _saying_how_to_go_on(session: Session, wish: Wish) -> Iterator[None]:
    """Name the way on when a second signal ends an apply in the middle of a request."""
    try:
        yield
    except Stopped:
        if session.signals.is_deferred:
            session.terminal.talk(
                "\nStopped at once. What was in flight is looked up, and the rest is done, by:\n"
                f"    {_again(wish, is_resumable=True)}"
            )
        raise


def _again(wish: Wish, *, is_resumable: bool) -> str:
    """Write the command that goes on; values of variables may be secret and are left out."""
    verb = ["destroy"] if wish.is_destroy else ["apply"]
    return shlex.join(
        [
            "kplan",
            *(["apply", "-resume"] if is_resumable else verb),
            *([f"-state={wish.states.state}"] if wish.states.state else []),
            *(f"-var-file={each}" for each in wish.inputs.var_file),
            *(f"-var={each.partition('=')[0]}=..." for each in wish.inputs.var),
        ]
    )


def _check(session: Session, wish: Wish) -> None:
    if wish.is_resume:
        if wish.saved or wish.is_destroy or wish.planning.target:
            raise UsageError(
                "-resume does what was approved: leave the plan, -destroy and -target out."
            )
        return
    if wish.saved is not None:
        if wish.is_destroy or wish.planning.target:
            raise UsageError(
                "A saved plan is carried out as it is: leave -destroy and -target out."
            )
        return
    if wish.answer.json and not wish.auto_approve:
        raise UsageError("-json needs a saved plan or -auto-approve: it cannot ask.")
    approval.check_can_approve(session, auto_approve=wish.auto_approve, may_ask=wish.inputs.input)


def _applied(session: Session, wish: Wish, shown: Progress) -> Applied:
    def approve(made: Planned) -> bool:
        with shown.hidden():
            _show(session, wish, made)
        question = approval.DESTROY if wish.is_destroy else approval.APPLY
        return wish.auto_approve or approval.asked(session, shown, question)

    project = wiring.project(session, wish.states, wish.inputs)
    options = wiring.plan_options(wish.planning, is_destroy=wish.is_destroy)
    verb = "destroy" if wish.is_destroy else "apply"
    ports = wiring.ports(session, verb, wish.states, shown)
    hands = Hands(approve, _watcher(session, wish, shown))
    if wish.is_resume:
        return workflow.resume(project, options, ports, hands)
    if wish.saved is not None:
        return workflow.apply_saved(project, wish.saved, options, ports, hands)
    return workflow.apply(project, options, ports, hands)


def _watcher(session: Session, wish: Wish, shown: Progress) -> Watcher:
    if wish.answer.json:
        return StreamWatcher(shown, session.signals, session.terminal)
    return ApplyWatcher(shown, session.signals, session.terminal.talk_look)


def _show(session: Session, wish: Wish, made: Planned) -> None:
    if wish.answer.json:
        showing.stream_plan(session, made)
    else:
        showing.show_plan(session, made, wish.planning)


def _told(session: Session, wish: Wish, done: Applied) -> int:
    made, detailed = done.planned, wish.answer.detailed_exitcode
    if done.is_approved:
        if wish.answer.json:
            session.terminal.data(views.summary_line(done.outcomes, timestamp()))
        else:
            showing.show_outcomes(session, done, _again(wish, is_resumable=done.is_resumable))
        if session.signals.number:
            return exits.of_signal(session.signals.number)
        return exits.of_outcomes(made.plan, done.outcomes, detailed=detailed)
    if made.plan.is_applyable:
        return Exit.ERROR  # somebody looked at it and did not say yes
    _show(session, wish, made)
    if made.plan.has_errors:
        return Exit.ERROR
    return exits.of_outcomes(made.plan, (), detailed=detailed)
