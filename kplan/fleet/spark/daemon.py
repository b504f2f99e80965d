"""The process that Spark's Python workers on this machine are forked from.

PySpark's own has imported nothing: each worker takes seconds to import what it needs, at its first
task. Spark starts this one where its settings name it, one for each session of a Connect server,
and lets it be when the session ends: without workers it ends by itself. Should one be asked of it
later, Spark starts it again.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder

_IMPORTS = ("pyarrow.acero", "pyspark.worker", "kplan.fleet.logs.lines")
_UNUSED = "pandas"
"""What pyarrow imports at the first list that it is given, for a second; no worker needs it."""

IDLE_S = 30.0
"""Twice so long it waits without a worker. Spark ends a worker that had no task for a minute."""


def worker_settings() -> Mapping[str, str]:
    """Return the settings of a Spark on this machine whose workers run this very Python."""
    if sys.platform != "linux":  # others do not fork what has threads, or not at all
        return {}
    return {"spark.python.daemon.module": __name__}


def main() -> None:
    """Import what workers need, and fork workers until Spark ends or wants no more."""
    import_needed()
    end_if_idle(IDLE_S)
    import_module("pyspark.daemon").manager()


def end_if_idle(seconds: float) -> None:
    """Have this process end when it had no worker at two moments that are so far apart.

    By an alarm, which its forks do not inherit: a thread would not go well with forking.
    """
    forks = 0
    idle_since: int | None = None  # the forks there had been at the last look, if none was left

    def count() -> None:
        nonlocal forks
        forks += 1

    def look(*_: object) -> None:
        nonlocal idle_since
        if _has_child():
            idle_since = None
        elif idle_since == forks:
            sys.exit()
        else:
            idle_since = forks

    os.register_at_fork(after_in_parent=count)
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _has_child() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def import_needed() -> None:
    """Import what workers need, but no pandas: pyarrow looks for it once."""
    with _no_pandas(), suppress(ImportError):  # a worker that needs it says so
        import_module("pyarrow").array([None])
    for name in _IMPORTS:
        with suppress(ImportError):
            import_module(name)


@contextmanager
def _no_pandas() -> Iterator[None]:
    class Finder(MetaPathFinder):
        def find_spec(self, fullname: str, *_: object) -> None:
            if fullname == _UNUSED:
                raise ModuleNotFoundError(name=fullname)

    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


if __name__ == "__main__":
    main()
