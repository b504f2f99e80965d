"""Progress of long work: a bar on a terminal, a few plain lines elsewhere."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from kplan.cli.terminal import Terminal

HEARTBEAT_S = 10.0
_LOG = logging.getLogger("kplan")


class Progress(Protocol):
    """The progress display that workflow and sandbox report to."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage, of `total` items where their number is known."""
        ...

    def advance(self, done: int = 1) -> None:
        """Count finished items of the stage."""
        ...

    def tasks(self, done: int, total: int) -> None:
        """Set the progress of the stage: `done` of `total`; 0 shows no count."""
        ...

    def detail(self, text: str) -> None:
        """Set what the stage waits for; shown once the stage has taken ten seconds."""
        ...

    def note(self, text: str) -> None:
        """Write one line."""
        ...

    def pause(self) -> AbstractContextManager[None]:
        """Hide the display while other text is written or a question is asked."""
        ...


@contextmanager
def show_progress(terminal: Terminal) -> Iterator[Progress]:
    """Show progress on stderr in the style of the terminal, and clear it at the end."""
    if terminal.can_animate:
        from kplan.cli.progress_bar import BarProgress  # noqa: PLC0415 - rich is slow to load

        with BarProgress(terminal, HEARTBEAT_S).show() as bars, _show_waits(bars):
            yield bars
    else:
        with LineProgress(terminal).show() as lines, _show_waits(lines):
            yield lines


class _WaitHandler(logging.Handler):
    """Shows waits as notes of the progress."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        self._progress.note(f"Waiting: {record.getMessage()}")


@contextmanager
def _show_waits(progress: Progress) -> Iterator[None]:
    """Show beside the progress which node has not answered for long."""
    handler, logger = _WaitHandler(progress), logging.getLogger("kplan.wait")
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)  # whatever KPLAN_LOG says
    try:
        yield
    finally:
        logger.removeHandler(handler)


class LineProgress:
    """Prints notes as they arrive, and a heartbeat every ten seconds."""

    def __init__(self, terminal: Terminal, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._terminal = terminal
        self._heartbeat_s = heartbeat_s
        self._ended = threading.Event()
        self._name, self._total, self._done, self._began = "", 0, 0, time.monotonic()
        self._detail = ""

    @contextmanager
    def show(self) -> Iterator["LineProgress"]:
        """Write heartbeats until the end of the block."""
        thread = threading.Thread(target=self._report_periodically, name="progress", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage; only a slow one is ever shown."""
        _LOG.info("%s", name)
        self._name, self._total, self._done, self._began = name, total or 0, 0, time.monotonic()
        self._detail = ""

    def advance(self, done: int = 1) -> None:
        """Count finished items of the stage."""
        self._done += done

    def tasks(self, done: int, total: int) -> None:
        """Set the progress of the stage for the next heartbeat."""
        self._done, self._total = done, total

    def detail(self, text: str) -> None:
        """Set what the stage waits for; shown with the next heartbeat."""
        self._detail = text

    def note(self, text: str) -> None:
        """Write one line."""
        self._terminal.write_stderr(text)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Write no heartbeats while a question is open."""
        name, self._name = self._name, ""
        try:
            yield
        finally:
            self._name = name

    def _report_periodically(self) -> None:
        while not self._ended.wait(self._heartbeat_s):
            if self._name:
                counted = f", {self._done:,} of {self._total:,}" if self._total else ""
                took = elapsed_text(time.monotonic() - self._began)
                waits = f": {self._detail}" if self._detail else ""
                self._terminal.write_stderr(f"{self._name}... [{took} elapsed{counted}]{waits}")


def elapsed_text(seconds: float) -> str:
    """Format a duration as Terraform does: `01m05s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02}m{rest:02}s"
