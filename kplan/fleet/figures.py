"""Tables of figures with a bounded number of rows, and files with all rows."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.snapshot import CLUSTER
from kplan.fleet.spark.errors import failure_reason
from kplan.fleet.spark.jobs import describe_jobs
from kplan.model.errors import FleetError, UsageError
from kplan.model.table import Cell, FigureTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_ROWS = 1_000
"""Rows of a table without another limit."""
MAX_QUERIES = 3
"""Answers that are computed together: while Spark plans one, its tasks work on another."""
_CSV = "csv"
_CSV_OPTIONS: Mapping[str, bool | str] = {
    "header": True,
    "escape": '"',  # as RFC 4180 has it
    "ignoreLeadingWhiteSpace": False,  # names of clients have spaces where these want them
    "ignoreTrailingWhiteSpace": False,
}
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?[0-9]+([.][0-9]+)?$"
OUTPUT_FORMATS = {".csv": _CSV, ".json": "json", ".parquet": "parquet", "": "parquet"}


def collect_table(name: str, data_frame: "DataFrame", limit: int = MAX_ROWS) -> FigureTable:
    """Collect at most `limit` rows; report that there are more, not how many."""
    describe_jobs(data_frame.sparkSession, f"show table {name}")
    rows = data_frame.limit(limit + 1).collect()
    cells: tuple[tuple[Cell, ...], ...] = tuple(tuple(row) for row in rows[:limit])
    # To ask Spark Connect for columns has it plan all of the query again.
    columns = tuple(rows[0].__fields__ if rows else data_frame.columns)
    return FigureTable(name, columns, cells, is_truncated=len(rows) > limit)


def explain_table(name: str, data_frame: "DataFrame", limit: int = MAX_ROWS) -> FigureTable:
    """Return how Spark would answer `collect_table`, without an answer.

    Only one thread may do so at a time: PySpark prints plans to stdout.
    """
    with redirect_stdout(StringIO()) as printed:
        data_frame.limit(limit + 1).explain(mode="formatted")
    columns = tuple(data_frame.columns)
    return FigureTable(name, columns, (), query_plan=printed.getvalue().strip())


def explain_tables(
    tables: "Mapping[str, DataFrame]", limit: int = MAX_ROWS
) -> tuple[FigureTable, ...]:
    """Return how Spark would answer `collect_tables`."""
    return tuple(explain_table(name, rows, limit) for name, rows in tables.items())


def collect_tables(
    tables: "Mapping[str, DataFrame]", limit: int = MAX_ROWS
) -> tuple[FigureTable, ...]:
    """Bring several over, as `table` does, in the order given."""
    with open_query_pool() as pool:
        found = [pool.submit(collect_table, name, rows, limit) for name, rows in tables.items()]
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
    describe_jobs(objects.sparkSession, "find the times of snapshots")
    found = objects.where(F.col("kind") == CLUSTER).agg(
        F.count(F.lit(1)).alias("all"), F.count(at).alias("read"), F.min(at), F.max(at)
    )
    (row,) = found.collect()
    count, read, first, last = row
    return f"{read} of {count} clusters" + (f", taken {first} to {last}" if read else "")


def check_output(path: str) -> None:
    """Refuse a destination that rows cannot be written to before any work; "" is none.

    Raises:
        UsageError: the ending is not known, or what exists is not of Spark's making: it would be
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
        raise UsageError(f"{path} cannot be written: kplan does not write to {held}.")


def _is_spark_file(file: Path) -> bool:
    """Whether a file is of a table as Spark writes it."""
    return file.is_file() and file.name.startswith(("part-", "._SUCCESS", "_SUCCESS", ".part-"))


def write_table(
    data_frame: "DataFrame", path: str, lineage: Mapping[str, str], name: str = ""
) -> None:
    """Write all rows where Spark writes: Parquet, or CSV or JSON lines by the name's ending.

    The result is a folder of part files, as Spark makes them; every row says where it came from. A
    further table has a name, which goes before the ending: `out.unused_acls.csv`. In CSV no text
    is a formula. Nothing is done where the path is "". Raises FleetError and UsageError.
    """
    if not path:
        return
    ending = Path(path).suffix
    form = _output_format(path)
    named = f"{path.rstrip('/').removesuffix(ending)}.{name}{ending}" if name else path
    _check_path(named)
    place = named if "://" in named else str(Path(named).absolute())
    try:
        rows = _add_lineage(data_frame, lineage)
        if form == _CSV:
            rows = _without_formulas(rows)
        describe_jobs(data_frame.sparkSession, f"write {named}")
        writer = rows.write.mode("overwrite").options(**_CSV_OPTIONS)
        writer.format(form).save(place)
    except Exception as failure:
        raise FleetError(f"{named} could not be written: {failure_reason(failure)}") from failure


def _add_lineage(data_frame: "DataFrame", lineage: Mapping[str, str]) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if taken := sorted(lineage.keys() & {*data_frame.columns}):  # Spark would replace its values
        raise ValueError(f"the table has columns with the names of its lineage: {', '.join(taken)}")
    return data_frame.withColumns({key: F.lit(each) for key, each in lineage.items()})


def _without_formulas(rows: "DataFrame") -> "DataFrame":
    """Put `'` before texts that a spreadsheet would compute: clients choose names (OWASP)."""
    from pyspark.sql import functions as F  # noqa: N812

    texts = [name for name, kind in rows.dtypes if kind == "string"]
    return rows.withColumns(
        {
            name: F.when(
                F.col(name).rlike(_FORMULA) & ~F.col(name).rlike(_NUMBER),
                F.concat(F.lit("'"), F.col(name)),
            ).otherwise(F.col(name))
            for name in texts
        }
    )


def _output_format(path: str) -> str:
    """Say in which form a path is written; raises UsageError."""
    form = OUTPUT_FORMATS.get(Path(path).suffix)
    if form is None:
        known = ", ".join(sorted(filter(None, OUTPUT_FORMATS)))
        raise UsageError(f"{path} has no ending that is known.", f"Use one of {known}.")
    return form
