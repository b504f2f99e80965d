"""Work on many items by several processes, where one would take long (decision 0167)."""

import gc
import os
import pickle
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import Self, TypeVar, cast

from kplan.fleet.dataframe import pack, unpack
from kplan.model.errors import FleetError

T = TypeVar("T")
R = TypeVar("R")

ALONE_S = 1.0
"""For so long the caller works alone; it takes half of that to start another process."""
MAX_PROCESSES = 8
"""Each may take some hundred megabytes."""
_START = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    f"import {__name__} as processes; processes.work_for_parent()"
)


def map_in_processes(work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Yield what `work` makes of each item, in their order.

    What is left after ALONE_S is done by as many processes as there are processors. `work` can be
    pickled, and so can the items and what it makes of them.

    Raises:
        FleetError: a process was ended, such as for want of memory.

    """
    left = deque(items)
    end = time.monotonic() + ALONE_S
    count = min(_processors(), MAX_PROCESSES)
    while left and (count == 1 or len(left) == 1 or time.monotonic() < end):
        yield work(left.popleft())
    if left:
        yield from _map_in_workers(work, left, min(count, len(left)))


def _processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _map_in_workers(work: Callable[[T], R], items: deque[T], count: int) -> Iterator[R]:
    idle: SimpleQueue[_Worker] = SimpleQueue()

    def work_elsewhere(item: T) -> R:
        worker = idle.get()
        try:
            return cast("R", worker.send(item))
        finally:
            idle.put(worker)

    with ExitStack() as stack:
        workers = [stack.enter_context(_Worker(work)) for _ in range(count)]
        for each in workers:
            idle.put(each)
        threads = stack.enter_context(ThreadPoolExecutor(count))
        for each in workers:
            stack.callback(each.kill)
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)
        found = deque(threads.submit(work_elsewhere, item) for item in items)
        while found:
            yield found.popleft().result()


class _Worker:
    """A process that does the work on one item after the other.

    It imports nothing of the caller's script, as `multiprocessing` would: that of a spark-submit
    may start all over when it is imported. A signal from the terminal is for the caller alone.
    """

    def __init__(self, work: Callable[..., object]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._work: Callable[..., object] | None = work

    def send(self, item: object) -> object:
        """Have it work on an item; returns what came of it."""
        given, answers = self._process.stdin, self._process.stdout
        if given is None or answers is None:
            raise AssertionError("a process without pipes")
        try:
            if self._work is not None:
                pickle.dump((self._work, gc.get_threshold()), given)
                self._work = None
            pickle.dump(item, given)
            given.flush()
            found, failure = pickle.load(answers)  # noqa: S301 - of our own process
        except (OSError, EOFError, pickle.UnpicklingError):
            raise FleetError(
                f"A process that worked for this command was ended ({self._process.wait()}).",
                "Give it more memory, or fewer clusters at a time with --cluster.",
            ) from None
        if failure:
            raise RuntimeError(failure)
        return unpack(found)

    def kill(self) -> None:
        """End the process; who waits for it gets an error."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        with suppress(BrokenPipeError), self._process:
            pass


def work_for_parent() -> None:
    """Work on the items that standard input brings, until it ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # where nothing that is said is an answer
    with suppress(EOFError, BrokenPipeError):
        work, thresholds = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the parent
        gc.set_threshold(*thresholds)
        while True:
            item = pickle.load(sys.stdin.buffer)  # noqa: S301 - as above
            try:
                answer = (pack(work(item)), "")
            except Exception:  # noqa: BLE001 - the parent raises it
                answer = (b"", traceback.format_exc())
            pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
