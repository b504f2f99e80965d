"""Logs whose old requests were deleted, and that are renamed and packed later."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow.parquet import read_metadata

from kplan.fleet.logs import compaction
from kplan.fleet.store import Store
from kplan.model.errors import FleetError
from tests.fleet.log_lines import ingest
from tests.fleet.test_fleet_logs import line, pack, requests, stored_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rotate(folder: Path) -> None:
    """Give each log the next number, the last one first."""
    for each in sorted(folder.glob("x.log.*"), reverse=True):
        _, _, number, *packed = each.name.split(".")
        each.rename(folder / ".".join(["x", "log", str(int(number) + 1), *packed]))


def test_a_deleted_log_is_not_read_again_under_its_next_names(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """One is packed, one is not, and goes on. What is put together in between forgets neither."""
    store, every = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log*"
    plain = tmp_path / "x.log.1"
    plain.write_text(line("old"))
    (tmp_path / "x.log.2").write_text(line("older"))
    pack(tmp_path / "x.log.2")
    (tmp_path / "x.log").write_text(line("now", day=20))
    assert ingest(store, every) == []
    assert store.vacuum_logs(timedelta(days=5), datetime(2026, 11, 20, tzinfo=UTC)) == 2
    assert requests(store) == {"now": 1}
    for day in (21, 22, 23):
        rotate(tmp_path)
        (tmp_path / "x.log.1").write_text(line("new", day=day))
        assert ingest(store, every) == []
        assert requests(store) == {"now": 1, "new": day - 20}
        assert store.logs.compact() > 0
        held = store.logs.parts()
        assert ingest(store, every) == []
        assert [each for each in store.logs.parts() if each not in held] == []
    assert ingest(store, every, "Europe/Berlin") == []
    assert requests(store) == {"now": 1, "new": 3}
    with (tmp_path / "x.log.4").open("a") as more:
        more.write(line("late", day=24))
    assert ingest(store, every) == []
    assert requests(store) == {"now": 1, "new": 3, "late": 1}
    store.logs.compact()
    rotate(tmp_path)
    assert ingest(store, every) == []
    assert requests(store) == {"now": 1, "new": 3, "late": 1}


def test_a_store_with_nothing_but_a_renamed_deleted_log_has_no_requests(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store, every = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log*"
    (tmp_path / "x.log.1").write_text(line("old"))
    assert ingest(store, every) == []
    assert store.vacuum_logs(timedelta(0), datetime(2026, 11, 20, tzinfo=UTC)) == 1
    rotate(tmp_path)
    assert ingest(store, every) == []
    assert store.logs.lines == sum(each.lines for each in store.logs.counts()) == 0
    assert store.logs.compact() == 0


def test_logs_with_lines_of_other_loggers_alone_are_put_together(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    for _ in range(2):
        with log.open("a") as more:
            more.write("[2026-11-01 10:00:00,000] INFO started (kafka.server.KafkaServer)\n")
        assert ingest(store, log) == []
    store.logs.compact()
    assert [(each.lines, each.others) for each in store.logs.counts()] == [(0, 2)]
    assert store.vacuum_logs(timedelta(0), datetime(2026, 11, 20, tzinfo=UTC)) == 0
    with pytest.raises(FleetError, match="No authorizer log"):
        store.usage()


def test_maintenance_writes_what_is_new_and_leaves_alone_what_is_together(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log goes on, one is new, and one is only renamed, which stays known."""
    monkeypatch.setattr(compaction, "SMALL_LINES", 100)
    store, every = Store(spark, str(tmp_path / "tables")), tmp_path / "*.log*"
    later, written = datetime.now(UTC) + timedelta(hours=3), []
    for first, count in ((0, 2_000), (2_000, 200)):
        for half in range(2):
            with (tmp_path / "x.log").open("a") as more:
                begin = first + half * count // 2
                topics = range(begin, begin + count // 2)
                more.writelines(line(f"orders-{n}", day=1 + n % 28) for n in topics)
            (tmp_path / f"y{begin}.log").write_text(line("stock"))
            assert ingest(store, every) == []
        before = {*(tmp_path / "tables/requests").glob("attempt=merged-*")}
        assert store.logs.compact() == 2
        (merged,) = {*(tmp_path / "tables/requests").glob("attempt=merged-*")} - before
        written.append(sum(read_metadata(each).num_rows for each in merged.glob("*.parquet")))
        (tmp_path / "y0.log").rename(tmp_path / "y0.log.1")
        assert ingest(store, every) == []
        assert store.logs.remove_merged(later) == (3 if first else 2)
        (tmp_path / "y0.log.1").rename(tmp_path / "y0.log")
    assert written == [2_002, 202]
    parts = store.logs.parts()
    assert requests(store) == {**{f"orders-{n}": 1 for n in range(2_200)}, "stock": 4}
    assert sorted(store.logs.counts()) == stored_counts(store)
    (tmp_path / "x.log").rename(tmp_path / "x.log.1")
    assert ingest(store, every) == []
    assert [each.lines for each in store.logs.parts() if each not in parts] == [0]
    assert requests(store).total() == 2_204
    assert store.logs.compact() == 0


def test_a_request_in_an_open_last_line_counts_once_when_its_file_is_renamed_and_packed(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    every = tmp_path / "x.log*"
    log.write_text(line("orders").rstrip())
    assert ingest(store, every) == []
    assert requests(store) == {"orders": 1}
    log = log.rename(tmp_path / "x.log.1")
    log.write_text(line("orders"))
    (tmp_path / "x.log").write_text(line("stock").rstrip())
    assert ingest(store, every) == []
    assert requests(store) == {"orders": 1, "stock": 1}
    store.logs.compact()
    pack(log)
    assert ingest(store, every) == []
    assert requests(store) == {"orders": 1, "stock": 1}
