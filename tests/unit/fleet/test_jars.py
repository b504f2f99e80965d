"""Libraries that Spark needs beside its own: one place knows which jar is built for which Spark."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from pyspark.errors import AnalysisException

from kplan.fleet import jars
from kplan.fleet.iceberg_tables import IcebergTables
from kplan.fleet.jars import DELTA_LAKE, ICEBERG_RUNTIME, KAFKA_CONNECTOR, SparkLibrary
from kplan.fleet.logs.audit_topic import follow_records
from kplan.fleet.tables import read_if_exists
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES, FILES = "spark.jars.packages", "spark.jars"
LIBRARIES = (DELTA_LAKE, ICEBERG_RUNTIME, KAFKA_CONNECTOR)
OTHERS = (
    "/opt/delta-spark/postgresql.jar,/opt/iceberg-spark-runtime/aws.jar",
    "org.apache.iceberg:iceberg-aws-bundle:1.12.0,io.delta:delta-sharing-spark_2.13:1.4.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
)
"""Jars that stand beside those of a library, or in a folder with its name."""


def spark_at_work(version: str, failure: str) -> "SparkSession":
    """Make a session of some version, say of a Connect server, that fails whatever it is asked."""
    spark = MagicMock(version=version)
    loaded = spark.readStream.format.return_value.options.return_value.load
    spark.sql.side_effect = loaded.side_effect = AnalysisException(failure)
    return spark


@pytest.mark.parametrize(
    ("spark", "jar"),
    [
        ("3.5.9", "io.delta:delta-spark_2.12:3.3.3"),
        ("4.1.4", "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("3.5.9", "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0"),
        ("4.0.5", "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"),
        ("3.5.9", "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.9"),
        ("4.3.0", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"),
    ],
)
def test_a_jar_is_of_the_scala_and_version_of_spark(
    monkeypatch: pytest.MonkeyPatch, spark: str, jar: str
) -> None:
    monkeypatch.setattr(jars, "spark_version", lambda: spark)
    (library,) = (each for each in LIBRARIES if each.artifact in jar)
    own: Mapping[str, str] = {PACKAGES: "a:b:1"}
    found = library.settings(own, {"KPLAN_MAVEN_REPOSITORY": "https://mirror.example"})
    assert found == {
        PACKAGES: f"a:b:1,{jar}",
        "spark.jars.repositories": "https://mirror.example",
    }


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.artifact)
def test_whoever_names_a_jar_of_a_library_knows_which_one(
    monkeypatch: pytest.MonkeyPatch, library: SparkLibrary
) -> None:
    """Also for a Spark that none is known for; a jar of something else is no such jar."""
    monkeypatch.setattr(jars, "spark_version", lambda: "4.9.0")
    assert library.settings({PACKAGES: f"a:b:1,org.x:{library.artifact}_4.9:5"}, {}) == {}
    assert library.settings({FILES: f"/x/y.jar,/z/{library.artifact}-4.9.jar"}, {}) == {}
    monkeypatch.setattr(jars, "spark_version", lambda: "4.1.4")
    for each in OTHERS:
        assert library.settings({FILES: each}, {})[PACKAGES] == library.jar("4.1.4")


def test_a_hint_names_the_jar_of_the_spark_at_work_whatever_is_installed_here() -> None:
    failures = ("[DATA_SOURCE_NOT_FOUND] delta", "Cannot find catalog plugin class", "kafka")
    delta, iceberg, kafka = (spark_at_work("4.1.4", each) for each in failures)
    hints: dict[str, Callable[[], object]] = {
        "delta-spark_4.1_2.13:4.4.0": lambda: read_if_exists(delta, lambda: delta.sql("")),
        "iceberg-spark-runtime-4.1_2.13:1.12.0": lambda: IcebergTables(iceberg, "/x"),
        "spark-sql-kafka-0-10_2.13:4.1.4": lambda: follow_records(kafka, "audit", {}, {}),
    }
    for jar, work in hints.items():
        with pytest.raises(FleetError) as refused:
            work()
        assert "Start Spark 4.1.4 with: --packages " in refused.value.hint
        assert f":{jar};" in refused.value.hint


def test_a_hint_for_a_spark_that_a_library_is_not_built_for_names_those_it_is() -> None:
    """A jar of another Spark would fail in the middle of a job."""
    spark = spark_at_work("4.3.0", "[DATA_SOURCE_NOT_FOUND] delta")
    with pytest.raises(FleetError, match="knows no Delta tables") as refused:
        read_if_exists(spark, lambda: spark.sql(""))
    assert refused.value.hint == (
        "Delta Lake does not run on Spark 4.3.0, but on 3.5, 4.0, 4.1, 4.2."
    )
