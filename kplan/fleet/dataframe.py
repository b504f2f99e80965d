"""DataFrames and Arrow columns from Python values, and work on one cluster per task."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kplan.fleet.snapshot import GROUP, NON_OBJECT_KINDS, USE, Row

if TYPE_CHECKING:
    import pyarrow as pa

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
}


def arrow_table(rows: Sequence[Mapping[str, Any]], schema: str) -> "pa.Table":
    """Make a table of rows; the schema, as Spark writes it, has strings and longs."""
    import pyarrow as pa  # noqa: PLC0415

    columns = [each.split() for each in schema.split(", ")]
    arrays = [_ARRAY_BUILDERS[kind]([each[name] for each in rows]) for name, kind in columns]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def _offset_buffer(lengths: Iterable[int]) -> "pa.Buffer":
    import pyarrow as pa  # noqa: PLC0415

    return pa.py_buffer(array(_OFFSET_CODE, accumulate(lengths, initial=0)))


def _validity_buffer(values: Sequence[object]) -> "pa.Buffer | None":
    """Return a bit for each value that is there, the first one lowest; nothing where all are."""
    import pyarrow as pa  # noqa: PLC0415

    if None not in values:
        return None
    bits = "".join("01"[each is not None] for each in reversed(values))
    return pa.py_buffer(int(bits, 2).to_bytes((len(bits) + 7) // 8, "little"))


if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def create_dataframe(
    spark: "SparkSession", rows: Sequence[Sequence[object]], schema: str
) -> "DataFrame":
    """Give rows to Spark as values of its plan: read as tuples, they take a Python worker to read.

    Maps are lists of pairs, or mappings.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    meant = cast("StructType", StructType.fromDDL(schema))
    fields = to_arrow_schema(meant)
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    arrays = [pa.array(found, each.type) for found, each in zip(columns, fields, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=fields)
    return spark.createDataFrame(table, meant)  # Spark Connect infers nothing without rows


if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Own = TypeVar("Own")
ClusterTask = Callable[[Sequence[Row], Own], Iterable[Mapping[str, Any]]]
"""What is found in the rows of one cluster, with what is its own, say its configuration."""


def select_cluster(cluster: str, found: Mapping[str, Own]) -> Mapping[str, Own]:
    """Leave what there is of one cluster."""
    return {cluster: found[cluster]} if cluster in found else {}


def map_clusters(
    objects: "DataFrame", schema: str, work: ClusterTask[Own], owns: Mapping[str, Own]
) -> "DataFrame":
    """Return what is found in the rows of each cluster that `owns` names.

    The schema has strings and longs. All of `owns` goes to every executor, but packed: a task
    unpacks what its own clusters need. Rows come with what `rows.snapshot_of` looks at.
    """
    from pyspark import cloudpickle
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    pack: Callable[[Own], bytes] = cloudpickle.dumps
    packed = {name: pack(own) for name, own in owns.items()}

    def found(given: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        held = [Row(*each) for each in _row_tuples(given)]
        return arrow_table(list(work(held, cloudpickle.loads(packed[held[0].cluster]))), schema)

    concerned = F.col("cluster").isin(*packed) & ~F.col("kind").isin(USE, GROUP)
    told = F.when(F.col("kind").isin(*NON_OBJECT_KINDS), F.col("attributes"))
    rows = objects.where(concerned).withColumn("attributes", told)
    return rows.select(*Row._fields).groupBy("cluster").applyInArrow(found, schema)


def _row_tuples(given: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401
    columns = [given.column(name).to_pylist() for name in Row._fields]
    columns[-1] = [dict(each or ()) for each in columns[-1]]
    return zip(*columns, strict=True)
