"""Signals: the first one asks the run to stop, the second one stops it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STDERR_FD = 2
_AFTER_REQUESTS = "Stopping after the requests in flight"


class SignalInterrupt(KeyboardInterrupt):
    """A signal ended the run. Not an `Exception`, so that no handler takes it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Signals:
    """Handlers of SIGINT, SIGTERM and SIGHUP.

    A signal raises `SignalInterrupt` in the main thread. After `defer()` the first one only sets
    `stop_event`, for the run to end at a safe point, and the second one raises.
    """

    def __init__(self) -> None:
        self.stop_event = Event()
        self.number = 0
        self.is_deferred = False
        self._notice = _AFTER_REQUESTS

    @contextmanager
    def install(self) -> Iterator["Signals"]:
        """Install the handlers; the former ones are restored at the end."""
        former = {number: signal.signal(number, self._receive) for number in STOP_SIGNALS}
        try:
            yield self
        finally:
            for number, listener in former.items():
                signal.signal(number, listener)

    def defer(self, notice: str = _AFTER_REQUESTS) -> None:
        """Make the first signal only request a stop; `notice` says what still happens."""
        self._notice = notice
        self.is_deferred = True

    def stop_deferring(self) -> None:
        """Make every signal stop the run at once again."""
        self.is_deferred = False

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.number = number
        if not self.is_deferred or self.stop_event.is_set():
            raise SignalInterrupt(number)
        self.stop_event.set()
        # Past Python's own buffers, which the interrupted code may be in the middle of using.
        with suppress(OSError):
            os.write(
                STDERR_FD, f"\n{self._notice}; send the signal again to stop at once.\n".encode()
            )
