"""The process that Spark's Python workers on this machine are forked from.

PySpark's own has imported nothing: each worker takes two seconds to import pandas and pyarrow, at
its first task. Spark starts this one where its settings name it.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

_IMPORTS = ("pandas", "pyarrow.acero", "pyspark.worker", "kplan.fleet.logs.lines")


def worker_settings() -> Mapping[str, str]:
    """Return the settings of a Spark on this machine whose workers run this very Python."""
    if sys.platform != "linux":  # others do not fork what has threads, or not at all
        return {}
    return {"spark.python.daemon.module": __name__}


def main() -> None:
    """Import what workers need, and fork workers until Spark ends."""
    for name in _IMPORTS:
        with suppress(ImportError):  # a worker that needs it says so
            import_module(name)
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
