"""Rows of this process as a DataFrame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def local(spark: "SparkSession", rows: Sequence[Sequence[object]], schema: str) -> "DataFrame":
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
