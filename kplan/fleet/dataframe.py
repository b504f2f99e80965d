"""DataFrames and Arrow columns from Python values, and work on the rows of each cluster."""

import gc
import pickle
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kplan.fleet.compat import is_on_connect, map_groups, rows_dataframe, takes_arrow_tables
from kplan.fleet.snapshot import GROUP, NON_OBJECT_KINDS, USE, Row
from kplan.fleet.spark.errors import drop_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

MAX_INLINE_ROWS = 1_000
"""Rows that may be values of a plan; all of them go to every task."""
MAX_REMOTE_ROWS = 50_000
"""Rows that a Connect server gets as values of a plan: it holds each one as objects of Java."""
_OFFSET_CODE, _LONG_CODE = "i", "q"
_OWN = "own"
"""The column of what `map_clusters` got for a cluster, null in the rows of a run."""
Keep = Callable[["DataFrame"], "DataFrame"]
"""Has Spark keep or compute rows that are asked for several times."""


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
    if not rows:
        return rows_dataframe(spark, rows, schema)
    return columns_dataframe(spark, tuple(zip(*rows, strict=True)), schema)


def columns_dataframe(
    spark: "SparkSession", columns: Sequence[Sequence[object]], schema: str
) -> "DataFrame":
    """Give columns of equal length to Spark, as `create_dataframe` does rows."""
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    if not (columns[0] and takes_arrow_tables()):
        return rows_dataframe(spark, tuple(zip(*columns, strict=True)), schema)
    meant = cast("StructType", StructType.fromDDL(schema))
    fields = to_arrow_schema(meant)
    arrays = [pa.array(found, each.type) for found, each in zip(columns, fields, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=fields)
    if is_on_connect(spark) and len(table) > MAX_REMOTE_ROWS:
        return _packed_dataframe(spark, table, schema)
    return spark.createDataFrame(table, meant)


def _packed_dataframe(spark: "SparkSession", table: "pa.Table", schema: str) -> "DataFrame":
    """Give many rows to a Connect server as a few packed ones, which its tasks unpack.

    A million rows as they are take it 20 s and half a gigabyte in each query. To Spark the packed
    ones seem to be few, and it would send what they hold to all tasks: joins sort instead.
    """
    import pyarrow as pa  # noqa: PLC0415

    packed = []
    for batch in table.to_batches(max_chunksize=MAX_REMOTE_ROWS):
        written = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(written, batch.schema, options=options) as stream:
            stream.write_batch(batch)
        packed.append((written.getvalue().to_pybytes(),))

    def unpack_batches(batches: Iterable[Any]) -> Iterator[Any]:  # on the executor
        import pyarrow as pa  # noqa: PLC0415

        for batch in batches:
            for each in batch.column(0):
                with pa.ipc.open_stream(each.as_buffer()) as stream:
                    yield from stream

    rows = create_dataframe(spark, packed, "packed binary")
    return rows.mapInArrow(unpack_batches, schema).hint("merge")


def ask_once(rows: "DataFrame") -> "DataFrame":
    """Keep nothing: the rows are asked for once."""
    return rows


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


def utc_text(time: "Column") -> "Column":
    """Write a time as ISO 8601 in UTC, without fractions of a second."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    return F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss'Z'")


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
    """Compute rows, kept in memory or not, and return them as a leaf of the plans to come.

    Spark would go through all that they are made of in each step of these plans, which takes longer
    than the answers. Where executors may be lost, it has to know how to compute the rows again.
    """
    master, _, _ = str(rows.sparkSession.conf.get("spark.master", "")).partition("[")
    if not takes_arrow_tables() or master != "local":  # local-cluster has executors
        return rows
    leaf = rows.localCheckpoint()
    if rows.is_cached:
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

    The schema has strings and longs. What `pack` made for a cluster travels with its rows: sent as
    a part of the function, all of it went to every task. Rows come with what `rows.snapshot_of`
    inspects.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if not packed:
        return create_dataframe(objects.sparkSession, [], schema)

    def found(given: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        with _pause_gc():
            held = [Row(*each) for each in _row_tuples(given.filter(given[_OWN].is_null()))]
            if not held:  # the run does not have this cluster
                return arrow_table([], schema)
            own = unpack(given[_OWN].drop_null()[0].as_py())
            return arrow_table(list(work(held, own)), schema)

    is_object = ~F.col("kind").isin(*NON_OBJECT_KINDS)
    concerned = F.col("cluster").isin(*packed) & ~F.col("kind").isin(USE, GROUP)
    concerned &= ~is_object | F.col("value").isNotNull()
    result = F.when(F.col("kind").isin(*NON_OBJECT_KINDS), F.col("attributes"))
    rows = objects.where(concerned).withColumn("attributes", result).select(*Row._fields)
    schema_of_own = f"cluster string, {_OWN} binary"
    own = create_dataframe(objects.sparkSession, [*packed.items()], schema_of_own)
    both = rows.unionByName(own, allowMissingColumns=True)
    return map_groups(both, ("cluster",), found, schema)


def pack(own: object) -> bytes:
    """Pickle what is one cluster's own and compress it; what Python itself can in half the time.

    Values in policies are no such thing.
    """
    try:
        pickled = pickle.dumps(own, pickle.HIGHEST_PROTOCOL)
    except TypeError:
        from pyspark import cloudpickle

        pickle_all: Callable[[object], bytes] = cloudpickle.dumps
        pickled = pickle_all(own)
    return zlib.compress(pickled, zlib.Z_BEST_SPEED)


def unpack(packed: bytes) -> Any:  # noqa: ANN401 - what was packed
    """Return what `pack` packed."""
    return pickle.loads(zlib.decompress(packed))  # noqa: S301 - our own, of a moment ago


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
