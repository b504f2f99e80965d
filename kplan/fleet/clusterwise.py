"""Work that takes all rows of a cluster at once: one task of Spark for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kplan.fleet.columns import longs, texts
from kplan.fleet.rows import GROUP, NO_OBJECTS, USE, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Own = TypeVar("Own")
Work = Callable[[Sequence[Row], Own], Iterable[Mapping[str, Any]]]
"""What is found in the rows of one cluster, with what is its own, say its configuration."""

_COLUMNS: Mapping[str, Callable[[Sequence[Any]], Any]] = {"string": texts, "long": longs}


def only(cluster: str, found: Mapping[str, Own]) -> Mapping[str, Own]:
    """Leave what there is of one cluster."""
    return {cluster: found[cluster]} if cluster in found else {}


def by_cluster(
    objects: "DataFrame", schema: str, work: Work[Own], owns: Mapping[str, Own]
) -> "DataFrame":
    """Give what is found in the rows of each cluster that `owns` names.

    The schema has strings and longs. All of `owns` goes to every executor, but packed: a task
    unpacks what its own clusters need. Rows come with what `rows.snapshot_of` looks at.
    """
    from pyspark import cloudpickle
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    columns = [each.split() for each in schema.split(", ")]
    pack: Callable[[Own], bytes] = cloudpickle.dumps
    packed = {name: pack(own) for name, own in owns.items()}

    def found(table: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        import pyarrow as pa  # noqa: PLC0415 - heavy

        held = [Row(*each) for each in _tuples(table)]
        rows = list(work(held, cloudpickle.loads(packed[held[0].cluster])))
        arrays = [_COLUMNS[kind]([each[name] for each in rows]) for name, kind in columns]
        return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])

    concerned = F.col("cluster").isin(*packed) & ~F.col("kind").isin(USE, GROUP)
    told = F.when(F.col("kind").isin(*NO_OBJECTS), F.col("attributes"))
    rows = objects.where(concerned).withColumn("attributes", told)
    return rows.select(*Row._fields).groupBy("cluster").applyInArrow(found, schema)


def _tuples(table: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401
    columns = [table.column(name).to_pylist() for name in Row._fields]
    columns[-1] = [dict(each or ()) for each in columns[-1]]
    return zip(*columns, strict=True)
