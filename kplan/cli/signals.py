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


def find_interrupt(failure: BaseException | None) -> SignalInterrupt | None:
    """Return the interrupt that a failure comes from: C code turns one into a SystemError."""
    while failure is not None and not isinstance(failure, SignalInterrupt):
        failure = failure.__cause__ or failure.__context__
    return failure


class Signals:
    """Handlers of SIGINT, SIGTERM and SIGHUP.

    A signal raises `SignalInterrupt` in the main thread. After `defer()` the first one only sets
    `stop_event`, for the run to end at a safe point, and the second one raises.
    """

    def __init__(self) -> None:
        self.stop_event = Event()
        self.number = 0
        self.is_deferred = False
        self.was_deferred = False
        self._notice = _AFTER_REQUESTS

    @contextmanager
    def install(self) -> Iterator["Signals"]:
        """Install the handlers; the former ones are restored at the end.

        What whoever started this process ignores stays ignored: with nohup or in the background of
        a script a signal of their terminal is not for it.
        """
        taken = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
        former = {number: signal.signal(number, self._receive) for number in taken}
        try:
            yield self
        finally:
            for number, listener in former.items():
                signal.signal(number, listener)

    def defer(self, notice: str = _AFTER_REQUESTS) -> None:
        """Make the first signal only request a stop; `notice` says what still happens."""
        self._notice = notice
        self.is_deferred = self.was_deferred = True

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
