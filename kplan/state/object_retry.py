"""Requests to an object store: an outage is waited out once, and signals are heard meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TypeVar

from kplan.state.object_failure import is_answer, is_transient

_PAUSES_S = (0.2, 0.4, 0.8)
_LONGEST_PAUSE_S = 1.5

ResultT = TypeVar("ResultT")


class Retrier:
    """Sends requests again while a store that has answered before is away.

    One that never did is not waited for: its address is probably wrong. Nor is one whose outage
    has been waited out already, because what follows a failure is the end of the run. An outage is
    one for reads and writes, and over with any answer; where writes had none, with one to a write.
    """

    def __init__(self, limit_s: Callable[[], float]) -> None:
        self._limit_s = limit_s
        self._has_answered = False
        self._failing_since: float | None = None
        self._is_write_failing = False
        self._is_suspended = False
        self._retries = 0

    @property
    def outage(self) -> tuple[int, float]:
        """How often a request was sent again in this outage, and since when it lasts."""
        since = self._failing_since
        return self._retries, 0.0 if since is None else time.monotonic() - since

    @property
    def is_brief(self) -> bool:
        """Whether the next request is sent once, and should not take long."""
        return self._is_suspended or (self._failing_since is not None and self._left_s() <= 0)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Wait for nothing in the block; its failures begin no outage that others wait out."""
        before, self._is_suspended = self._is_suspended, True
        try:
            yield
        finally:
            self._is_suspended = before

    def call(self, request: Callable[[], ResultT], *, is_write: bool = False) -> ResultT:
        """Send a request, again and again while the store is away; raises what the last one did."""
        for pause_s in chain(_PAUSES_S, repeat(_LONGEST_PAUSE_S)):
            began = time.monotonic()
            try:
                found = interruptible(request)
            except Exception as failure:
                if not is_transient(failure):
                    if is_answer(failure):
                        self._note_answer(is_write=is_write)
                    raise
                if not self._is_waiting(began, is_write=is_write):
                    raise
            else:
                self._note_answer(is_write=is_write)
                return found
            self._retries += 1
            time.sleep(min(pause_s, max(self._left_s(), 0)))
        raise AssertionError

    def _is_waiting(self, began: float, *, is_write: bool) -> bool:
        """Note a request without an answer; return whether it is sent again."""
        if self._is_suspended:
            return False
        if self._failing_since is None:
            self._failing_since = began
        self._is_write_failing |= is_write
        return self._has_answered and self._left_s() > 0

    def _left_s(self) -> float:
        since = self._failing_since
        return self._limit_s() - (0 if since is None else time.monotonic() - since)

    def _note_answer(self, *, is_write: bool) -> None:
        self._has_answered = True
        if is_write or not self._is_write_failing:
            self._failing_since, self._is_write_failing, self._retries = None, False, 0


def interruptible(request: Callable[[], ResultT]) -> ResultT:
    """Make a request in a thread of its own: obstore runs no handlers of signals while it waits.

    A request that a signal leaves behind goes on; what it writes is on condition, or unnamed.
    """
    if threading.current_thread() is not threading.main_thread():
        return request()
    outcome: Future[ResultT] = Future()

    def make() -> None:
        try:
            outcome.set_result(request())
        except BaseException as failure:  # noqa: BLE001 - raised where it is waited for
            outcome.set_exception(failure)

    # Python waits for it at the end, because a thread in obstore must not be ended; `main` does not
    # wait after a signal.
    threading.Thread(target=make, name="object store").start()
    return outcome.result()
