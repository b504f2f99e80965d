"""Reassign partitions: options for the speed, the plan, approval, and outcomes."""

import re
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli import approval, exit_code, wiring
from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.query import QueryOptions
from kplan.cli.terminal import Session
from kplan.cli.watcher import ApplyWatcher
from kplan.config.load import Configuration
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.plan import Plan
from kplan.model.table import Figures
from kplan.report import views
from kplan.workflow.moves.reassign import ReassignRequest, reassign_replicas
from kplan.workflow.moves.status import FAILED


@dataclass(frozen=True, slots=True)
class ReassignmentOptions:
    """What to reassign, and how it is approved; `dry_run` only shows the plan."""

    request: ReassignRequest
    inputs: InputOptions
    states: StateOptions
    auto_approve: bool = False
    dry_run: bool = False


def run_reassignment(session: Session, options: ReassignmentOptions) -> int:
    """Plan, ask for approval and reassign; return the exit code.

    Raises:
        UsageError: approval is not possible; raised before any work.

    """
    if not (options.auto_approve or options.dry_run):
        approval.check_can_approve(session, auto_approve=False, may_ask=options.inputs.input)
    with show_progress(session.terminal) as progress:

        def approve(plan: Plan, configuration: Configuration) -> bool:
            with progress.pause():
                _show_plan(session, plan, configuration)
            if options.dry_run or options.auto_approve:
                return not options.dry_run
            return approval.ask_approval(session, progress, approval.APPLY_QUESTION)

        ports = wiring.build_ports(session, "reassign import", options.states, progress)
        project = wiring.build_project(session, options.states, options.inputs)
        watcher = ApplyWatcher(progress, session.signals, session.terminal.stderr_style)
        done = reassign_replicas(project, options.request, ports, approve, watcher)
    session.signals.stop_deferring()
    if done.is_approved:
        session.terminal.write_stdout(
            views.apply_text(
                done.outcomes,
                session.terminal.stdout_style,
                again=f"kplan reassign import {shlex.quote(str(options.request.file))}",
            )
        )
        return exit_code.outcomes_exit(done.plan, done.outcomes, detailed=False)
    if done.plan.batches and not done.plan.has_errors:
        return ExitCode.DONE if options.dry_run else ExitCode.ERROR
    if done.plan.all_diagnostics:
        _show_plan(session, done.plan, done.configuration)
        return ExitCode.ERROR
    session.terminal.write_stdout("No changes. The replicas match the file.\n")
    return ExitCode.DONE


def _show_plan(session: Session, plan: Plan, configuration: Configuration) -> None:
    session.terminal.write_stdout(views.plan_text(plan, session.terminal.stdout_style))
    show_diagnostics(plan.all_diagnostics, session.terminal, sources=configuration.sources)


def show_tables(session: Session, ask: QueryOptions, figures: Figures) -> int:
    """Show tables; a failed item makes the exit code 1."""
    look = session.terminal.stdout_style
    session.terminal.write_stdout(
        views.figures_json(figures) if ask.json else views.figures_text(figures, look)
    )
    return ExitCode.ERROR if FAILED in figures.findings else ExitCode.DONE


if TYPE_CHECKING:
    from kplan.kinds.reassignment import ReassignmentLimits

_RATE = re.compile(r"([0-9]+)\s*([kmg]?)b?(?:/s)?")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Limits of partition reassignments."""

    throttle: Annotated[
        str,
        typer.Option(
            "--throttle",
            metavar="RATE",
            help="Limit the bytes per second that each broker copies, for example 50M; 0 is no "
            "limit.",
        ),
    ] = "120M"
    move_batch: Annotated[
        int,
        typer.Option(
            "--move-batch", metavar="N", min=1, help="Reassign up to N partitions at a time."
        ),
    ] = 50

    def move_limits(self) -> "ReassignmentLimits":
        """Return the limits. Raises UsageError."""
        from kplan.kinds.reassignment import ReassignmentLimits  # noqa: PLC0415 - help needs it not

        found = _RATE.fullmatch(self.throttle.strip().lower())
        if found is None:
            raise UsageError(
                f"-throttle={self.throttle} is not a rate.",
                hint="Write bytes per second as 50M, 800K or 0.",
            )
        return ReassignmentLimits(int(found[1]) * _UNITS[found[2]], self.move_batch)
