"""A micro-batch of a topic, and what was read of it before."""

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kplan.fleet import stream
from kplan.fleet.logs import store as logs_store
from kplan.fleet.logs.outcome import Added
from kplan.fleet.logs.part import LogPart
from kplan.fleet.logs.store import LogStore
from kplan.fleet.store import Store
from kplan.fleet.stream import (
    FollowedTopic,
    LogSource,
    StreamOptions,
    add_records,
    run_streams,
    ticks,
)
from kplan.model.errors import FleetError, KplanError
from tests.fleet.test_fleet_logs import line, requests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

RECORDS = "partition int, offset long, value binary"


def test_a_micro_batch_that_is_done_again_or_was_ingested_meanwhile_counts_once(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a record of an hour before; Spark plans for requests alone (decision 0198)."""
    monkeypatch.delattr(logs_store, "parse_lines")
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


def test_a_stream_reads_the_tables_only_where_it_does_not_go_on_from_what_it_wrote(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another one wrote meanwhile counts once all the same, and is known after a time."""
    store, read = Store(spark, str(tmp_path / "tables")), 0
    topic, other = FollowedTopic("eu", "audit"), FollowedTopic("eu", "audit")
    known = LogStore.parts

    def parts(logs: LogStore) -> list[LogPart]:
        nonlocal read
        read += 1
        return known(logs)

    def add(followed: FollowedTopic, start: int, end: int) -> tuple[int, int]:
        """Return how many lines were new, and how often the tables were read for it."""
        nonlocal read
        read = 0
        rows = [(0, n, line(f"t{n}").encode()) for n in range(start, end)]
        lines = add_records(store, spark.createDataFrame(rows, RECORDS), followed).lines
        return lines, read

    monkeypatch.setattr(LogStore, "parts", parts)
    assert add(topic, 0, 2) == (2, 1)
    assert add(topic, 2, 3) == (1, 0)
    assert add(topic, 3, 4) == (1, 0)
    assert add(topic, 2, 4) == (0, 1), "it is done again"
    assert add(other, 4, 7) == (3, 1)
    assert add(topic, 4, 5) == (1, 0)
    assert requests(store) == {f"t{n}": 1 for n in range(7)}
    assert add(topic, 5, 8) == (3, 0)
    assert requests(store) == {f"t{n}": 1 for n in range(8)}
    assert add(other, 8, 9) == (1, 1), "it does not know of 7"
    monkeypatch.setattr(stream, "REFRESH_S", -1.0)
    assert add(topic, 8, 10) == (1, 1)
    assert requests(store) == {f"t{n}": 1 for n in range(10)}


def test_a_stream_that_could_not_write_reads_the_tables_again(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perhaps all was written, and only the answer lost."""
    store, topic = Store(spark, str(tmp_path / "tables")), FollowedTopic("eu", "audit")
    add = LogStore.add

    def batch(start: int, end: int) -> int:
        rows = [(0, n, line(f"t{n}").encode()) for n in range(start, end)]
        return add_records(store, spark.createDataFrame(rows, RECORDS), topic).lines

    def lose_answer(*given: Any) -> None:  # noqa: ANN401 - as `add` takes them
        add(*given)
        raise FleetError("The logs could not be stored.")

    assert batch(0, 2) == 2
    with monkeypatch.context() as lost:
        lost.setattr(LogStore, "add", lose_answer)
        with pytest.raises(FleetError, match="could not be stored"):
            batch(2, 3)
    assert batch(2, 3) == 0
    assert requests(store) == {f"t{n}": 1 for n in range(3)}


def test_a_stream_whose_checkpoints_cannot_be_written_ends_if_it_never_began(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has begun is started again: the disk may have been full."""
    monkeypatch.setattr(stream, "MIN_RETRY_S", 0.1)
    place, stop_event, told = tmp_path / "tables", threading.Event(), list[str]()
    place.write_text("")  # no folder can be made below a file, also by root

    def report(_: str, failure: KplanError) -> None:
        told.append(str(failure))
        place.unlink(missing_ok=True)

    def add(_: "DataFrame") -> Added:
        if not told:  # the first micro-batch: then the place goes
            shutil.rmtree(place)
            place.write_text("")
        else:
            stop_event.set()
        return Added()

    source = LogSource("files", "files", ticks, add)
    options = StreamOptions(f"{place}/checkpoints", 0.1, lambda _: None, report)
    with pytest.raises(FleetError, match=r"A stream cannot begin with .*/checkpoints/files: "):
        run_streams(spark, [source], options, stop_event)
    assert not told

    place.unlink()
    run_streams(spark, [source], options, stop_event)
    assert told
