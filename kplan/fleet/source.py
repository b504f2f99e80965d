"""The clusters of a fleet as a data source of Spark: one partition per cluster.

Only Spark loads this module, so PySpark is imported as soon as it is.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (  # noqa: TID253 - see above
    DataSource,
    DataSourceReader,
    InputPartition,
)

from kplan.fleet.reading import Source, read_rows
from kplan.fleet.rows import OBJECTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "kplan_cluster"
_BATCH = 10_000


class _Partition(InputPartition):
    def __init__(self, source: Source) -> None:
        super().__init__(source.name)
        self.source = source


class _Reader(DataSourceReader):
    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def partitions(self) -> Sequence[InputPartition]:
        return [_Partition(each) for each in self._sources]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read one cluster on an executor, as Arrow batches."""
        import pyarrow as pa  # noqa: PLC0415 - on the executor

        if not isinstance(partition, _Partition):
            return
        rows = read_rows(partition.source)
        schema = pa.schema(
            [
                *((name, pa.string()) for name in OBJECT_TEXTS),
                ("attributes", pa.map_(pa.string(), pa.string())),
            ]
        )
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            columns = [
                *([getattr(row, name) for row in part] for name in OBJECT_TEXTS),
                [list(row.attributes.items()) for row in part],
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(c, t.type) for c, t in zip(columns, schema, strict=True)],
                schema=schema,
            )


OBJECT_TEXTS = ("cluster", "kind", "identity", "uid", "value")


def clusters(spark: "SparkSession", sources: Sequence[Source]) -> "DataFrame":
    """Give the rows of all clusters, read on the executors when Spark comes to it.

    How to connect travels inside the data source, not in its options: Spark shows options.
    """

    class ClusterSource(DataSource):
        """Topics, ACLs and all other kinds of the clusters of a fleet."""

        @classmethod
        def name(cls) -> str:
            return NAME

        def schema(self) -> str:
            return OBJECTS

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ANN401 - Spark's own
            del schema
            return _Reader(sources)

    spark.dataSource.register(ClusterSource)
    return spark.read.format(NAME).load()
