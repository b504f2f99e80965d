"""The clusters of a fleet as a data source of Spark: one partition per cluster.

Only Spark loads this module, so PySpark is imported as soon as it is. Spark has three processes of
Python load it before any that reads: what only these last need is imported there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle  # noqa: TID253 - see above
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition  # noqa: TID253

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kplan.fleet.reader import SnapshotSource

SOURCE_NAME = "kplan_cluster"
_BATCH_ROWS = 10_000


class _ClusterPartition(InputPartition):
    """A cluster: its name, and its `Source` packed."""

    def __init__(self, name: str, packed: bytes) -> None:
        super().__init__(name)
        self.packed = packed


class _ClusterReader(DataSourceReader):
    def __init__(self, packed: Mapping[str, bytes]) -> None:
        self._packed = packed

    def partitions(self) -> Sequence[InputPartition]:
        return [_ClusterPartition(*each) for each in self._packed.items()]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read one cluster on an executor, as Arrow batches."""
        import pyarrow as pa  # noqa: PLC0415 - on the executor

        from kplan.fleet.dataframe import map_array, string_array  # noqa: PLC0415 - see above
        from kplan.fleet.reader import read_rows  # noqa: PLC0415

        if not isinstance(partition, _ClusterPartition):
            return
        rows = read_rows(cloudpickle.loads(partition.packed))
        for start in range(0, len(rows), _BATCH_ROWS):
            part = rows[start : start + _BATCH_ROWS]
            found = {
                name: string_array([getattr(row, name) for row in part]) for name in STRING_COLUMNS
            }
            found["attributes"] = map_array([row.attributes for row in part])
            yield pa.RecordBatch.from_arrays([*found.values()], names=[*found])


STRING_COLUMNS = ("cluster", "kind", "identity", "uid", "value")


def read_clusters(spark: "SparkSession", sources: "Sequence[SnapshotSource]") -> "DataFrame":
    """Return the rows of all clusters, read on the executors when Spark comes to it.

    How to connect travels inside the data source, not in its options: Spark shows options.
    """
    from kplan.fleet.snapshot import OBJECT_SCHEMA  # noqa: PLC0415 - see above

    pack: Callable[[SnapshotSource], bytes] = cloudpickle.dumps
    packed = {each.name: pack(each) for each in sources}

    class ClusterSource(DataSource):
        """Topics, ACLs and all other kinds of the clusters of a fleet."""

        @classmethod
        def name(cls) -> str:
            return SOURCE_NAME

        def schema(self) -> str:
            return OBJECT_SCHEMA

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ANN401 - Spark's own
            del schema
            return _ClusterReader(packed)

    spark.dataSource.register(ClusterSource)
    return spark.read.format(SOURCE_NAME).load()
