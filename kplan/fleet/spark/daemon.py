"""The process that Spark's Python workers on this machine are forked from.

PySpark's own has imported nothing: each worker takes seconds to import what it needs, at its first
task. Spark starts this one where its settings name it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder

_IMPORTS = ("pyarrow.acero", "pyspark.worker", "kplan.fleet.logs.lines")
_UNUSED = "pandas"
"""What pyarrow imports at the first list that it is given, for a second; no worker needs it."""


def worker_settings() -> Mapping[str, str]:
    """Return the settings of a Spark on this machine whose workers run this very Python."""
    if sys.platform != "linux":  # others do not fork what has threads, or not at all
        return {}
    return {"spark.python.daemon.module": __name__}


def main() -> None:
    """Import what workers need, and fork workers until Spark ends."""
    import_needed()
    import_module("pyspark.daemon").manager()


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
