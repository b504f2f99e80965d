"""Plan, ask for approval, apply, and show the outcomes: what apply and destroy share."""

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
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, PlanningOptions, ReportOptions, StateOptions, duration_s
from kplan.cli.progress import Progress, show_progress
from kplan.cli.report_option import prepare_reports
from kplan.cli.session import Session
from kplan.cli.signals import SignalInterrupt
from kplan.cli.watcher import ApplyWatcher, StreamWatcher
from kplan.model.dataclass import dataclass
from kplan.model.errors import StalePlanError, UsageError
from kplan.report import views
from kplan.report.report import Report
from kplan.report.reports import apply_report, plan_report
from kplan.workflow.apply.apply import apply, resume_apply
from kplan.workflow.apply.execution import ApplyHandlers, ApplyResult
from kplan.workflow.apply.saved_plan import OnStale, apply_saved
from kplan.workflow.plan.plan import PlanResult

if TYPE_CHECKING:
    from kplan.kinds.reassignment import ReassignmentLimits

_CHECKSUM = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}")
ON_STALE_VALUES = ("abort", "skip", "replan")


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What is to be carried out, and how it is approved and told.

    `saved` is a plan file, and `on_stale` what to do when something moved since it was made.
    `is_resume` asks for the rest of an apply that was interrupted, and approved before.
    `expected_checksum` approves just the plan that has it. Without `waits` nobody looks whether
    the brokers serve what was applied. Replicas move at `move_pace`, None is the usual one.
    `deadline` is a span, after which nothing more is sent.
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
        """How long requests may be sent, in seconds; None is as long as always."""
        return duration_s("-deadline", self.deadline) if self.deadline else None

    @property
    def needs_approval(self) -> bool:
        """Whether somebody has to say yes to what is planned now."""
        is_expected = self.expected_checksum is not None
        return not (self.is_resume or self.plan_file or self.auto_approve or is_expected)

    def check(self) -> None:
        """Refuse what contradicts itself. Raises UsageError."""
        narrows = (
            self.is_destroy
            or bool(self.planning.target or self.planning.replace)
            or self.expected_checksum is not None
        )
        if self.is_resume and (self.plan_file or narrows):
            raise UsageError(
                "-resume does what was approved: leave the plan, -destroy, -target, -replace and "
                "-expect-checksum out."
            )
        if self.plan_file and narrows:
            raise UsageError(
                "A saved plan is carried out as it is: leave -destroy, -target, -replace and "
                "-expect-checksum out."
            )
        self._check_values()
        if self.on_stale != ON_STALE_VALUES[0] and not self.plan_file:
            raise UsageError("-on-stale goes with a saved plan; without one kplan plans anew.")
        if (self.output.json or self.output.has_report_on_stdout) and self.needs_approval:
            option = "-json" if self.output.json else "A report on stdout"
            raise UsageError(f"{option} needs a saved plan or -auto-approve: it cannot ask.")

    def _check_values(self) -> None:
        if self.expected_checksum is not None and not _CHECKSUM.fullmatch(self.expected_checksum):
            raise UsageError(
                f"-expect-checksum={self.expected_checksum} is no checksum of a plan.",
                "It stands in the last line of the plan, as 5c2e-91ab-07fe-1d3c.",
            )
        if self.deadline_s is not None and self.deadline_s <= 0:
            raise UsageError("-deadline must be greater than 0.")
        if self.on_stale not in ON_STALE_VALUES:
            known = ", ".join(ON_STALE_VALUES)
            raise UsageError(f"-on-stale={self.on_stale} is none of {known}.")

    def resume_command(self, *, is_resumable: bool) -> str:
        """Write the command that goes on; values of variables may be secret and are left out."""
        verb = ["destroy"] if self.is_destroy else ["apply"]
        return shlex.join(
            [
                "kplan",
                *(["apply", "-resume"] if is_resumable else verb),
                *([f"-state={self.states.state}"] if self.states.state else []),
                *(f"-var-file={each}" for each in self.inputs.var_file),
                *(f"-var={each.partition('=')[0]}=..." for each in self.inputs.var),
            ]
        )


