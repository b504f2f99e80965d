"""Wait until every broker serves the applied changes, and show pending ones."""

import json

from kplan.apply.limits import Limits
from kplan.cli import wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, OutputOptions, StateOptions, duration_s
from kplan.cli.progress import show_progress
from kplan.cli.session import Session
from kplan.cli.watcher import ApplyWatcher
from kplan.model.errors import UsageError
from kplan.report.documents.notation import count_text
from kplan.workflow.apply.wait import WaitResult, wait_until_served


def wait_for_visibility(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
    timeout: str,
) -> int:
    """Wait, show the served and pending objects, and return the exit code. Raises UsageError."""
    seconds = duration_s("-timeout", timeout)
    if seconds <= 0:
        raise UsageError("-timeout must be greater than 0.")
    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "wait", states, progress, seconds)
        watcher = ApplyWatcher(progress, session.signals, session.terminal.stderr_style)
        found = wait_until_served(project, Limits(visible_s=seconds), ports, watcher)
    session.terminal.write_stdout(_json(found) if answer.json else _text(found))
    if not found.pending:
        return ExitCode.DONE
    return ExitCode.UNKNOWN if answer.detailed_exitcode else ExitCode.ERROR


def _text(found: WaitResult) -> str:
    if not (found.served or found.pending):
        return "No pending changes. Every broker serves the applied changes."
    lines = [f"Pending: {each.address} is not served by every broker." for each in found.pending]
    both = count_text(len(found.served) + len(found.pending), "object")
    return "\n".join([*lines, f"Every broker serves {len(found.served):,} of {both}."])


def _json(found: WaitResult) -> str:
    return json.dumps(
        {
            "served": [str(each.address) for each in found.served],
            "pending": [str(each.address) for each in found.pending],
        },
        indent=2,
    )
