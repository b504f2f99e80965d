"""Work that takes all rows of a cluster at once: one task of Spark for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kplan.fleet.columns import table
from kplan.fleet.rows import GROUP, NO_OBJECTS, USE, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Own = TypeVar("Own")
Work = Callable[[Sequence[Row], Own], Iterable[Mapping[str, Any]]]
"""What is found in the rows of one cluster, with what is its own, say its configuration."""


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

    pack: Callable[[Own], bytes] = cloudpickle.dumps
    packed = {name: pack(own) for name, own in owns.items()}

    def found(given: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        held = [Row(*each) for each in _tuples(given)]
        return table(list(work(held, cloudpickle.loads(packed[held[0].cluster]))), schema)

    concerned = F.col("cluster").isin(*packed) & ~F.col("kind").isin(USE, GROUP)
    told = F.when(F.col("kind").isin(*NO_OBJECTS), F.col("attributes"))
    rows = objects.where(concerned).withColumn("attributes", told)
    return rows.select(*Row._fields).groupBy("cluster").applyInArrow(found, schema)


def _tuples(given: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401
    columns = [given.column(name).to_pylist() for name in Row._fields]
    columns[-1] = [dict(each or ()) for each in columns[-1]]
    return zip(*columns, strict=True)
