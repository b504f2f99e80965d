"""Progress of Spark tasks, and stopping a session at once."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler

ProgressCallback = Callable[[int, int], None]
"""Is told how many tasks of the jobs at work are done, and how many there are; 0 of 0: none."""


class SessionProgress(Protocol):
    """Where a session shows what takes long."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage."""
        ...

    def tasks(self, done: int, total: int) -> None:
        """Say how far the stage is, as a ProgressCallback."""
        ...


POLL_INTERVAL_S = 0.25
STOP_TIMEOUT_S = 5.0


@contextmanager
def watch_tasks(
    spark: "SparkSession", progress_callback: ProgressCallback, *, is_remote: bool
) -> Iterator[None]:
    """Return of the tasks of a session as long as this lasts.

    A Spark of our own is asked again and again; a Connect server tells of its own accord, before
    4.0 not at all.
    """
    ended = threading.Event()
    if is_remote and not hasattr(spark, "registerProgressHandler"):
        yield
        return
    if is_remote:
        handler = _progress_handler(progress_callback)
        spark.registerProgressHandler(handler)
        try:
            yield
        finally:
            spark.removeProgressHandler(handler)
        return
    thread = threading.Thread(
        target=_poll_tasks, args=(spark, progress_callback, ended), name="tasks", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(STOP_TIMEOUT_S)


def _progress_handler(progress_callback: ProgressCallback) -> "ProgressHandler":
    def handler(*, stages: Iterable[Any] | None, done: bool, **_: object) -> None:
        known = () if done else tuple(stages or ())
        progress_callback(
            sum(s.num_completed_tasks for s in known), sum(s.num_tasks for s in known)
        )

    return cast("ProgressHandler", handler)  # any function will do


def _poll_tasks(
    spark: "SparkSession", progress_callback: ProgressCallback, ended: threading.Event
) -> None:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

    with suppress(Py4JError, OSError):  # Spark has ended before us
        while not ended.wait(POLL_INTERVAL_S):
            progress_callback(*task_counts(spark))


def task_counts(spark: "SparkSession") -> tuple[int, int]:
    """Count the tasks of the jobs at work: done, and in all."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(each) for each in tracker.getActiveJobsIds()]
    numbers = {stage for job in jobs if job is not None for stage in job.stageIds}
    stages = [found for each in sorted(numbers) if (found := tracker.getStageInfo(each))]
    return sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages)


def stop_session(spark: "SparkSession", *, is_remote: bool) -> None:
    """End a session at once, with all that it does.

    Another thread asks for it: the one that was interrupted may have an answer waiting on its line
    to a Spark of our own, and would take that for the answer to this; and the client of a Connect
    server that is gone would try again for ten minutes.
    """
    work = _stop_remote if is_remote else _stop_local
    thread = threading.Thread(target=work, args=(spark,), name="drop", daemon=True)
    thread.start()
    thread.join(STOP_TIMEOUT_S)


def _stop_remote(spark: "SparkSession") -> None:
    from pyspark.errors import PySparkException

    with suppress(PySparkException, OSError):
        spark.interruptAll()
        spark.stop()


def _stop_local(spark: "SparkSession") -> None:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

    context = spark.sparkContext
    # First of all, as Java may end at any moment: it prints a traceback when Java ends before it.
    context._accumulatorServer.shutdown()  # noqa: SLF001 - nothing public stops it alone
    with suppress(Py4JError, OSError):
        context.cancelAllJobs()
        spark.stop()
