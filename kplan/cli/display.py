"""Show plans, outcomes, states and drift: results on stdout, diagnostics on stderr."""

import shlex
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.cli.diagnostics import show_diagnostics, timestamp
from kplan.cli.environment import docs_url, signature_check
from kplan.cli.options import PlanningOptions
from kplan.cli.terminal import Session
from kplan.model.ci_job import is_ci
from kplan.model.diagnostic import Diagnostic
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Plan
from kplan.model.state import State
from kplan.report import views
from kplan.report.documents.outcome_total import unplanned_names
from kplan.state.ssh_signature import sign_command
from kplan.workflow.apply.kept_state import lost_state_warning
from kplan.workflow.plan import plan
from kplan.workflow.plan.plan import PlanResult
from kplan.workflow.ports import Ports, Project
from kplan.workflow.state.output import outputs_text

if TYPE_CHECKING:
    from kplan.workflow.apply.apply import ApplyResult


def show_plan(
    session: Session, result: PlanResult, planning: PlanningOptions, *, is_reported: bool = False
) -> None:
    """Show a plan as text and its diagnostics; `is_reported` leaves out the text."""
    if not is_reported:
        session.terminal.write_stdout(plan_text(session, result.plan, group=planning.group))
    found = result.plan.all_diagnostics
    if planning.compact_warnings:
        session.terminal.write_stderr(
            _warning_summaries(each for each in found if not each.is_error)
        )
        found = tuple(each for each in found if each.is_error)
    show_diagnostics(found, session.terminal, sources=result.configuration.sources)


def plan_text(session: Session, plan: Plan, *, group: bool | None) -> str:
    """Render a plan; in automation every ACL is a resource of its own, for tools to find."""
    if group is None:
        group = not session.terminal.is_automation and not is_ci(session.environ)
    return views.plan_text(plan, session.terminal.stdout_style, is_grouped=group)


def stream_plan(session: Session, result: PlanResult, *, whole: bool = False) -> None:
    """Write a plan and its diagnostics as one message a line; `whole` adds the plan itself."""
    at = timestamp()
    session.terminal.write_stdout(views.version_line(at) + views.plan_stream(result.plan, at))
    if whole:
        session.terminal.write_stdout(
            views.plan_message_line(result.plan, at, docs_url(session.environ))
        )
    show_diagnostics(
        result.plan.all_diagnostics,
        session.terminal,
        is_stream=True,
        sources=result.configuration.sources,
    )


def show_save_hint(session: Session, result: PlanResult) -> None:
    """Write a note that the plan is not saved, unless there is nothing to apply."""
    if result.plan.is_applyable and not session.terminal.is_automation:
        session.terminal.write_stderr(
            "\nNote: The plan is not saved. To apply exactly this plan, add -out=FILE to the same "
            "command."
        )


def warn_of_lost_state(
    session: Session, project: Project, ports: Ports, *, is_stream: bool
) -> None:
    """Warn that apply would refuse the plan in CI, before it is saved."""
    lost = lost_state_warning(project, ports)
    show_diagnostics([lost] if lost else [], session.terminal, is_stream=is_stream)


def save_plan(
    session: Session, result: PlanResult, path: Path, ports: Ports, ttl: timedelta
) -> None:
    """Save a plan that can be applied for `ttl`, and show the command."""
    shown, signature = views.plan_json(result.plan).encode(), signature_check(session.environ)
    plan.save_plan(result, path, ports.now(), show=shown, ttl=ttl, signature=signature)
    if not session.terminal.is_automation:
        if signature.signers:
            session.terminal.write_stderr(f"\nTo sign the plan, run:\n    {sign_command(path)}")
        session.terminal.write_stderr(
            f"\nSaved the plan to: {path}\n\nTo perform exactly these actions, run:\n    kplan "
            f"apply {shlex.quote(str(path))}"
        )


def show_outcomes(session: Session, done: "ApplyResult", again: str) -> None:
    """Show outcomes and, of a complete apply, the outputs; `again` is the command to resume."""
    terminal = session.terminal
    terminal.write_stderr("\n")
    made = done.plan_result.plan
    terminal.write_stdout(
        views.apply_text(
            done.outcomes,
            terminal.stdout_style,
            again=again,
            imported=made.import_count,
            unplanned=unplanned_names(made),
        )
    )
    if all(each.status is OutcomeStatus.APPLIED for each in done.outcomes):
        terminal.write_stdout(_outputs_text(done.state))


def state_text(session: Session, state: State) -> str:
    """Render the owned objects and the outputs."""
    owned = views.state_show_text(tuple(state.owned.values()), session.terminal.stdout_style)
    return owned + _outputs_text(state)


def _outputs_text(state: State) -> str:
    if not state.outputs:
        return ""
    return f"\nOutputs:\n\n{outputs_text(state.outputs)}"


def _warning_summaries(warnings: Iterable[Diagnostic]) -> str:
    lines = sorted(f"- {each.summary} [{each.code}]" for each in warnings)
    counted = [f"{line} ({lines.count(line)})" for line in sorted(set(lines))]
    return "\n".join(["Warnings:", *counted]) if counted else ""
