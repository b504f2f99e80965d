"""Showing how far long work is: a bar on a terminal, few plain lines elsewhere."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from kplan.cli.terminal import Terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

HEARTBEAT_S = 10.0
_LOG = logging.getLogger("kplan")


class Progress(Protocol):
    """What workflow and sandbox tell of their work; `hidden` keeps the display off the screen."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage, of `total` items where their number is known."""
        ...

    def advance(self, done: int = 1) -> None:
        """Count finished items of the stage."""
        ...

    def note(self, text: str) -> None:
        """Say one line."""
        ...

    def hidden(self) -> AbstractContextManager[None]:
        """Take the display away while something else is written or asked."""
        ...


@contextmanager
def progress(terminal: Terminal) -> Iterator[Progress]:
    """Show progress on stderr as fits the terminal, and leave no trace of it."""
    display = Bars(terminal) if terminal.is_moving else Lines(terminal)
    with display.running():
        yield display


class Lines:
    """Notes as they come, and a sign of life every ten seconds."""

    def __init__(self, terminal: Terminal, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._terminal = terminal
        self._heartbeat_s = heartbeat_s
        self._ended = threading.Event()
        self._name, self._total, self._done, self._began = "", 0, 0, time.monotonic()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Give signs of life as long as this lasts."""
        thread = threading.Thread(target=self._beat, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage; only a slow one is ever told."""
        _LOG.info("%s", name)
        self._name, self._total, self._done, self._began = name, total or 0, 0, time.monotonic()

    def advance(self, done: int = 1) -> None:
        """Count finished items of the stage."""
        self._done += done

    def note(self, text: str) -> None:
        """Write one line."""
        self._terminal.talk(text)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Give no signs of life while somebody thinks about an answer."""
        name, self._name = self._name, ""
        try:
            yield
        finally:
            self._name = name

    def _beat(self) -> None:
        while not self._ended.wait(self._heartbeat_s):
            if self._name:
                counted = f", {self._done} of {self._total}" if self._total else ""
                took = elapsed(time.monotonic() - self._began)
                self._terminal.talk(f"{self._name}... [{took} elapsed{counted}]")


class Bars:
    """One line that is drawn over: the stage, a bar where the total is known, the time."""

    def __init__(self, terminal: Terminal) -> None:
        from rich.console import Console  # noqa: PLC0415 - slow to load, and only for screens

        look = terminal.talk_look
        self._console = Console(
            file=terminal.stderr,
            width=look.width,
            no_color=not look.colour,
            force_terminal=True,
            safe_box=not look.unicode,
            highlight=False,
            markup=False,
        )
        self._rich = _bar(self._console, has_unicode=look.unicode)
        self._task = self._rich.add_task("", total=None, visible=False)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Show the line as long as this lasts."""
        with self._rich:
            yield

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage with a line of its own."""
        _LOG.info("%s", name)
        self._rich.remove_task(self._task)
        self._task = self._rich.add_task(name, total=total)

    def advance(self, done: int = 1) -> None:
        """Move the bar."""
        self._rich.advance(self._task, done)

    def note(self, text: str) -> None:
        """Write one line above the bar."""
        self._console.print(text, soft_wrap=True)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the line away."""
        self._rich.stop()
        try:
            yield
        finally:
            self._rich.start()


def _bar(console: "Console", *, has_unicode: bool) -> "RichProgress":
    from rich.progress import (  # noqa: PLC0415 - as in Bars
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as RichProgress  # noqa: PLC0415

    return RichProgress(
        SpinnerColumn("dots" if has_unicode else "line"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def elapsed(seconds: float) -> str:
    """Write a span of time as Terraform does: `01m05s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02}m{rest:02}s"
