"""Lines of log files for tests, as Spark itself reads them."""

from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.logs.file_names import LogPatterns
from kplan.fleet.store import Store
from kplan.workflow.fleet.ingest import ingest_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def file_lines(spark: "SparkSession", *paths: Path) -> "DataFrame":
    """Read whole files: cluster, source, line."""
    read = spark.read.text([str(each) for each in paths])
    return read.selectExpr("'eu' as cluster", "_metadata.file_path as source", "value as line")


def ingest(store: Store, pattern: Path, zone: str = "", cluster: str = "eu") -> list[str]:
    """Read what is new in logs; returns what could not be read."""
    given = [LogPatterns(cluster, (str(pattern),), zone)]
    found = ingest_files(store, store._spark, given)
    return [*(str(failure) for _, failure in found.failures), *found.notes]
