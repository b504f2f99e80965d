"""DataFrames and Arrow columns from Python values, and results with a bounded number of rows."""

import gc
import os
import pickle
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kplan.fleet.compat import map_groups, rows_dataframe, takes_arrow_tables
from kplan.fleet.snapshot import CLUSTER, GROUP, NON_OBJECT_KINDS, USE, Row
from kplan.fleet.spark.errors import drop_rows, failure_reason
from kplan.fleet.spark.jobs import describe_jobs
from kplan.model.errors import FleetError, UsageError
from kplan.model.table import Cell, FigureTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_OFFSET_CODE, _LONG_CODE = "i", "q"


def string_array(values: Sequence[str | None]) -> "pa.Array":
    """Make a column of texts."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    raw = [b"" if each is None else each.encode() for each in values]
    buffers = [_validity_buffer(values), _offset_buffer(map(len, raw)), pa.py_buffer(b"".join(raw))]
    return pa.Array.from_buffers(pa.string(), len(raw), buffers)


def long_array(values: Sequence[int | None]) -> "pa.Array":
    """Make a column of whole numbers."""
    import pyarrow as pa  # noqa: PLC0415

    raw = array(_LONG_CODE, (each or 0 for each in values))
    return pa.Array.from_buffers(
        pa.int64(), len(raw), [_validity_buffer(values), pa.py_buffer(raw)]
    )


def boolean_array(values: Sequence[bool | None]) -> "pa.Array":
    """Make a column of truth values."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(values, pa.bool_())


def map_array(values: Sequence[Mapping[str, str]]) -> "pa.Array":
    """Make a column of maps."""
    import pyarrow as pa  # noqa: PLC0415

    offsets = pa.Array.from_buffers(
        pa.int32(), len(values) + 1, [None, _offset_buffer(map(len, values))]
    )
    keys, held = (
        string_array(list(chain.from_iterable(each)))
        for each in (values, (one.values() for one in values))
    )
    return pa.MapArray.from_arrays(offsets, keys, held)


_ARRAY_BUILDERS: Mapping[str, Callable[[Sequence[Any]], "pa.Array"]] = {
    "string": string_array,
    "long": long_array,
    "boolean": boolean_array,
}


def arrow_table(rows: Sequence[Mapping[str, Any]], schema: str) -> "pa.Table":
    """Make a table of rows; the schema, as Spark writes it, has strings, longs and booleans."""
    import pyarrow as pa  # noqa: PLC0415

    columns = [each.split() for each in schema.split(", ")]
    arrays = [_ARRAY_BUILDERS[kind]([each[name] for each in rows]) for name, kind in columns]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def _offset_buffer(lengths: Iterable[int]) -> "pa.Buffer":
    import pyarrow as pa  # noqa: PLC0415

    return pa.py_buffer(array(_OFFSET_CODE, accumulate(lengths, initial=0)))


