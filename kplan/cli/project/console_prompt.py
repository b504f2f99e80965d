"""Read expressions from a prompt or a pipe, and write their values."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from io import TextIOWrapper

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.terminal import Terminal
from kplan.config.console import CONSOLE_FILE, Console
from kplan.workflow.project.console import answer_line

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
            terminal.write_stdout(answer_line(console, line))


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
    """Ask for texts until the input ends; one that is unfinished goes on until an empty line."""
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
