"""Signals: the first one asks the run to stop, the second one stops it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STDERR = 2
_STOPPING = b"\nStopping as soon as what is in flight is settled; a second signal stops at once.\n"


class Stopped(KeyboardInterrupt):
    """A signal ended the run. It is no `Exception`, so that nobody takes it for a fault."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Signals:
    """SIGINT, SIGTERM and SIGHUP, all told alike.

    A signal raises `Stopped` where the main thread stands. After `defer()` the first one only sets
    `stop`, for the run to end at a safe point, and the second one raises.
    """

    def __init__(self) -> None:
        self.stop = Event()
        self.number = 0
        self.is_deferred = False

    @contextmanager
    def installed(self) -> Iterator["Signals"]:
        """Listen for signals; the former listeners come back at the end."""
        former = {number: signal.signal(number, self._receive) for number in STOPPING}
        try:
            yield self
        finally:
            for number, listener in former.items():
                signal.signal(number, listener)

    def defer(self) -> None:
        """Let the first signal from now on ask only."""
        self.is_deferred = True

    def obey(self) -> None:
        """Let every signal from now on stop the run at once again."""
        self.is_deferred = False

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.number = number
        if not self.is_deferred or self.stop.is_set():
            raise Stopped(number)
        self.stop.set()
        # Past Python's own buffers, which the interrupted code may be in the middle of using.
        with suppress(OSError):
            os.write(STDERR, _STOPPING)
