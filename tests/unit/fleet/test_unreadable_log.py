"""The damaged file among many, where Spark does not say which one it is."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from pyspark.errors import PySparkException

from kplan.fleet.logs import outcome
from kplan.fleet.logs.content import LINE_LIMIT
from kplan.fleet.logs.outcome import unreadable_source
from kplan.fleet.logs.part import LogPart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED_TASK = PySparkException("Job aborted due to stage failure: java.io.EOFException: its end")
LOST = PySparkException("Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)")
ENDED = PySparkException("Spark ended")
NAMED = PySparkException("Encountered error while reading file s3a://b/1.log.gz.  SQLSTATE: KD001")


class Reader:
    """Reads all but some files; `asked` is what it was asked for."""

    def __init__(self, *damaged: str, failure: Exception = FAILED_TASK) -> None:
        self.damaged = damaged
        self.failure = failure
        self.asked: list[Sequence[str]] = []

    def options(self, **named: object) -> "Reader":
        assert named == LINE_LIMIT
        return self

    def text(self, paths: Sequence[str]) -> SimpleNamespace:
        def count() -> int:
            self.asked.append(paths)
            if set(self.damaged) & set(paths):
                raise self.failure
            return 0

        return SimpleNamespace(count=count)


def named(reader: Reader, failure: Exception, count: int = 9) -> str:
    parts = [LogPart("eu", f"s3a://b/{n}%5B.log.gz", "") for n in range(count)]
    spark = cast("SparkSession", SimpleNamespace(read=reader))
    return unreadable_source(spark, failure, parts)


@pytest.fixture(autouse=True)
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a Spark that names no file, as 3.5."""
    monkeypatch.setattr(outcome, "names_unreadable_files", lambda: False)


@pytest.mark.parametrize("at", range(9))
def test_a_damaged_file_is_found_among_halves(at: int) -> None:
    reader = Reader(rf"s3a://b/{at}\[.log.gz")
    assert named(reader, FAILED_TASK) == f"s3a://b/{at}%5B.log.gz"
    assert len(reader.asked) <= 5
    assert named(Reader(r"s3a://b/0\[.log.gz"), FAILED_TASK, count=1) == "s3a://b/0%5B.log.gz"


def test_one_of_several_is_found() -> None:
    reader = Reader(r"s3a://b/3\[.log.gz", r"s3a://b/8\[.log.gz")
    assert named(reader, FAILED_TASK) == "s3a://b/3%5B.log.gz"


def test_where_another_thing_failed_no_file_is_blamed() -> None:
    assert named(Reader(), FAILED_TASK) == ""
    assert named(Reader(r"s3a://b/1\[.log.gz", failure=ENDED), FAILED_TASK) == ""
    assert named(Reader(r"s3a://b/1\[.log.gz", failure=LOST), FAILED_TASK) == ""
    for other in (ENDED, LOST):
        reader = Reader(r"s3a://b/1\[.log.gz")
        assert named(reader, other) == ""
        assert not reader.asked
    assert named(Reader(), FAILED_TASK, count=0) == ""


def test_a_spark_that_names_the_file_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "names_unreadable_files", lambda: True)
    reader = Reader(r"s3a://b/1\[.log.gz")
    assert named(reader, NAMED) == "s3a://b/1.log.gz"
    assert named(reader, FAILED_TASK) == ""
    assert not reader.asked
