"""Lines of authorizer logs in another encoding than UTF-8."""

from typing import TYPE_CHECKING

import pytest

from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.requests import line_sums, malformed_lines, usage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINE = (
    b"[2026-11-01 10:00:00,123] INFO Principal = User:caf\xe9 is Allowed operation = READ from host"
    b" = 10.0.0.1 on resource = Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1"
)


def test_bytes_that_are_no_text_take_nothing_from_the_lines_of_a_log(spark: "SparkSession") -> None:
    """Arrow and what reads Parquet beside Spark stop at them."""
    rows = [("eu", "x", LINE), ("eu", "x", b"caf\xe9 \xff\xfe")]
    read = spark.createDataFrame(rows, "cluster string, source string, line binary")
    found = line_sums(
        parse_lines(sum_lines(read.selectExpr("cluster", "source", "cast(line as string) as line")))
    )
    (used,) = usage(found).collect()
    assert used["principal"] == "User:caf\ufffd"
    (stray,) = malformed_lines(found).collect()
    assert stray["line"] == "caf\ufffd \ufffd\ufffd"
