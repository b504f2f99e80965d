"""Settings of Spark for queries about few rows, which end with them."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from kplan.fleet.spark.few_rows import expect_few_rows

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