def run_apply(session: Session, wish: ApplyOptions) -> int:
    """Plan, ask and apply under one lock, or apply a saved plan; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    _check_options(session, wish)
    verb = "destroy" if wish.is_destroy else "apply"
    reports = prepare_reports(session, verb, wish.output.report, is_json=wish.output.json)
    with (
        reports.report_errors(),
        _show_resume_hint(session, wish),
        show_progress(session.terminal) as shown,
    ):
        done = _apply_plan(session, wish, shown)
    session.signals.stop_deferring()
    code = _show_result(session, wish, done)
    return reports.write(_build_report(wish, done), code)


@contextmanager
def _show_resume_hint(session: Session, wish: ApplyOptions) -> Iterator[None]:
    """Name the way on when a second signal ends an apply in the middle of a request."""
    try:
        yield
    except SignalInterrupt:
        if session.signals.is_deferred:
            session.terminal.write_stderr(
                "\nStopped at once. What was in flight is looked up, and the rest is done, by:\n"
                f"    {wish.resume_command(is_resumable=True)}"
            )
        raise


def _check_options(session: Session, wish: ApplyOptions) -> None:
    wish.check()
    if wish.needs_approval:
        approval.check_can_approve(session, auto_approve=False, may_ask=wish.inputs.input)


def _apply_plan(session: Session, wish: ApplyOptions, shown: Progress) -> ApplyResult:
    project = wiring.build_project(session, wish.states, wish.inputs)
    options = wiring.build_plan_options(wish.planning, is_destroy=wish.is_destroy)
    in_flight = wish.planning.parallel_requests(session.environ) or MAX_IN_FLIGHT
    pace = replace(
        options.pace,
        in_flight=in_flight,
        waits_for_visibility=wish.waits,
        total_s=wish.deadline_s or options.pace.total_s,
    )
    options = replace(options, pace=pace, move_pace=wish.move_limits or options.move_pace)
    if wish.needs_approval:  # who is asked is asked for the names of what is lost
        options = replace(options, acknowledged=frozenset(options.replaced))
    verb = "destroy" if wish.is_destroy else "apply"
    ports = wiring.build_ports(session, verb, wish.states, shown)
    hands = ApplyHandlers(
        partial(_approve_plan, session, wish, shown), _build_watcher(session, wish, shown)
    )
    if wish.is_resume:
        return resume_apply(project, options, ports, hands)
    if wish.plan_file is not None:
        on_stale = OnStale(wish.on_stale)
        return apply_saved(project, wish.plan_file, options, (ports, hands), on_stale)
    return apply(project, options, ports, hands)


def _approve_plan(session: Session, wish: ApplyOptions, shown: Progress, made: PlanResult) -> bool:
    """Show a plan, and let it be approved by a yes, by an option or by its checksum.

    Raises:
        StalePlan: it is not the plan that was approved, and there is nobody to approve it.

    """
    with shown.pause():
        _show_plan(session, wish, made)
    if wish.expected_checksum not in {None, made.plan.checksum}:
        raise StalePlanError(
            f"The plan has the checksum {made.plan.checksum}, and {wish.expected_checksum} "
            "was expected: something changed since that plan was reviewed.",
            "Review the plan above, and expect its checksum.",
        )
    if wish.expected_checksum is not None or wish.auto_approve:
        return True
    if wish.plan_file and not (wish.inputs.input and session.terminal.can_ask):
        raise StalePlanError(
            "The plan made anew is another one, and there is nobody to approve it.",
            "Review the plan above, and save it; or give -auto-approve.",
        )
    given = wish.planning.acknowledge_data_loss
    lost = [each for each in made.plan.allowed_changes if each.is_recreated]
    names = [str(each.identity) for each in lost if str(each.address) not in given]
    question = approval.DESTROY_QUESTION if wish.is_destroy else approval.APPLY_QUESTION
    return approval.ask_names(session, shown, names) and approval.ask_approval(
        session, shown, question
    )


def _build_watcher(session: Session, wish: ApplyOptions, shown: Progress) -> Watcher:
    if wish.output.json:
        return StreamWatcher(shown, session.signals, session.terminal)
    return ApplyWatcher(shown, session.signals, session.terminal.stderr_style)


def _show_plan(session: Session, wish: ApplyOptions, made: PlanResult) -> None:
    if wish.output.json:
        display.stream_plan(session, made)
    else:
        display.show_plan(session, made, wish.planning, is_told=wish.output.has_report_on_stdout)


def _build_report(wish: ApplyOptions, done: ApplyResult) -> Report:
    """Report what was done, or what was planned where nobody approved it."""
    plan, sources, at = done.planned.plan, done.planned.configuration.sources, timestamp()
    if done.is_approved or not (plan.has_changes or plan.has_errors):
        again = wish.resume_command(is_resumable=done.is_resumable)
        return apply_report(plan, done.outcomes, sources, at, again)
    return plan_report(plan, sources, at)


def _show_result(session: Session, wish: ApplyOptions, done: ApplyResult) -> int:
    made, detailed = done.planned, wish.output.detailed_exitcode
    if done.is_approved:
        if wish.output.json:
            session.terminal.write_stdout(views.summary_line(done.outcomes, timestamp()))
        elif not wish.output.has_report_on_stdout:
            display.show_outcomes(
                session, done, wish.resume_command(is_resumable=done.is_resumable)
            )
        if session.signals.number:
            return exit_code.signal_exit(session.signals.number)
        return exit_code.outcomes_exit(
            made.plan, done.outcomes, detailed=detailed, waited=wish.waits
        )
    if made.plan.is_applyable:
        return ExitCode.ERROR  # somebody looked at it and did not say yes
    _show_plan(session, wish, made)
    if made.plan.has_errors:
        return exit_code.plan_exit(made.plan, detailed=detailed)
    return exit_code.outcomes_exit(made.plan, (), detailed=detailed)
