"""Moving replicas as a file says: show, ask, move, tell; and elections that were asked for."""

from dataclasses import dataclass

from kplan.cli import approval, exits, wiring
from kplan.cli.asking import AskOptions
from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.problems import tell
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.watching import ApplyWatcher
from kplan.config.load import Configuration
from kplan.model.plan import Plan
from kplan.model.tables import Figures
from kplan.report import views
from kplan.workflow.move_figures import FAILED
from kplan.workflow.reassigning import Wanted, reassign


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be moved, and how that is approved; with `dry_run` only shown."""

    wanted: Wanted
    inputs: InputOptions
    states: StateOptions
    auto_approve: bool = False
    dry_run: bool = False


def moved(session: Session, wish: Wish) -> int:
    """Plan, ask and move; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    if not (wish.auto_approve or wish.dry_run):
        approval.check_can_approve(session, auto_approve=False, may_ask=wish.inputs.input)
    with progress(session.terminal) as on_screen:

        def approve(plan: Plan, configuration: Configuration) -> bool:
            with on_screen.hidden():
                _show(session, plan, configuration)
            if wish.dry_run or wish.auto_approve:
                return not wish.dry_run
            return approval.asked(session, on_screen, approval.APPLY)

        ports = wiring.ports(session, "reassign import", wish.states, on_screen)
        project = wiring.project(session, wish.states, wish.inputs)
        watcher = ApplyWatcher(on_screen, session.signals, session.terminal.talk_look)
        done = reassign(project, wish.wanted, ports, approve, watcher)
    session.signals.obey()
    if done.is_approved:
        session.terminal.data(views.apply_text(done.outcomes, session.terminal.data_look))
        return exits.of_outcomes(done.plan, done.outcomes, detailed=False)
    if done.plan.batches and not done.plan.has_errors:
        return Exit.DONE if wish.dry_run else Exit.ERROR
    if done.plan.problems:
        _show(session, done.plan, done.configuration)
        return Exit.ERROR
    session.terminal.data("Replicas stand there already.\n")
    return Exit.DONE


def _show(session: Session, plan: Plan, configuration: Configuration) -> None:
    session.terminal.data(views.plan_text(plan, session.terminal.data_look))
    tell(plan.problems, session.terminal, sources=configuration.sources)


def shown(session: Session, ask: AskOptions, found: Figures) -> int:
    """Show tables; something that was not done makes the exit code 1."""
    look = session.terminal.data_look
    session.terminal.data(
        views.figures_json(found) if ask.json else views.figures_text(found, look)
    )
    return Exit.ERROR if FAILED in found.findings else Exit.DONE
