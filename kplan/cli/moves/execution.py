"""Reassign partitions: options for the speed, the plan, approval, and outcomes."""

import re
import shlex
from dataclasses import field
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli import approval, exit_code, wiring
from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import (
    AutoApprove,
    InputOptions,
    PlanningOptions,
    Provider,
    StateOptions,
)
from kplan.cli.progress import show_progress
from kplan.cli.query import QueryOptions, cluster_options
from kplan.cli.terminal import Session
from kplan.cli.trust_option import AllowPython, Overrides, Policies
from kplan.cli.watcher import ApplyWatcher
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.table import Figures
from kplan.report import views
from kplan.workflow.moves.brokers import ReassignmentSource
from kplan.workflow.moves.reassign import ReassignRequest, ReassignResult, reassign_replicas
from kplan.workflow.moves.status import FAILED

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


@dataclass(frozen=True, slots=True)
class ReassignOptions(MoveOptions):
    """The approval, the cluster and the policies of reassignments."""

    auto_approve: AutoApprove = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False
    provider: Provider = ""
    policy: Policies = field(default_factory=list)
    allow_python: AllowPython = False
    override: Overrides = field(default_factory=list)


def run_reassignment(
    session: Session,
    what: ReassignOptions,
    where: tuple[InputOptions, StateOptions],
    source: ReassignmentSource,
    *,
    again: str,
    nothing: str,
) -> int:
    """Plan, ask for approval and reassign; return the exit code.

    `again` is the command that resumes it, without the options for the cluster; `nothing` is what
    to say where nothing moves.

    Raises:
        UsageError: approval is not possible; raised before any work.

    """
    if not (what.auto_approve or what.dry_run):
        approval.check_can_approve(
            session, auto_approve=False, may_ask=where[0].input, takes_plan=False
        )
    done = _reassign(session, what, where, source, " ".join(again.split()[1:3]))
    again = " ".join(
        [again, *map(shlex.quote, cluster_options(what.provider, where[0], where[1].state))]
    )
    session.signals.stop_deferring()
    if done.is_approved:
        _show_outcomes(session, done, again)
        return exit_code.outcomes_exit(done.plan, done.outcomes, detailed=False)
    if done.plan.batches and not done.plan.has_errors:
        return ExitCode.DONE if what.dry_run else ExitCode.ERROR
    if done.plan.all_diagnostics:
        _show_plan(session, done)
        return ExitCode.ERROR
    _show_figures(session, done.figures)
    session.terminal.write_stdout(f"{nothing}\n")
    return ExitCode.DONE


def _reassign(
    session: Session,
    what: ReassignOptions,
    where: tuple[InputOptions, StateOptions],
    source: ReassignmentSource,
    command: str,
) -> ReassignResult:
    """Show the plan and, unless it is a dry run, carry it out once it is approved."""
    inputs, states = where
    planning = PlanningOptions(
        policy=what.policy, override=what.override, allow_python=what.allow_python
    )
    policies = wiring.build_plan_options(planning, is_destroy=False).policies
    request = ReassignRequest(source, what.provider, what.dry_run, policies, what.move_limits())
    with show_progress(session.terminal) as progress:

        def approve(proposal: ReassignResult) -> bool:
            with progress.pause():
                _show_plan(session, proposal)
            if what.dry_run or what.auto_approve:
                return not what.dry_run
            return approval.ask_approval(session, progress, approval.APPLY_QUESTION)

        ports = wiring.build_ports(session, command, states, progress)
        project = wiring.build_project(session, states, inputs)
        watcher = ApplyWatcher(progress, session.signals, session.terminal.stderr_style)
        return reassign_replicas(project, request, ports, approve, watcher)


def _show_outcomes(session: Session, done: ReassignResult, again: str) -> None:
    session.terminal.write_stdout(
        views.apply_text(done.outcomes, session.terminal.stdout_style, again=again)
    )
    moved, total = done.moved
    if moved < total:
        session.terminal.write_stdout(f"Partitions moved: {moved:,} of {total:,}.\n")


def _show_figures(session: Session, figures: Figures | None) -> None:
    if figures is not None:
        session.terminal.write_stdout(
            views.figures_text(figures, session.terminal.stdout_style) + "\n"
        )


def _show_plan(session: Session, proposal: ReassignResult) -> None:
    _show_figures(session, proposal.figures)
    session.terminal.write_stdout(views.plan_text(proposal.plan, session.terminal.stdout_style))
    show_diagnostics(
        proposal.plan.all_diagnostics,
        session.terminal,
        sources=proposal.configuration.sources,
    )


def show_tables(session: Session, ask: QueryOptions, figures: Figures) -> int:
    """Show tables; a failed item makes the exit code 1."""
    look = session.terminal.stdout_style
    session.terminal.write_stdout(
        views.figures_json(figures) if ask.json else views.figures_text(figures, look)
    )
    return ExitCode.ERROR if FAILED in figures.findings else ExitCode.DONE
