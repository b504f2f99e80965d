from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from kplan.fleet import jars
from kplan.fleet.jars import DELTA_VERSION
from kplan.fleet.tables import DeltaTables, delta_settings
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = "spark.jars.packages"


def spark_is(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(jars, "spark_version", lambda: version)


def test_the_jar_is_the_one_built_for_this_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    spark_is(monkeypatch, "4.2.1")
    found = delta_settings({}, {})
    assert found[JARS] == f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
    spark_is(monkeypatch, "3.5.9")
    assert delta_settings({}, {})[JARS] == "io.delta:delta-spark_2.12:3.3.3"
    assert "spark.jars.repositories" not in found
    assert delta_settings({}, {"KPLAN_MAVEN_REPOSITORY": "https://mirror.example"})[
        "spark.jars.repositories"
    ] == ("https://mirror.example")


def test_what_the_user_set_is_kept_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spark_is(monkeypatch, "4.2.1")
    own = {JARS: "a:b:1", "spark.sql.extensions": "x.Y", "spark.sql.catalog.spark_catalog": "z.Z"}
    found = delta_settings(own, {})
    assert found[JARS] == f"a:b:1,io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
    assert found["spark.sql.extensions"].startswith("x.Y,io.delta.")
    assert found["spark.sql.catalog.spark_catalog"] == "z.Z"


def test_a_spark_that_no_delta_lake_runs_on_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark_is(monkeypatch, "4.3.0")
    with pytest.raises(FleetError, match=r"does not run on Spark 4\.3\.0") as refused:
        delta_settings({}, {})
    assert "pip install 'kplan[fleet,delta]'" in refused.value.hint


def test_tables_are_merged_while_another_command_deletes_of_them() -> None:
    told: list[str] = []

    def answer(statement: str) -> None:
        told.append(statement)
        if told.count(statement) == 1 and "runs" in statement:
            raise RuntimeError("[DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT] Transaction conflict")

    DeltaTables(cast("SparkSession", SimpleNamespace(sql=answer)), "/srv/fleet").optimize()
    assert [each.rpartition("/")[2].strip("`") for each in told] == [
        *("objects", "requests"),
        *("runs", "runs"),
        "logs",
    ]
