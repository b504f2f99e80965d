"""Plan, ask for approval, apply, and show the outcomes: shared by apply and destroy."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.apply.limits import MAX_IN_FLIGHT, Watcher
from kplan.cli import approval, display, exit_code, wiring
from kplan.cli.diagnostics import timestamp
from kplan.cli.environment import signature_check
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, PlanningOptions, ReportOptions, StateOptions, duration_s
from kplan.cli.progress import Progress, show_progress
from kplan.cli.query import cluster_options
from kplan.cli.report.option import prepare_reports
from kplan.cli.signals import SignalInterrupt, find_interrupt
from kplan.cli.terminal import Session
from kplan.cli.watcher import ApplyWatcher, StreamWatcher
from kplan.model.dataclass import dataclass
from kplan.model.errors import StalePlanError, UsageError
from kplan.model.outcome import OutcomeStatus
from kplan.report import views
from kplan.report.documents.outcome_total import unplanned_names
from kplan.report.render import Report
from kplan.report.subject import apply_report, plan_report
from kplan.workflow.apply.apply import (
    ApplyHandlers,
    ApplyResult,
    UnrecordedApplyError,
    apply,
)
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import StaleAction, apply_saved
from kplan.workflow.plan.plan import PlanResult
from kplan.workflow.plan.saved import SavedPlanApproval, check_approval

if TYPE_CHECKING:
    from kplan.kinds.reassignment import ReassignmentLimits

_CHECKSUM = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}|[0-9a-f]{64}")
ON_STALE_VALUES = ("abort", "skip", "replan")


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What to apply, how it is approved, and the output.

    `plan_file` is a saved plan, `on_stale` the mode for objects that changed since. `is_resume`
    finishes an interrupted apply, which was approved before. `expected_checksum`
    approves only the plan with this checksum. Without `waits` kplan does not wait for the brokers
    to serve the changes. `move_limits` of None are the defaults. `deadline` is a duration, after
    which no request is sent.
    """

    inputs: InputOptions = field(default_factory=InputOptions)
    states: StateOptions = field(default_factory=StateOptions)
    planning: PlanningOptions = field(default_factory=PlanningOptions)
    output: ReportOptions = field(default_factory=ReportOptions)
    auto_approve: bool = False
    is_destroy: bool = False
    is_resume: bool = False
    plan_file: Path | None = None
    on_stale: str = ON_STALE_VALUES[0]
    expected_checksum: str | None = None
    waits: bool = True
    move_limits: "ReassignmentLimits | None" = None
    deadline: str = ""

    @property
    def deadline_s(self) -> float | None:
        """Return how long requests may be sent, in seconds; None is the default."""
        return duration_s("-deadline", self.deadline) if self.deadline else None

    @property
    def has_rounds(self) -> bool:
        """Whether resources that only an apply makes known are planned and applied after it.

        Not where one plan was chosen or approved, or where one document is about one plan.
        """
        narrows = self.is_destroy or bool(self.planning.target or self.planning.replace)
        is_chosen = self.is_resume or self.plan_file or self.expected_checksum is not None
        return not (narrows or is_chosen or self.output.json or self.output.report)

    @property
    def needs_approval(self) -> bool:
        """Whether a person has to approve the plan."""
        is_expected = self.expected_checksum is not None
        return not (self.is_resume or self.plan_file or self.auto_approve or is_expected)

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        narrows = self.is_destroy or bool(self.planning.target or self.planning.replace)
        is_expected = self.expected_checksum is not None
        if self.is_resume and (self.plan_file or narrows or is_expected):
            raise UsageError(
                "-resume finishes an approved plan and cannot be combined with PLANFILE, "
                "-destroy, -target, -replace or -expect-checksum."
            )
        if self.plan_file and narrows:
            raise UsageError("A saved plan cannot be combined with -destroy, -target or -replace.")
        self._check_values()
        if self.on_stale != ON_STALE_VALUES[0] and not self.plan_file:
            raise UsageError("-on-stale requires a saved plan.")
        if (self.output.json or self.output.has_report_on_stdout) and self.needs_approval:
            option = "-json" if self.output.json else "A report on stdout"
            raise UsageError(
                f"{option} requires a saved plan or -auto-approve because kplan cannot ask."
            )

    def _check_values(self) -> None:
        if self.expected_checksum is not None and not _CHECKSUM.fullmatch(self.expected_checksum):
            raise UsageError(
                f"-expect-checksum={self.expected_checksum} is not the checksum of a plan.",
                "Use the checksum in the last line of the plan, for example 5c2e-91ab-07fe-1d3c.",
            )
        if self.deadline_s is not None and self.deadline_s <= 0:
            raise UsageError("-deadline must be greater than 0.")
        if self.on_stale not in ON_STALE_VALUES:
            known = ", ".join(ON_STALE_VALUES)
            raise UsageError(f"-on-stale={self.on_stale} is not one of {known}.")

    def resume_command(self, *, is_resumable: bool) -> str:
        """Return the command that resumes; values of variables may be secret and are left out."""
        verb = ["destroy"] if self.is_destroy else ["apply"]
        return shlex.join(
            [
                "kplan",
                *(["apply", "-resume"] if is_resumable else verb),
                *cluster_options("", self.inputs, self.states.state),
            ]
        )


