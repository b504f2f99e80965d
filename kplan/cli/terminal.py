"""The terminal: its two streams, its style, and the session that every verb gets."""

import os
import sys
from collections.abc import Mapping
from dataclasses import field
from typing import TextIO

from kplan.cli.environment import docs_url
from kplan.cli.signals import SignalInterrupt, Signals
from kplan.model.ci_job import is_ci, is_enabled
from kplan.model.dataclass import dataclass
from kplan.model.errors import KplanError
from kplan.report.format import PLAIN_STYLE, TextStyle

_WIDTHS = range(20, 1000)


def text_style(environ: Mapping[str, str], stream: TextIO, *, no_color: bool = False) -> TextStyle:
    """Tell how text is to look on a stream.

    Colour: `-no-color` and NO_COLOR forbid it, FORCE_COLOR and CLICOLOR_FORCE ask for it, else a
    terminal that is not dumb has it (no-color.org, bixense.com/clicolors).
    """
    return TextStyle(
        width=_terminal_width(environ, stream),
        colour=not no_color and _has_color(environ, stream),
        unicode=_can_encode(stream, "╷│→"),
        accessible=is_enabled(environ, "KPLAN_A11Y"),
        docs_url=docs_url(environ),
    )


@dataclass(frozen=True, slots=True)
class Terminal:
    """stdout for data, stderr for messages; stdin is read for answers only on a terminal."""

    environ: Mapping[str, str]
    no_color: bool = False
    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)

    @property
    def stdout_style(self) -> TextStyle:
        """How text is to look on stdout."""
        return text_style(self.environ, self.stdout, no_color=self.no_color)

    @property
    def stderr_style(self) -> TextStyle:
        """How text is to look on stderr."""
        return text_style(self.environ, self.stderr, no_color=self.no_color)

    @property
    def can_animate(self) -> bool:
        """Whether stderr is a terminal on which lines can be redrawn."""
        still = is_enabled(self.environ, "KPLAN_A11Y") or is_ci(self.environ)
        return not still and _is_screen(self.environ, self.stderr)

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer a question."""
        allowed = self.environ.get("KPLAN_INPUT", "").lower() not in {"0", "f", "false"}
        return allowed and self.stdin.isatty() and not is_ci(self.environ)

    @property
    def is_automation(self) -> bool:
        """Whether kplan runs in automation, where hints about the next command are omitted."""
        return is_enabled(self.environ, "KPLAN_IN_AUTOMATION", "TF_IN_AUTOMATION")

    def write_stdout(self, text: str, *, end: str = "\n") -> None:
        """Write to stdout, ended by one line feed unless it is empty.

        Raises:
            KplanError: it takes no more, as on a full disk; a reader that is gone is no error.

        """
        try:
            _write(self.stdout, text, end)
        except OSError as failure:
            raise KplanError(f"stdout cannot be written: {failure.strerror}.") from failure

    def write_stderr(self, text: str) -> None:
        """Write to stderr, ended by a line feed unless it is empty.

        Progress that cannot be written, as on a full disk, must not stop an apply.
        """
        try:
            _write(self.stderr, text, "\n")
        except OSError:
            discard_output(self.stderr)

    def ask(self, question: str) -> str:
        """Ask on stderr; "" at end of input and for input that is not valid text."""
        self.stderr.write(question)
        self.stderr.flush()
        try:
            return self.stdin.readline().strip()
        except UnicodeDecodeError:
            return ""
        except SignalInterrupt:
            self.stderr.write("\n")  # what comes next is no answer to the question
            raise


def _write(stream: TextIO, text: str, end: str) -> None:
    """Write characters outside the encoding as `?`, and discard output once the reader is gone."""
    if not text:
        return
    whole = text if text.endswith("\n") else text + end
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(whole.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        discard_output(stream)


def discard_output(stream: TextIO) -> None:
    """Discard further output: a closed reader must not stop an apply."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _has_color(environ: Mapping[str, str], stream: TextIO) -> bool:
    if environ.get("NO_COLOR"):
        return False
    return is_enabled(environ, "FORCE_COLOR", "CLICOLOR_FORCE") or _is_screen(environ, stream)


def _is_screen(environ: Mapping[str, str], stream: TextIO) -> bool:
    return stream.isatty() and environ.get("TERM") != "dumb"


def _can_encode(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _terminal_width(environ: Mapping[str, str], stream: TextIO) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) in _WIDTHS:
        return int(columns)
    try:
        measured = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return PLAIN_STYLE.width
    return measured if measured in _WIDTHS else PLAIN_STYLE.width


@dataclass(frozen=True, slots=True)
class Session:
    """The environment, terminal and signals of a run.

    `args` is the command line as typer reads it: unlike typer it keeps the order of options.
    """

    environ: Mapping[str, str]
    terminal: Terminal
    signals: Signals
    args: tuple[str, ...] = ()
