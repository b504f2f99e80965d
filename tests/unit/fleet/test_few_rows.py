"""Settings of Spark for queries about few rows, which end with them."""

from types import SimpleNamespace
from typing import Any

from kplan.fleet.spark.few_rows import expect_few_rows

ADAPTIVE, PARTITIONS = "spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions"


class Settings(dict[str, str]):
    def set(self, name: str, value: str) -> None:
        self[name] = value


def session(**more: str) -> Any:
    own = {ADAPTIVE: "true", PARTITIONS: "4", **{f"spark.kplan.{k}": v for k, v in more.items()}}
    return SimpleNamespace(conf=Settings(own))


def test_few_rows_are_one_task_until_more_are_expected() -> None:
    spark = session(suits="true")
    expect_many = expect_few_rows(spark)
    assert (spark.conf[ADAPTIVE], spark.conf[PARTITIONS]) == ("false", "1")
    expect_many()
    assert (spark.conf[ADAPTIVE], spark.conf[PARTITIONS]) == ("true", "4")


def test_a_spark_with_settings_of_its_own_keeps_them() -> None:
    spark = session()
    before = dict(spark.conf)
    expect_many = expect_few_rows(spark)
    assert spark.conf == before
    expect_many()
    assert spark.conf == before
