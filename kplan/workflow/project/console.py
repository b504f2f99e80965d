"""Use case: expressions against a configuration, one at a time, for people and for programs."""

import json

from kplan.config.console import CONSOLE_FILE, Console
from kplan.config.diagnostic import error
from kplan.kinds import KINDS
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.report import views
from kplan.workflow.ports import Project


def open_console(project: Project) -> Console:
    """Read the configuration of a folder with its diagnostics."""
    return Console(project.folder, project.inputs, KINDS)


def answer_line(console: Console, request: str, docs_url: str = "") -> str:
    r"""Answer one line of the protocol for programs, `{"expr": "1 + 1"}`, with another.

    It is `{"ok":true,"type":"number","value":2}` or `{"ok":false,"diagnostics":[...]}`.
    `docs_url` is where the manual is.
    """
    expression = _parse_request(request)
    if isinstance(expression, Diagnostic):
        return views.expression_error_line([expression], {CONSOLE_FILE: request}, docs_url)
    answer = console.evaluate_text(expression)
    if answer.is_value:
        return answer.json
    return views.expression_error_line(
        answer.diagnostics, {**console.sources, CONSOLE_FILE: expression}, docs_url
    )


_REQUEST_HINT = 'Write one object a line: {"expr": "1 + 1"}'


def _parse_request(request: str) -> str | Diagnostic:
    whole = SourceRange(CONSOLE_FILE, 1, 1, 1, max(len(request), 1) + 1)
    try:
        found = json.loads(request)
    except json.JSONDecodeError as fault:
        place = SourceRange(CONSOLE_FILE, 1, fault.colno, 1, fault.colno + 1)
        return error(
            "KP119", place, f"The line is not valid JSON: {fault.msg}.", hint=_REQUEST_HINT
        )
    except (ValueError, RecursionError):
        return error("KP119", whole, "The line holds a number or nesting without measure.")
    if isinstance(found, dict) and isinstance(found.get("expr"), str):
        return str(found["expr"])
    return error(
        "KP119", whole, 'The line is not an object with a string "expr".', hint=_REQUEST_HINT
    )
