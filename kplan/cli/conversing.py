"""Expressions in, values out: with a person at a prompt, or with a program at a pipe."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from io import TextIOWrapper

from kplan.cli.problems import tell
from kplan.cli.terminal import Terminal
from kplan.config.console import NAME, Console
from kplan.workflow.console import reply

PROMPT = "> "
MORE = ": "
"""Stands before a line that goes on with the ones above."""

HELP = """Type an expression of the configuration language and press enter: its value is shown.
Variables, locals, modules and resources of the configuration are at hand, as in its files:
var.NAME, local.NAME, kafka_topic.NAME.partitions, and type(...) for the type of a value.
A line with an open bracket goes on in the next. To leave: exit, or Ctrl-D."""


def serve(terminal: Terminal, console: Console) -> None:
    """Answer every line of JSON with a line of JSON."""
    for line in _piped(terminal):
        if line.strip():
            terminal.data(reply(console, line))


def converse(terminal: Terminal, console: Console) -> bool:
    """Answer every expression; tell whether all that were piped in have a value."""
    if terminal.stdin.isatty() and terminal.stdout.isatty():
        _answer_all(terminal, console, _typed(terminal, console.is_unfinished))
        return True
    return _answer_all(terminal, console, _piped(terminal))


def _answer_all(terminal: Terminal, console: Console, texts: Iterator[str]) -> bool:
    is_sound = True
    for text in texts:
        match text.strip():
            case "":
                continue
            case "exit":
                break
            case "help":
                terminal.data(HELP)
            case _:
                answer = console.evaluate_text(text)
                tell(answer.diagnostics, terminal, sources={**console.sources, NAME: text})
                terminal.data(answer.text if answer.is_value else "")
                is_sound &= answer.is_value
    return is_sound


def _piped(terminal: Terminal) -> Iterator[str]:
    """Give the lines of a pipe; bytes that are no UTF-8 become U+FFFD."""
    _decode(terminal)
    for line in terminal.stdin:
        yield line.rstrip("\n")


def _typed(terminal: Terminal, is_unfinished: Callable[[str], bool]) -> Iterator[str]:
    """Ask for texts until the input ends; one that is unfinished goes on until an empty line."""
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - gives `input` its editing keys and its memory
    _decode(terminal)
    while True:
        try:
            text = input(PROMPT)
            while is_unfinished(text) and (more := input(MORE)).strip():
                text += f"\n{more}"
        except EOFError:
            terminal.talk("\n")
            return
        yield text


def _decode(terminal: Terminal) -> None:
    if isinstance(terminal.stdin, TextIOWrapper):
        terminal.stdin.reconfigure(encoding="utf-8", errors="replace")
