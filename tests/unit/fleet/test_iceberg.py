from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from kplan.fleet import jars
from kplan.fleet.iceberg_tables import CONFLICT_ERRORS, IcebergTables, iceberg_settings
from kplan.fleet.spark.session import table_settings
from kplan.fleet.tables import retry_on_conflict
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = "spark.jars.packages"
JAVA = "org.apache.iceberg.exceptions.NoSuchNamespaceException"


def spark_is(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(jars, "spark_version", lambda: version)


def test_the_jar_of_iceberg_is_the_one_built_for_this_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark_is(monkeypatch, "4.1.4")
    own = {JARS: "a:b:1", "spark.sql.extensions": "x.Y"}
    found = iceberg_settings(own, {"KPLAN_MAVEN_REPOSITORY": "https://mirror.example"})
    jar = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
    assert found[JARS] == f"a:b:1,{jar}"
    assert found["spark.sql.extensions"].startswith("x.Y,org.apache.iceberg.")
    assert found["spark.jars.repositories"] == "https://mirror.example"
    assert table_settings("parquet", own, {}) == {}
    spark_is(monkeypatch, "3.5.9")
    assert iceberg_settings({}, {})[JARS] == (
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0"
    )


def test_a_spark_that_no_iceberg_runs_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    spark_is(monkeypatch, "4.3.0")
    with pytest.raises(FleetError, match=r"does not run on Spark 4\.3\.0") as refused:
        table_settings("iceberg", {}, {})
    assert "spark.jars=FILE" in refused.value.hint


def spark_that_says(message: str) -> "SparkSession":
    """Give a Spark that answers each statement with this error."""

    def fail(_statement: str) -> object:
        raise RuntimeError(message)

    conf = SimpleNamespace(set=lambda *_: None)
    return cast("SparkSession", SimpleNamespace(conf=conf, sql=fail, version="4.0.5"))


@pytest.mark.parametrize(
    "message",
    [
        f": {JAVA}: Namespace does not exist: \n\tat org.apache.iceberg.hadoop.HadoopCatalog",
        f"({JAVA}) Namespace does not exist: \n\nJVM stacktrace:\n{JAVA}\n\tat org.apache",
        f"({JAVA}) Namespace does not exist: ",
    ],
    ids=["in this process", "on Spark Connect", "on Spark Connect without stack traces"],
)
def test_a_folder_without_tables_is_an_empty_store(message: str) -> None:
    IcebergTables(spark_that_says(message), "/srv/fleet")
    IcebergTables(spark_that_says(message), "/srv/fleet", "lake.kplan")


def test_a_catalog_that_lacks_a_namespace_which_was_named_cannot_be_used() -> None:
    message = f"({JAVA}) Namespace does not exist: sales\n\nJVM stacktrace:\n{JAVA}"
    with pytest.raises(FleetError, match="The catalog lake cannot be used"):
        IcebergTables(spark_that_says(message), "/srv/fleet", "lake.kplan")


def test_a_deletion_of_rows_that_are_gone_meanwhile_is_asked_again() -> None:
    told = "(org.apache.iceberg.exceptions.ValidationException) Missing required files to delete: x"
    left = [RuntimeError(told)]

    def delete() -> None:
        if left:
            raise left.pop()

    retry_on_conflict(delete, CONFLICT_ERRORS)
    assert not left
