"""Threads for questions to nodes and clusters that are asked at the same time."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class DaemonThreads(Executor):
    """At most `limit` threads, which end with the process: no one waits for a silent node.

    Python joins those of a ThreadPoolExecutor before it ends, whatever `shutdown` was told. A block
    that ends waits for what it asked, also after an error; Ctrl-C leaves it behind.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._is_shut_down = False

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Ask in a thread, when one is free; raises RuntimeError after `shutdown`."""
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[_T] = Future()
        if len(self._threads) < self._limit:
            thread = Thread(target=self._work, name=self._name, daemon=True)
            thread.start()
            self._threads.append(thread)  # only what was started can be waited for
        self._tasks.put(partial(_answer, future, partial(fn, *args, **kwargs)))
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as its base has it
        """Let the threads end; what waits is asked before, unless it was cancelled."""
        del cancel_futures  # `map` cancels what waits when it is left by an error
        self._is_shut_down = True
        for _ in self._threads:
            self._tasks.put(None)
        for each in self._threads if wait else ():
            each.join()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for the threads, unless the process was told to stop."""
        self.shutdown(wait=failure is None or isinstance(failure, Exception))


def _answer(future: Future[_T], ask: Callable[[], _T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        answer = ask()
    except BaseException as failure:  # noqa: BLE001 - raised again by who waits for it
        future.set_exception(failure)
    else:
        future.set_result(answer)
