"""One Spark session for all tests of the fleet."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.engine import Engine, session
from kplan.fleet.rows import OBJECTS, Row
from tests.fleet.connect import QUICK
from tests.fleet.standalone import ON_LOOPBACK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER = os.environ.get("KPLAN_TEST_SPARK_MASTER", "")
ENGINE = Engine(
    master=MASTER or "local[2]",
    remote=os.environ.get("KPLAN_TEST_SPARK_REMOTE", ""),
    conf={**QUICK, **(ON_LOOPBACK if MASTER else {})},
)
"""The same suite runs on another Spark when the environment names one."""


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    with session(ENGINE) as found:
        yield found


@pytest.fixture
def objects(spark: "SparkSession") -> Callable[[Sequence[Row]], "DataFrame"]:
    """Make the rows of a run a DataFrame."""
    return lambda rows: spark.createDataFrame([tuple(each) for each in rows], OBJECTS)
