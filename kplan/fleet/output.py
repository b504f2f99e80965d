"""Results of Spark as tables with a bounded number of rows, or written to files."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.session import failure_reason
from kplan.fleet.snapshot import CLUSTER
from kplan.model.errors import FleetError, UsageError
from kplan.model.table import Cell, FigureTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_ROWS = 1_000
MAX_QUERIES = 3
"""Answers that are worked out together: while Spark plans one, its tasks work on another."""
OUTPUT_FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet", "": "parquet"}


def collect_table(name: str, found: "DataFrame", limit: int = MAX_ROWS) -> FigureTable:
    """Bring at most `limit` rows over; that there are more is told, never how many."""
    rows = found.limit(limit + 1).collect()
    cells: tuple[tuple[Cell, ...], ...] = tuple(tuple(row) for row in rows[:limit])
    return FigureTable(name, tuple(found.columns), cells, is_truncated=len(rows) > limit)


def collect_tables(
    told: "Mapping[str, DataFrame]", limit: int = MAX_ROWS
) -> tuple[FigureTable, ...]:
    """Bring several over, as `table` does, in the order given."""
    with open_query_pool() as pool:
        found = [pool.submit(collect_table, name, rows, limit) for name, rows in told.items()]
        return tuple(each.result() for each in found)


@contextmanager
def open_query_pool() -> Iterator[Executor]:
    """Return something to ask several questions of Spark with.

    What is still at work in the end is waited for, but not after an interrupt: the end of the
    session stops it.
    """
    pool = ThreadPoolExecutor(MAX_QUERIES, thread_name_prefix="answers")
    is_interrupted = True
    try:
        yield pool
        is_interrupted = False
    except Exception:
        is_interrupted = False
        raise
    finally:
        pool.shutdown(wait=not is_interrupted, cancel_futures=True)


def snapshot_times(objects: "DataFrame") -> str:
    """Say of which snapshots of clusters the rows are, and from when."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    at = F.col("attributes")["taken_at"]
    found = objects.where(F.col("kind") == CLUSTER).agg(
        F.count(F.lit(1)).alias("all"), F.count(at).alias("read"), F.min(at), F.max(at)
    )
    (row,) = found.collect()
    count, read, first, last = row
    return f"{read} of {count} clusters" + (f", taken {first} to {last}" if read else "")


def check_output(path: str) -> None:
    """Refuse what rows cannot be written to, before any work; "" is nowhere.

    Raises:
        UsageError: the ending is not known, or what is there is not of Spark's making: it would be
            deleted.

    """
    _output_format(path)
    _check_path(path)


def _check_path(path: str) -> None:
    place = Path(path)
    if not path or "://" in path:
        return
    if place.is_dir():
        foreign = next(
            (each.name for each in sorted(place.iterdir()) if not _is_spark_file(each)), None
        )
        if foreign is not None:
            raise UsageError(
                f"{path} holds {foreign}, which kplan did not write: it would be deleted.",
                "Name a place where nothing is yet.",
            )
    elif place.exists():
        raise UsageError(f"{path} is a file, and Spark writes folders.", "Name another place.")
    held = next((each for each in place.absolute().parents if each.exists()), place)
    if not held.is_dir() or not os.access(held, os.W_OK):
        raise UsageError(f"{path} cannot be written: there is no writing to {held}.")


def _is_spark_file(file: Path) -> bool:
    """Whether a file is of a table as Spark writes it."""
    return file.is_file() and file.name.startswith(("part-", "._SUCCESS", "_SUCCESS", ".part-"))


def write_table(found: "DataFrame", path: str, lineage: Mapping[str, str], name: str = "") -> None:
    """Write all rows where Spark writes: Parquet, or CSV or JSON lines by the name's ending.

    The result is a folder of part files, as Spark makes them; every row says where it came from. A
    further table has a name, which goes before the ending: `out.unused_acls.csv`. Nothing is done
    where the path is "". Raises FleetError and UsageError.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if not path:
        return
    ending = Path(path).suffix
    form = _output_format(path)
    named = f"{path.removesuffix(ending)}.{name}{ending}" if name else path
    _check_path(named)
    place = named if "://" in named else str(Path(named).absolute())
    try:
        told = found.withColumns({key: F.lit(each) for key, each in lineage.items()})
        told.write.mode("overwrite").option("header", value=True).format(form).save(place)
    except Exception as failure:
        raise FleetError(f"{named} could not be written: {failure_reason(failure)}") from failure


def _output_format(path: str) -> str:
    """Say in which form a path is written; raises UsageError."""
    form = OUTPUT_FORMATS.get(Path(path).suffix)
    if form is None:
        known = ", ".join(sorted(filter(None, OUTPUT_FORMATS)))
        raise UsageError(f"{path} has no ending that is known.", f"Use one of {known}.")
    return form
