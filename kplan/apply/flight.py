"""Several pieces of work at a time, with one voice towards whoever watches."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

from kplan.apply.pace import Watcher
from kplan.model.outcome import Outcome
from kplan.model.plan import Batch, Change


class Abandoned(BaseException):
    """Ends a piece of work that nobody waits for any more, before it sends another request."""


class InTurn:
    """Lets one thread at a time speak to a watcher, and none once the apply is over."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._turn = threading.Lock()
        self._is_over = False

    def sending(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Tell of changes that are about to be sent; raises Abandoned: they must not be."""
        with self._turn:
            if self._is_over:
                raise Abandoned
            self._watcher.sending(batch, changes)

    def finished(self, outcomes: Sequence[Outcome]) -> None:
        """Tell what became of changes."""
        with self._turn:
            if not self._is_over:
                self._watcher.finished(outcomes)

    def settling(self, waiting: int, total: int) -> None:
        """Tell how many applied changes are not served by every broker yet."""
        with self._turn:
            if not self._is_over:
                self._watcher.settling(waiting, total)

    def moving(self, left: int, total: int) -> None:
        """Tell how many partitions are not where they are to be yet."""
        with self._turn:
            if not self._is_over:
                self._watcher.moving(left, total)

    def end(self) -> None:
        """Be silent from now on."""
        with self._turn:
            self._is_over = True


@contextmanager
def in_turn(watcher: Watcher) -> Iterator[InTurn]:
    """Lend a watcher to threads; those that outlive this, as after a second signal, send no more.

    What they had in flight has no outcome then: the journal tells that it was sent.
    """
    turns = InTurn(watcher)
    try:
        yield turns
    finally:
        turns.end()


def side_by_side(works: Iterable[Callable[[], None]], width: int) -> None:
    """Do pieces of work, up to `width` at a time, until all are done or one fails.

    One that fails lets the others come to their end, begins none after them, and is raised. An
    exception that strikes the caller itself is not kept waiting: the threads are left behind.
    """
    waiting = deque(works)
    if width == 1 or len(waiting) == 1:
        for work in waiting:
            work()
        return
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def run() -> None:
        failure: BaseException | None = None
        try:
            while (work := _taken(waiting)) is not None:
                work()
        except BaseException as struck:  # noqa: BLE001 - raised again by who waits for it
            waiting.clear()
            failure = struck
        ended.put(failure)

    width = min(width, len(waiting))
    for number in range(width):
        threading.Thread(target=run, name=f"apply-{number}", daemon=True).start()
    failures = [each for _ in range(width) if (each := ended.get()) is not None]
    if failures:
        raise failures[0]


def _taken(waiting: deque[Callable[[], None]]) -> Callable[[], None] | None:
    """Take the next piece; another thread may have been quicker."""
    try:
        return waiting.popleft()
    except IndexError:
        return None
