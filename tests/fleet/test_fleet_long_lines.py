"""Lines without an end, as of a file that was filled up, in files that Spark itself reads."""

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.logs.content import MAX_LINE_BYTES
from kplan.fleet.store import Store
from tests.fleet.log_lines import ingest
from tests.fleet.test_fleet_logs import line, requests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_spark_reads_no_line_that_is_longer_than_any_of_a_broker(
    spark: "SparkSession", tmp_path: Path
) -> None:
    long = b"x" * (2 * MAX_LINE_BYTES) + b"\n"
    held = line("orders").encode() + long + line("stock").encode()
    (tmp_path / "x.log.deflate").write_bytes(zlib.compress(held))
    store = Store(spark, str(tmp_path / "tables"))
    assert ingest(store, tmp_path / "*.log*") == []
    assert requests(store) == {"orders": 1, "stock": 1}
    assert store.malformed_lines().count() == 0