def run_apply(session: Session, options: ApplyOptions) -> int:
    """Plan, ask for approval and apply under one lock, or apply a saved plan; return the exit code.

    Raises:
        UsageError: approval is not possible; raised before any work.

    """
    _check_options(session, options)
    code, waiting = _run_round(session, options, None)
    is_stopped = bool(session.signals.number)  # as late as after the last outcome
    while waiting and code == ExitCode.DONE and options.has_rounds and not is_stopped:
        session.terminal.write_stderr(f"\nPlanning what is known now: {', '.join(sorted(waiting))}")
        announced = waiting
        code, waiting = _run_round(session, options, announced)
        is_stopped = bool(session.signals.number) or not waiting < announced
    if waiting:
        session.terminal.write_stderr(
            f"\nNot planned yet: {', '.join(sorted(waiting))}. Run kplan plan again for the rest."
        )
    return code


def _run_round(
    session: Session, options: ApplyOptions, announced: frozenset[str] | None
) -> tuple[int, frozenset[str]]:
    """Plan and apply once; return the exit code, and the resources that can be planned after it.

    Of a later round nobody is asked about what was not `announced`: it is refused.
    """
    verb = "destroy" if options.is_destroy else "apply"
    reports = prepare_reports(session, verb, options.output.report, is_json=options.output.json)
    with (
        reports.report_errors(),
        _show_resume_hint(session, options),
        show_progress(session.terminal) as progress,
    ):
        done = _apply_or_show(session, options, progress, announced)
    session.signals.stop_deferring()
    code = _show_result(session, options, done)
    return reports.write(_build_report(options, done), code), done.deferred_resources


@contextmanager
def _show_resume_hint(session: Session, options: ApplyOptions) -> Iterator[None]:
    """Show the command that resumes when a second signal interrupts a request.

    Before the first request, from which on signals are deferred, show that none was sent.
    """
    try:
        yield
    except (SignalInterrupt, SystemError) as failure:
        if find_interrupt(failure) is None:
            raise
        if not session.signals.was_deferred:
            session.terminal.write_stderr("\nStopped before any change of the plan was sent.")
        elif session.signals.is_deferred:
            session.terminal.write_stderr(
                "\nStopped. To check the requests in flight and finish the plan, run:\n"
                f"    {options.resume_command(is_resumable=True)}"
            )
        raise


def _apply_or_show(
    session: Session,
    options: ApplyOptions,
    progress: Progress,
    announced: frozenset[str] | None,
) -> ApplyResult:
    """Apply; what cannot be recorded is shown before the error that tells why."""
    try:
        return _apply_plan(session, options, progress, announced)
    except UnrecordedApplyError as failure:
        session.signals.stop_deferring()
        with progress.pause():
            _show_result(session, options, failure.done)
        raise


def _check_options(session: Session, options: ApplyOptions) -> None:
    options.check()
    if options.needs_approval:
        approval.check_can_approve(
            session,
            auto_approve=False,
            may_ask=options.inputs.input,
            is_destroy=options.is_destroy,
        )


def _apply_plan(
    session: Session,
    options: ApplyOptions,
    progress: Progress,
    announced: frozenset[str] | None,
) -> ApplyResult:
    project = wiring.build_project(session, options.states, options.inputs)
    plan_options = wiring.build_plan_options(options.planning, is_destroy=options.is_destroy)
    in_flight = options.planning.parallel_requests(session.environ) or MAX_IN_FLIGHT
    pace = replace(
        plan_options.limits,
        in_flight=in_flight,
        waits_for_visibility=options.waits,
        total_s=options.deadline_s or plan_options.limits.total_s,
    )
    plan_options = replace(
        plan_options,
        limits=pace,
        reassignment_limits=options.move_limits or plan_options.reassignment_limits,
    )
    if options.needs_approval:  # the question names the topics that lose their records
        plan_options = replace(plan_options, acknowledged=frozenset(plan_options.replacements))
    verb = "destroy" if options.is_destroy else "apply"
    ports = wiring.build_ports(session, verb, options.states, progress)
    handlers = ApplyHandlers(
        partial(_approve_plan, session, options, progress, announced),
        _build_watcher(session, options, progress),
        partial(_show_saved, session, options, progress),
    )
    if options.is_resume:
        return resume_apply(project, plan_options, ports, handlers)
    if options.plan_file is not None:
        on_stale = StaleAction(options.on_stale)
        wanted = SavedPlanApproval(options.expected_checksum, signature_check(session.environ))
        return apply_saved(
            project, options.plan_file, plan_options, (ports, handlers), on_stale, wanted
        )
    return apply(project, plan_options, ports, handlers)


