"""One Spark session for all tests of the fleet."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.engine import Engine, session
from kplan.fleet.rows import OBJECTS, Row
from kplan.fleet.tables import DELTA, PARQUET
from tests.fleet.connect import QUICK, has_delta
from tests.fleet.standalone import ON_LOOPBACK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REMOTE = os.environ.get("KPLAN_TEST_SPARK_REMOTE", "")
MASTER = os.environ.get("KPLAN_TEST_SPARK_MASTER", "")
ENGINE = Engine(
    master=MASTER or "local[2,4]",
    remote=REMOTE,
    conf={**QUICK, **(ON_LOOPBACK if MASTER else {})},
    tables=DELTA if has_delta() and not REMOTE else PARQUET,
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
