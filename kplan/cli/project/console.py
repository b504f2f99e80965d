"""`kplan console`: read expressions from a prompt or a pipe, and print their values."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from io import TextIOWrapper

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.environment import docs_url
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.terminal import Session, Terminal
from kplan.cli.verb import verb
from kplan.config.console import CONSOLE_FILE, Console
from kplan.workflow.project.console import answer_line


@verb(
    ("kplan console", "Evaluate expressions at a prompt."),
    ("kplan console -var-file=prod.tfvars", "Use the variables of another environment."),
    ("kplan console -json", 'For programs: read {"expr": "1 + 1"}, write the value.'),
)
def console(session: Session, inputs: InputOptions, *, json_: Json = False) -> int:
    """Evaluate expressions of the configuration.

    Without a terminal each line of stdin is one expression, and the exit code is 1 if one of them
    fails. With -json each line is an object, the answer is {"ok": true, "type": ..., "value": ...}
    or {"ok": false, "diagnostics": [...]}, and the exit code is 0. No network is used.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.project.console import open_console  # noqa: PLC0415

    terminal = session.terminal
    opened = open_console(wiring.build_project(session, StateOptions(), inputs))
    show_diagnostics(opened.diagnostics, terminal, sources=opened.sources)
    if json_:
        serve_json(terminal, opened)
        return ExitCode.DONE
    return ExitCode.DONE if run_prompt(terminal, opened) else ExitCode.ERROR


PROMPT = "> "
CONTINUATION_PROMPT = ": "
"""The prompt of a line that continues an expression."""

HELP = """Type an expression and press Enter to see its value. Expressions can refer to the
variables, locals, modules and resources of the configuration: var.NAME, local.NAME,
kafka_topic.NAME.partitions. type(...) shows the type of a value. An expression with an
open bracket continues on the next line. To leave the console, type exit or press Ctrl-D."""


def serve_json(terminal: Terminal, console: Console) -> None:
    """Answer every line of JSON with a line of JSON."""
    for line in _read_lines(terminal):
        if line.strip():
            terminal.write_stdout(answer_line(console, line, docs_url(terminal.environ)))


def run_prompt(terminal: Terminal, console: Console) -> bool:
    """Answer every expression; return whether all of a pipe have a value."""
    if terminal.stdin.isatty() and terminal.stdout.isatty():
        _evaluate_all(terminal, console, _read_expressions(terminal, console.is_incomplete))
        return True
    return _evaluate_all(terminal, console, _read_lines(terminal))


def _evaluate_all(terminal: Terminal, console: Console, texts: Iterator[str]) -> bool:
    is_sound = True
    for text in texts:
        match text.strip():
            case "":
                continue
            case "exit":
                break
            case "help":
                terminal.write_stdout(HELP)
            case _:
                answer = console.evaluate_text(text)
                show_diagnostics(
                    answer.diagnostics, terminal, sources={**console.sources, CONSOLE_FILE: text}
                )
                terminal.write_stdout(answer.text if answer.is_value else "")
                is_sound &= answer.is_value
    return is_sound


def _read_lines(terminal: Terminal) -> Iterator[str]:
    """Give the lines of a pipe; bytes that are no UTF-8 become U+FFFD."""
    _set_encoding(terminal)
    for line in terminal.stdin:
        yield line.rstrip("\n")


def _read_expressions(terminal: Terminal, is_unfinished: Callable[[str], bool]) -> Iterator[str]:
    """Read expressions until the input ends; an unfinished one continues until an empty line."""
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - gives `input` its editing keys and its memory
    _set_encoding(terminal)
    while True:
        try:
            text = input(PROMPT)
            while is_unfinished(text) and (more := input(CONTINUATION_PROMPT)).strip():
                text += f"\n{more}"
        except EOFError:
            terminal.write_stderr("\n")
            return
        yield text


def _set_encoding(terminal: Terminal) -> None:
    if isinstance(terminal.stdin, TextIOWrapper):
        terminal.stdin.reconfigure(encoding="utf-8", errors="replace")
