"""`kplan wait`: wait until every broker serves the applied changes."""

import json
from typing import Annotated

import typer

from kplan.apply.limits import Limits
from kplan.cli import wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, OutputOptions, StateOptions, duration_s
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.cli.watcher import ApplyWatcher
from kplan.model.errors import UsageError
from kplan.report.documents.notation import count_text
from kplan.workflow.apply.wait import WaitResult, wait_until_served


@verb(
    ("kplan wait", "Wait after kplan apply -no-wait or a timed-out wait."),
    ("kplan wait -timeout=10m", "Wait longer than the default of two minutes."),
)
def wait(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
    *,
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout", metavar="SPAN", help="Wait up to this long, for example 30s or 5m."
        ),
    ] = "2m",
) -> int:
    """Wait until every broker serves the applied changes.

    The state marks applied objects that some brokers do not serve yet; kplan removes the mark when
    all brokers do. Exits with 1 (5 with -detailed-exitcode) if some are still pending.
    """
    return wait_for_visibility(session, inputs, states, answer, timeout)


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
        found = wait_until_served(
            project, Limits(visible_s=seconds, stall_s=seconds), ports, watcher
        )
    session.terminal.write_stdout(_json(found) if answer.json else _text(found))
    if not found.pending:
        return ExitCode.DONE
    return ExitCode.UNKNOWN if answer.detailed_exitcode else ExitCode.ERROR


def _text(wait_result: WaitResult) -> str:
    if not (wait_result.served or wait_result.pending):
        return "No pending changes. Every broker serves the applied changes."
    lines = [
        f"Pending: {each.address} is not served by every broker." for each in wait_result.pending
    ]
    both = count_text(len(wait_result.served) + len(wait_result.pending), "object")
    return "\n".join([*lines, f"Every broker serves {len(wait_result.served):,} of {both}."])


def _json(wait_result: WaitResult) -> str:
    return json.dumps(
        {
            "served": [str(each.address) for each in wait_result.served],
            "pending": [str(each.address) for each in wait_result.pending],
        },
        indent=2,
    )
