"""What owners cost in odd months: topics that were deleted, and more bytes than a number has."""

import random
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.insight.costs import (
    cost_table,
    month_coverage,
    month_spans,
    partial_months,
    price_usage,
    unknown_requests,
)
from kplan.fleet.insight.spans import run_spans
from kplan.fleet.logs.requests import log_sums
from kplan.model.fleet import CostRow
from tests.fleet.seeded_logs import Logs, usage_of
from tests.fleet.test_fleet_insight import (
    GIB,
    PRICED,
    objects_of,
    ownership_of,
    read,
    usage_by_month,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXBIBYTE = 1 << 60


def test_a_month_ends_without_what_was_deleted_in_it(spark: "SparkSession") -> None:
    """An owner without topics has none, and pays for the days on which it had some."""
    objects = objects_of(
        spark,
        [
            ("2026-11-01", read("eu", ("gone.a", 3, 2, 6 * GIB), ("huge.a", 1, 1, EXBIBYTE + 1))),
            ("2026-11-11", read("eu", ("unsized.a", 1, 1, None), ("huge.a", 1, 1, EXBIBYTE + 1))),
            ("2026-11-30", read("eu", ("unsized.a", 1, 1, None), ("huge.a", 1, 1, EXBIBYTE + 1))),
        ],
    )
    log = Logs("eu", random.Random(1))
    log.add(date(2026, 11, 3), "User:a", "h", ("READ", "TOPIC"), 7)
    used = usage_of(spark, log.rows)
    sums = log_sums(used.selectExpr("*", "'eu' AS source"))
    usage = usage_by_month(objects, ownership_of(spark, []), used, sums)
    priced = price_usage(usage, PRICED, ("2026-11", "2026-11"))
    rows = {each.owner: each for each in (CostRow(*row) for row in cost_table(priced).collect())}
    gone, huge, unsized, logged = (rows[f"{name}.*"] for name in ("gone", "huge", "unsized", "a"))
    assert (gone.topics, gone.partitions, gone.replicas, gone.bytes) == (0, 0, 0, 0)
    assert gone.gib_months == Decimal("4.0000")  # 10 of 30 days of 12 GiB in both replicas
    assert huge.gib_months == Decimal("1073741824.0000")
    assert (huge.topics, huge.bytes) == (1, EXBIBYTE + 1)
    assert (unsized.topics, unsized.bytes, unsized.gib_months) == (1, None, None)
    assert (logged.topics, logged.bytes, logged.requests) == (None, None, 7)  # in no run


def test_months_of_which_no_day_of_a_cluster_is_known_are_told(spark: "SparkSession") -> None:
    """A cluster that runs cannot read any more costs nothing from then on, and says so."""
    eu, us = (read(name, ("shop.a", 3, 2, GIB)) for name in ("eu", "us"))
    away = read("us", is_read=False)
    runs = [("2023-12-15", [*eu, *us]), ("2024-01-02", [*eu, *away]), ("2024-03-02", away)]
    spans = month_spans(run_spans(objects_of(spark, runs)))
    log = Logs("us", random.Random(1))
    log.add(date(2023, 12, 15), "User:a", "h", ("READ", "TOPIC"), 7)
    sums = log_sums(usage_of(spark, log.rows).selectExpr("*", "'us' AS source"))

    coverage = month_coverage(spans, ("2024-01", "2024-03"))
    assert [tuple(each) for each in coverage.collect()] == [
        ("2024-03", "eu", 0, 31, None, None),
        ("2024-03", "us", 0, 31, None, None),
        ("2024-02", "eu", 0, 29, None, None),
        ("2024-02", "us", 0, 29, None, None),
        ("2024-01", "eu", 2, 31, "2024-01-01", "2024-01-02"),
        ("2024-01", "us", 0, 31, None, None),
    ]
    assert [tuple(each) for each in partial_months(coverage)] == [
        ("2024-01", 31, 0, 2, "2024-01-01", "2024-01-02"),
        ("2024-02", 29, 0, 0, None, None),
        ("2024-03", 31, 0, 0, None, None),
    ]
    whole = month_coverage(spans, ("2023-12", "2024-03"))
    there = objects_of(spark, [("x", us)])
    assert unknown_requests(there, sums, whole).count() == 0  # no run after its log
