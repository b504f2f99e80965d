"""Logs whose old requests were deleted, and that are renamed and packed later."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.store import Store
from kplan.model.errors import FleetError
from tests.fleet.log_lines import ingest
from tests.fleet.test_fleet_logs import line, pack, requests

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
