"""Waiting on the command line for what was applied to be served everywhere."""

import json

from kplan.apply.pace import Pace
from kplan.cli import wiring
from kplan.cli.exits import Exit
from kplan.cli.options import AnswerOptions, InputOptions, StateOptions, span_s
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.watching import ApplyWatcher
from kplan.model.errors import UsageError
from kplan.report.documents.units import counted
from kplan.workflow.waiting import Waited, wait


def waited(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    answer: AnswerOptions,
    timeout: str,
) -> int:
    """Wait, say what is served and what is not, and give the exit code. Raises UsageError."""
    seconds = span_s("-timeout", timeout)
    if seconds <= 0:
        raise UsageError("-timeout must be greater than 0.")
    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        ports = wiring.ports(session, "wait", states, shown, seconds)
        watcher = ApplyWatcher(shown, session.signals, session.terminal.talk_look)
        found = wait(project, Pace(visible_s=seconds), ports, watcher)
    session.terminal.data(_json(found) if answer.json else _text(found))
    if not found.pending:
        return Exit.DONE
    return Exit.UNKNOWN if answer.detailed_exitcode else Exit.ERROR


def _text(found: Waited) -> str:
    if not (found.served or found.pending):
        return "Nothing is waited for: every broker serves what was applied."
    lines = [f"Not served by every broker yet: {each.address}" for each in found.pending]
    both = counted(len(found.served) + len(found.pending), "object")
    return "\n".join([*lines, f"Every broker serves {len(found.served):,} of {both}."])


def _json(found: Waited) -> str:
    return json.dumps(
        {
            "served": [str(each.address) for each in found.served],
            "pending": [str(each.address) for each in found.pending],
        },
        indent=2,
    )
