"""Work that takes all rows of a cluster at once: one task of Spark for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kplan.fleet.rows import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[[Sequence[Row]], Iterable[Mapping[str, Any]]]
"""What is found in the rows of one cluster. It travels to the executors with all that it holds."""


def by_cluster(objects: "DataFrame", schema: str, work: Work) -> "DataFrame":
    """Give what is found in the rows of each cluster, as rows of the schema: strings and longs."""
    columns = [each.split() for each in schema.split(", ")]

    def found(table: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        import pyarrow as pa  # noqa: PLC0415 - heavy

        types = {"string": pa.string(), "long": pa.int64()}
        rows = list(work([Row(*each) for each in _tuples(table)]))
        arrays = [pa.array([each[name] for each in rows], types[kind]) for name, kind in columns]
        return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])

    return objects.select(*Row._fields).groupBy("cluster").applyInArrow(found, schema)


def _tuples(table: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401
    columns = [table.column(name).to_pylist() for name in Row._fields]
    columns[-1] = [dict(each or ()) for each in columns[-1]]
    return zip(*columns, strict=True)
