"""Progress on a screen: one line that is drawn over."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress_bar import ProgressBar
from rich.text import Text

from kplan.cli.terminal import Terminal

_LOG = logging.getLogger("kplan")
_BAR_WIDTH = 30


class BarProgress:
    """The stage, a bar and a count where the total is known, and the time."""

    def __init__(self, terminal: Terminal, detail_after_s: float) -> None:
        look = terminal.stderr_style
        self._console = Console(
            file=terminal.stderr,
            width=look.width,
            no_color=not look.colour,
            force_terminal=True,
            safe_box=not look.unicode,
            highlight=False,
            markup=False,
        )
        self._rich = Progress(
            SpinnerColumn("dots" if look.unicode else "line"),
            TextColumn("{task.description}", markup=False),
            _SizedBarColumn(bar_width=_BAR_WIDTH),
            _CountColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._rich.add_task("", total=None, visible=False)
        self._name, self._began = "", time.monotonic()
        self._detail_after_s = detail_after_s

    @contextmanager
    def show(self) -> Iterator["BarProgress"]:
        """Show the line as long as this lasts."""
        with self._rich:
            yield self

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage with a line of its own."""
        _LOG.info("%s", name)
        self._rich.remove_task(self._task)
        self._task = self._rich.add_task(name, total=total)
        self._name, self._began = name, time.monotonic()

    def advance(self, done: int = 1) -> None:
        """Move the bar."""
        self._rich.advance(self._task, done)

    def tasks(self, done: int, total: int) -> None:
        """Set the bar, and take it away where there is nothing to count."""
        for task in self._rich.tasks:
            if task.id == self._task:  # rich's own update would stop the clock at the last one
                task.total, task.completed = total or None, done

    def detail(self, text: str) -> None:
        """Set what the stage waits for; shown once it has taken as long as a heartbeat."""
        if time.monotonic() - self._began >= self._detail_after_s:
            shown = f"{self._name}: {text}" if text else self._name
            self._rich.update(self._task, description=shown)

    def note(self, text: str) -> None:
        """Write one line above the bar."""
        self._console.print(text, soft_wrap=True)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Take the line away; the next stage brings it back."""
        self._rich.remove_task(self._task)
        self._rich.stop()
        try:
            yield
        finally:
            self._task = self._rich.add_task("", total=None, visible=False)
            self._rich.start()


class _SizedBarColumn(BarColumn):
    def render(self, task: Task) -> ProgressBar:
        """Draw an empty bar if the total is unknown."""
        bar = super().render(task)
        bar.width = _BAR_WIDTH if task.total else 0
        return bar


class _CountColumn(MofNCompleteColumn):
    def render(self, task: Task) -> Text:
        """Show a count only for stages with a total."""
        return super().render(task) if task.total else Text()
