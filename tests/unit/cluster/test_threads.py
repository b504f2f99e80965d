"""Questions that are asked at the same time, in threads that end with the process."""

from threading import Thread

import pytest

from kplan.cluster.threads import DaemonThreads


def test_a_thread_that_cannot_start_is_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a container allows no further process; the threads before it end in good order."""
    started: list[Thread] = []
    start = Thread.start

    def start_one(thread: Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(Thread, "start", start_one)
    asked: list[int] = []
    with pytest.raises(RuntimeError, match="can't start"), DaemonThreads(2, "test") as threads:
        list(threads.map(asked.append, range(2)))
    assert asked == [0], "the first, and no one that nobody would wait for"
    assert not started[0].is_alive()


def test_nothing_is_asked_after_the_threads_were_told_to_end() -> None:
    with DaemonThreads(1, "test") as threads:
        assert threads.submit(int).result() == 0
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads.submit(int)
