"""The clusters of a fleet as a data source of Spark: one partition per cluster.

Only Spark loads this module, so PySpark is imported as soon as it is. Spark has three processes of
Python load it before any that reads: what only these last need is imported there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle  # noqa: TID253 - see above
from pyspark.sql.datasource import (  # noqa: TID253
    DataSource,
    DataSourceReader,
    InputPartition,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kplan.fleet.reading import Source

NAME = "kplan_cluster"
_BATCH = 10_000


class _Partition(InputPartition):
    """A cluster: its name, and its `Source` packed."""

    def __init__(self, name: str, packed: bytes) -> None:
        super().__init__(name)
        self.packed = packed


class _Reader(DataSourceReader):
    def __init__(self, packed: Mapping[str, bytes]) -> None:
        self._packed = packed

    def partitions(self) -> Sequence[InputPartition]:
        return [_Partition(*each) for each in self._packed.items()]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read one cluster on an executor, as Arrow batches."""
        import pyarrow as pa  # noqa: PLC0415 - on the executor

        from kplan.fleet.columns import maps, texts  # noqa: PLC0415 - see above
        from kplan.fleet.reading import read_rows  # noqa: PLC0415

        if not isinstance(partition, _Partition):
            return
        rows = read_rows(cloudpickle.loads(partition.packed))
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            found = {name: texts([getattr(row, name) for row in part]) for name in OBJECT_TEXTS}
            found["attributes"] = maps([row.attributes for row in part])
            yield pa.RecordBatch.from_arrays([*found.values()], names=[*found])


OBJECT_TEXTS = ("cluster", "kind", "identity", "uid", "value")


def clusters(spark: "SparkSession", sources: "Sequence[Source]") -> "DataFrame":
    """Give the rows of all clusters, read on the executors when Spark comes to it.

    How to connect travels inside the data source, not in its options: Spark shows options.
    """
    from kplan.fleet.rows import OBJECTS  # noqa: PLC0415 - see above

    pack: Callable[[Source], bytes] = cloudpickle.dumps
    packed = {each.name: pack(each) for each in sources}

    class ClusterSource(DataSource):
        """Topics, ACLs and all other kinds of the clusters of a fleet."""

        @classmethod
        def name(cls) -> str:
            return NAME

        def schema(self) -> str:
            return OBJECTS

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ANN401 - Spark's own
            del schema
            return _Reader(packed)

    spark.dataSource.register(ClusterSource)
    return spark.read.format(NAME).load()