def _check_announced(result: PlanResult, announced: frozenset[str]) -> None:
    """Raise StalePlanError for a later round that changes more than the resources that waited."""
    others = [
        str(each.address)
        for each in result.plan.allowed_changes
        if each.touches_cluster and str(each.address) not in announced
    ]
    if others:
        raise StalePlanError(
            f"The plan after the first changes also changes {', '.join(others)}.",
            "Something else changed meanwhile. Review it: kplan plan",
        )


def _approve_plan(
    session: Session,
    options: ApplyOptions,
    progress: Progress,
    announced: frozenset[str] | None,
    result: PlanResult,
) -> bool:
    """Show a plan and return whether it is approved: by a yes, an option or its checksum.

    Raises:
        StalePlanError: the plan differs from the approved one, and kplan cannot ask.

    """
    with progress.pause():
        _show_plan(session, options, result)
    if announced is not None:
        _check_announced(result, announced)
    check_approval(result.plan, options.expected_checksum)
    if options.expected_checksum is not None or options.auto_approve:
        return True
    if options.plan_file and not (options.inputs.input and session.terminal.can_ask):
        raise StalePlanError(
            "The new plan differs from the saved one: approval is not possible.",
            "Review and save the new plan, or use -auto-approve.",
        )
    given = options.planning.acknowledge_data_loss
    lost = [each for each in result.plan.allowed_changes if each.is_recreated]
    names = [str(each.identity) for each in lost if str(each.address) not in given]
    question = approval.DESTROY_QUESTION if options.is_destroy else approval.APPLY_QUESTION
    return approval.ask_names(session, progress, names) and approval.ask_approval(
        session, progress, question
    )


def _show_saved(
    session: Session, options: ApplyOptions, progress: Progress, result: PlanResult
) -> None:
    """Show the plan that is about to be applied."""
    with progress.pause():
        _show_plan(session, options, result)


def _build_watcher(session: Session, options: ApplyOptions, progress: Progress) -> Watcher:
    if options.output.json:
        return StreamWatcher(progress, session.signals, session.terminal)
    return ApplyWatcher(progress, session.signals, session.terminal.stderr_style)


def _show_plan(session: Session, options: ApplyOptions, result: PlanResult) -> None:
    if options.output.json:
        display.stream_plan(session, result)
    else:
        display.show_plan(
            session, result, options.planning, is_reported=options.output.has_report_on_stdout
        )


def _build_report(options: ApplyOptions, done: ApplyResult) -> Report:
    """Return a report about the outcomes, or about the plan if it was not approved."""
    plan, sources, at = done.plan_result.plan, done.plan_result.configuration.sources, timestamp()
    if done.is_approved or not (plan.has_changes or plan.has_errors):
        again = options.resume_command(is_resumable=done.is_resumable)
        return apply_report(plan, done.outcomes, sources, at, again)
    return plan_report(plan, sources, at)


_INTERRUPTED_WAIT = (
    "\nInterrupted after the last request: all changes were accepted, and none is left to send.\n"
    "To wait until the brokers serve them, run:\n    kplan wait"
)


def _show_result(session: Session, options: ApplyOptions, done: ApplyResult) -> int:
    made, detailed = done.plan_result, options.output.detailed_exitcode
    if done.is_approved:
        if options.output.json:
            said = views.summary_line(done.outcomes, timestamp(), unplanned_names(made.plan))
            session.terminal.write_stdout(said)
        elif not options.output.has_report_on_stdout:
            display.show_outcomes(
                session, done, options.resume_command(is_resumable=done.is_resumable)
            )
        code = exit_code.outcomes_exit(
            made.plan, done.outcomes, detailed=detailed, waited=options.waits
        )
        if session.signals.number and code is not ExitCode.DONE:
            if all(each.status is OutcomeStatus.APPLIED for each in done.outcomes):
                session.terminal.write_stderr(_INTERRUPTED_WAIT)
            return exit_code.signal_exit(session.signals.number)
        return code  # a signal after the last outcome has stopped nothing
    if made.plan.is_applyable:
        return ExitCode.ERROR  # the plan was not approved
    _show_plan(session, options, made)
    if made.plan.has_errors:
        return exit_code.plan_exit(made.plan, detailed=detailed)
    return exit_code.outcomes_exit(made.plan, (), detailed=detailed)
