"""How Spark plans the queries of a command that is about few rows."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kplan.fleet.spark.session import SUITS_SETTING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOR_FEW_ROWS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}
"""Few rows are one task, and Spark need not plan each step of a query anew."""


def expect_few_rows(spark: "SparkSession") -> Callable[[], None]:
    """Have Spark plan its queries for few rows from now on; returns what ends that.

    Nothing changes where `enable_codegen` changes nothing, either.
    """
    conf = spark.conf
    before: dict[str, str] = {}
    if is_suited(spark):
        before = {name: str(conf.get(name)) for name in _FOR_FEW_ROWS}
        for name, value in _FOR_FEW_ROWS.items():
            conf.set(name, value)

    def end() -> None:
        for name, value in before.items():
            conf.set(name, value)

    return end


def is_suited(spark: "SparkSession") -> bool:
    """Say if `expect_few_rows` changes anything: Spark is of one process, with kplan's settings."""
    return spark.conf.get(SUITS_SETTING, "false") == "true"
