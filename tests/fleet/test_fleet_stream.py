"""A micro-batch of a topic, and what was read of it before."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.store import Store
from kplan.fleet.stream import FollowedTopic, add_records
from tests.fleet.test_fleet_logs import line, requests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RECORDS = "partition int, offset long, value binary"


def test_a_micro_batch_that_is_done_again_or_was_ingested_meanwhile_counts_once(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Also a record of an hour before."""
    store = Store(spark, str(tmp_path / "tables"))
    told = [(n % 2, n // 2, line(f"t{n}", day=9 - n).encode()) for n in range(6)]

    def add(*records: tuple[int, int, bytes]) -> int:
        batch = spark.createDataFrame(list(records), RECORDS)
        return add_records(store, batch, FollowedTopic("eu", "audit")).lines

    assert add(*told[:4]) == 4
    assert add(*told[:4]) == 0
    assert add(*told) == 2
    assert requests(store) == {f"t{n}": 1 for n in range(6)}
    assert {each.end for each in store.logs.topic_ends().values()} == {3}