def _validity_buffer(values: Sequence[object]) -> "pa.Buffer | None":
    """Return a bit for each value that exists, the first one lowest; nothing where all are."""
    import pyarrow as pa  # noqa: PLC0415

    if None not in values:
        return None
    bits = "".join("01"[each is not None] for each in reversed(values))
    return pa.py_buffer(int(bits, 2).to_bytes((len(bits) + 7) // 8, "little"))


def create_dataframe(
    spark: "SparkSession", rows: Sequence[Sequence[object]], schema: str
) -> "DataFrame":
    """Give rows to Spark as values of its plan: read as tuples, they take a Python worker to read.

    Maps are lists of pairs, or mappings.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    if not (rows and takes_arrow_tables()):
        return rows_dataframe(spark, rows, schema)
    meant = cast("StructType", StructType.fromDDL(schema))
    fields = to_arrow_schema(meant)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(found, each.type) for found, each in zip(columns, fields, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=fields), meant)


@contextmanager
def kept_rows() -> "Iterator[list[DataFrame]]":
    """Yield a list for rows that Spark keeps; it drops them in the end, also after a failure.

    A Spark that others started outlives the answer that they are for.
    """
    kept: list[DataFrame] = []
    try:
        yield kept
    finally:
        for each in kept:
            drop_rows(each)


def inline_few(rows: "DataFrame") -> "DataFrame":
    """Compute rows; few become values of the plan, so that what is made of them is planned quickly.

    Spark would plan it with all that they are made of, kept or not, which takes seconds.
    """
    if not takes_arrow_tables():
        return rows
    few = rows.limit(MAX_INLINE_ROWS + 1)
    found = few.toArrow()
    if len(found) > MAX_INLINE_ROWS:
        return rows
    return rows.sparkSession.createDataFrame(found, few.schema)  # which it knows by now


def cut_lineage(rows: "DataFrame") -> "DataFrame":
    """Compute rows that are kept in memory, and return them as a leaf of the plans to come.

    Spark would go through all that they are made of in each step of these plans, which takes longer
    than the answers. Where executors may be lost, it has to know how to compute the rows again.
    """
    master, _, _ = str(rows.sparkSession.conf.get("spark.master", "")).partition("[")
    if not takes_arrow_tables() or master != "local":  # local-cluster has executors
        return rows
    leaf = rows.localCheckpoint()
    rows.unpersist()
    return leaf


Own = TypeVar("Own")
ClusterTask = Callable[[Sequence[Row], Own], Iterable[Mapping[str, Any]]]
"""What is found in the rows of one cluster, with what is its own, say its configuration."""


def select_cluster(cluster: str, found: Mapping[str, Own]) -> Mapping[str, Own]:
    """Keep the rows of one cluster."""
    return {cluster: found[cluster]} if cluster in found else {}


def map_clusters(
    objects: "DataFrame", schema: str, work: ClusterTask[Own], packed: Mapping[str, bytes]
) -> "DataFrame":
    """Return the findings in the rows of each cluster that `packed` names.

    The schema has strings and longs. All of what `pack` made goes to every executor: a task unpacks
    what its own clusters need. Rows come with what `rows.snapshot_of` inspects.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if not packed:
        return create_dataframe(objects.sparkSession, [], schema)

    def found(given: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        with _pause_gc():
            held = [Row(*each) for each in _row_tuples(given)]
            own = unpack(packed[held[0].cluster])
            return arrow_table(list(work(held, own)), schema)

    is_object = ~F.col("kind").isin(*NON_OBJECT_KINDS)
    concerned = F.col("cluster").isin(*packed) & ~F.col("kind").isin(USE, GROUP)
    concerned &= ~is_object | F.col("value").isNotNull()
    result = F.when(F.col("kind").isin(*NON_OBJECT_KINDS), F.col("attributes"))
    rows = objects.where(concerned).withColumn("attributes", result)
    return map_groups(rows.select(*Row._fields), ("cluster",), found, schema)


def pack(own: object) -> bytes:
    """Pickle what is one cluster's own; what Python itself can, in half the time.

    Values in policies are no such thing.
    """
    from pyspark import cloudpickle

    pack_all: Callable[[object], bytes] = cloudpickle.dumps
    try:
        return pickle.dumps(own, pickle.HIGHEST_PROTOCOL)
    except TypeError:
        return pack_all(own)


def unpack(packed: bytes) -> Any:  # noqa: ANN401 - what was packed
    """Return what `pack` packed."""
    return pickle.loads(packed)  # noqa: S301 - our own, of a moment ago


@contextmanager
def _pause_gc() -> Iterator[None]:
    """Look for no cycles while the objects of a cluster are made: there are none, and many objects.

    It takes half of the time of unpacking them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _row_tuples(given: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401
    columns = [given.column(name).to_pylist() for name in Row._fields]
    columns[-1] = [dict(each or ()) for each in columns[-1]]
    return zip(*columns, strict=True)


MAX_ROWS = 1_000
MAX_INLINE_ROWS = 1_000
"""Rows that may be values of a plan; all of them go to every task."""
MAX_QUERIES = 3
"""Answers that are computed together: while Spark plans one, its tasks work on another."""
OUTPUT_FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet", "": "parquet"}


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
        rows = data_frame.withColumns({key: F.lit(each) for key, each in lineage.items()})
        describe_jobs(data_frame.sparkSession, f"write {named}")
        writer = rows.write.mode("overwrite").options(header=True, escape='"')  # as RFC 4180 has it
        writer.format(form).save(place)
    except Exception as failure:
        raise FleetError(f"{named} could not be written: {failure_reason(failure)}") from failure


def _output_format(path: str) -> str:
    """Say in which form a path is written; raises UsageError."""
    form = OUTPUT_FORMATS.get(Path(path).suffix)
    if form is None:
        known = ", ".join(sorted(filter(None, OUTPUT_FORMATS)))
        raise UsageError(f"{path} has no ending that is known.", f"Use one of {known}.")
    return form
