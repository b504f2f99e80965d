"""The lines of authorizer logs: each is counted once, whatever stands in it."""

import time
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.requests import line_sums, malformed_lines, usage
from tests.fleet.spark_target import CONNECT, SparkTarget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINE = (
    "[2026-11-01 10:00:00,123] INFO Principal = {who} is Allowed operation = READ from host = "
    "10.0.0.1 on resource = {what} for request = FETCH with resourceRefCount = 1{rest}"
)


def line(
    who: str = "User:a", what: str = "Topic:LITERAL:orders", rest: str = " based on rule X (log)"
) -> str:
    return LINE.format(who=who, what=what, rest=rest)


CUT_PRINCIPAL, CUT_WHO, CUT_WHAT = (
    line().index(each) + 3 for each in ("Principal", "User:a", "orders")
)
"""Where a broker may die while it writes; its next line follows what is there."""
OLDER = line(rest=" (log)").replace("operation = READ", "Operation = Read")
WHOLE = {
    line(rest=""): ("User:a", "TOPIC", "orders"),
    line("User:CN=this is it, O=x"): ("User:CN=this is it, O=x", "TOPIC", "orders"),
    line("User:who operation = READ"): ("User:who operation = READ", "TOPIC", "orders"),
    line(what="Group:PREFIXED:a:b c"): ("User:a", "GROUP", "a:b c"),
    line(what="TransactionalId:LITERAL:é"): ("User:a", "TRANSACTIONAL_ID", "é"),
    line(rest=" based on rule X\nand more"): ("User:a", "TOPIC", "orders"),
    line().replace("INFO", "DEBUG kafka"): ("User:a", "TOPIC", "orders"),
    line()[:CUT_PRINCIPAL] + line("User:b"): ("User:b", "TOPIC", "orders"),
}
BROKEN = (
    "",
    line()[:120],
    line().replace("-11-", "-13-"),
    line().replace("10:00:00", "25:00:00"),
    *(line().replace("2026-11-01", day) for day in ("0000-01-01", "0001-01-01", "1969-12-31")),
    line().replace("2026-11-01", "9999-12-31"),
    line().replace("[2026-11-01", "b1 0001-01-01"),
    line().replace("Allowed", "Allow"),
    line(what="Topic:orders"),
    line("User:a\x01Allowed"),
    "User:a\x01Allowed\x01READ\x0110.0.0.1\x01Topic\x01orders\x01FETCH",
    line(rest="x"),
    f"{line()}\r{line()}",
    line() + line("User:b"),
    f"{line()}\r{line()}".replace("[", "").replace("]", ""),  # a layout that Java reads
    *(f"{line()[:cut]}{line('User:b')}" for cut in (CUT_WHO, CUT_WHAT)),
    *(f"{OLDER[:cut]}{OLDER}" for cut in (CUT_WHO, CUT_WHAT, len(OLDER))),
)


def test_what_is_whole_is_read_and_what_is_not_is_kept_as_often_as_it_is_there(
    spark: "SparkSession",
) -> None:
    rows = [("eu", "x", each) for each in (*WHOLE, *BROKEN, *BROKEN, *WHOLE, *WHOLE)]
    found = line_sums(
        parse_lines(
            sum_lines(spark.createDataFrame(rows, "cluster string, source string, line string"))
        )
    )
    used = usage(found).collect()
    told = {(row.principal, row.resource_type, row.resource_name) for row in used}
    assert told == set(WHOLE.values())
    assert sum(row["count"] for row in used) == 3 * len(WHOLE)
    assert {str(row.first_at) for row in used} == {"2026-11-01 10:00:00.123000"}
    stray = {each.line: each["count"] for each in malformed_lines(found).collect()}
    assert stray == dict.fromkeys(BROKEN, 2)


def test_no_filter_moves_before_lines_are_taken_apart(
    spark: "SparkSession", at_work: SparkTarget
) -> None:
    """Spark would write what takes them apart into it once more: for 3.5 that was without end."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    rows = [("eu", "x", line())]
    lines = spark.createDataFrame(rows, "cluster string, source string, line string")
    sums = line_sums(parse_lines(sum_lines(lines)))
    for found in (sums, usage(sums), malformed_lines(sums)):
        plan = found._jdf.queryExecution().optimizedPlan().toString()
        before, aggregate, after = plan.partition("- Aggregate [")
        assert aggregate
        assert "- Filter " in before
        assert "- Filter " not in after


def test_no_line_takes_long_however_its_words_repeat(spark: "SparkSession") -> None:
    """Names are what clients make of them, so that a cut line may try every end."""
    cut = line(what="Topic:LITERAL:" + line().partition(" with ")[0] * 300).partition(" with ")[0]
    rows = [("eu", "x", cut)]
    found = line_sums(
        parse_lines(
            sum_lines(spark.createDataFrame(rows, "cluster string, source string, line string"))
        )
    )
    began = time.monotonic()
    assert malformed_lines(found).count() == 1
    assert time.monotonic() - began < 60
