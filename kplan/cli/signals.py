"""Signals: the first one asks the run to stop, the second one stops it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal ended the run. It is no `Exception`, so that nobody takes it for a fault."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Signals:
    """SIGINT, SIGTERM and SIGHUP, all told alike.

    A signal raises `Stopped` where the main thread stands, except within `graceful()`: there the
    first one only sets `stop`, for the run to end at a safe point.
    """

    def __init__(self) -> None:
        self.stop = Event()
        self.number = 0
        self._is_graceful = False

    @contextmanager
    def installed(self) -> Iterator["Signals"]:
        """Listen for signals; the former listeners come back at the end."""
        former = {number: signal.signal(number, self._receive) for number in STOPPING}
        try:
            yield self
        finally:
            for number, listener in former.items():
                signal.signal(number, listener)

    @contextmanager
    def graceful(self) -> Iterator[Event]:
        """Let the first signal set the event and nothing else, as long as this lasts."""
        self._is_graceful = True
        try:
            yield self.stop
        finally:
            self._is_graceful = False

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.number = number
        if self._is_graceful and not self.stop.is_set():
            self.stop.set()
            return
        raise Stopped(number)
