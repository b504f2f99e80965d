"""Settings of Spark for queries about few rows, which end with them."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kplan.config.inputs import Inputs
from kplan.fleet.spark.few_rows import expect_few_rows
from kplan.fleet.store import Run
from kplan.workflow.fleet.inputs import ReportInputs
from kplan.workflow.fleet.ports import FleetOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADAPTIVE, PARTITIONS = "spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions"


class Settings(dict[str, str]):
    def set(self, name: str, value: str) -> None:
        self[name] = value


def session(**more: str) -> "SparkSession":
    own = {ADAPTIVE: "true", PARTITIONS: "4", **{f"spark.kplan.{k}": v for k, v in more.items()}}
    return cast("SparkSession", SimpleNamespace(conf=Settings(own)))


def settings(spark: "SparkSession") -> tuple[str | None, str | None]:
    return spark.conf.get(ADAPTIVE), spark.conf.get(PARTITIONS)


def test_few_rows_are_one_task_until_more_are_expected() -> None:
    spark = session(suits="true")
    expect_many = expect_few_rows(spark)
    assert settings(spark) == ("false", "1")
    expect_many()
    assert settings(spark) == ("true", "4")


def test_a_spark_with_settings_of_its_own_keeps_them() -> None:
    spark = session()
    expect_many = expect_few_rows(spark)
    assert settings(spark) == ("true", "4")
    expect_many()
    assert settings(spark) == ("true", "4")


@pytest.mark.parametrize(("count", "is_many"), [(99_999, False), (100_000, True)])
def test_many_rows_are_expected_of_many_lines_of_logs_and_of_many_runs(
    monkeypatch: pytest.MonkeyPatch, count: int, *, is_many: bool
) -> None:
    monkeypatch.setattr(ReportInputs, "of_fleet", lambda _, rows: rows)
    told: list[str] = []
    store = SimpleNamespace(
        usage=lambda: "requests",
        objects_of_runs=lambda _: "objects",
        logs=SimpleNamespace(lines=count),
    )
    found = SimpleNamespace(
        is_read=True,
        run=None,
        store=store,
        keep=lambda rows: rows,
        expect_many_rows=lambda: told.append("many"),
    )
    options = FleetOptions(Path(), Inputs(), is_explain=True)
    inputs = ReportInputs(options, cast("Any", None), cast("Any", found), cast("Any", None))
    assert inputs.logs == cast("Any", "requests")
    assert told == ["many"] * is_many
    runs = [Run("a", "1", "2026-11-27T00:00:00+00:00", rows=count // 2) for _ in range(2)]
    inputs.objects_of_runs([*runs, Run("b", "2", "2026-11-27T01:00:00+00:00", rows=count % 2)])
    assert told == ["many"] * 2 * is_many
