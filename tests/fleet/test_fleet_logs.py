"""The files of authorizer logs: each request counts once, whatever becomes of its file."""

import gzip
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.config.fleet_file import FleetCluster
from kplan.fleet.audit import list_log_files, malformed_logs, new_log_files, read_lines, usage_since
from kplan.fleet.log_layout import parse_lines
from kplan.fleet.store import Store, UnreadableLog
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import FleetError
from kplan.workflow.fleet.audit import WARNED_SHARE, _ingest_files, report_malformed
from tests.fleet.test_fleet_store import FORMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STRAY = "java.lang.IllegalStateException: something else\n"


def line(topic: str, at: str = "10:00:00,123", day: int = 1) -> str:
    return (
        f"[2026-11-{day:02} {at}] INFO Principal = User:a is Allowed operation = READ from host = "
        f"10.0.0.1 on resource = Topic:LITERAL:{topic} for request = FETCH with resourceRefCount "
        "= 1 based on rule X (kafka.authorizer.logger)\n"
    )


def ingest(store: Store, pattern: Path, zone: str = "", cluster: str = "eu") -> list[str]:
    """Read what is new as `kplan fleet audit ingest` does; returns the names of what was read."""
    spark = store._spark
    new = new_log_files(
        list_log_files(spark, cluster, [str(pattern)], zone), store.log_stamps(cluster)
    )
    if new:
        store.append_audit(parse_lines(read_lines(spark, cluster, new)), new, zone)
    return [Path(each.source).name for each in new]


def requests(store: Store) -> Counter[str]:
    rows = store.usage().collect()
    found = Counter[str]()
    for row in rows:
        found[row["resource_name"]] += row["count"]
    return found


def test_each_request_of_a_log_counts_once_whatever_becomes_of_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """It grows, is rotated and packed, a last line was half written, and its time zone is told."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "b[1].log"
    every = tmp_path / "*.log*"
    log.write_text(STRAY + line("orders", "02:30:00,000") + line("stock")[:80])
    assert ingest(store, every) == ["b%5B1%5D.log"]
    assert store.malformed_lines().count() == 2

    whole = STRAY + line("orders", "02:30:00,000") + line("stock")
    with gzip.open(tmp_path / "b[1].log.1.gz", "wb") as packed:
        packed.write(whole.encode())
    log.write_text(line("bills"))
    (tmp_path / "b2.log").write_text(line("bills"))
    assert len(ingest(store, every, "Europe/Berlin")) == 3
    assert ingest(store, every, "Europe/Berlin") == []
    assert requests(store) == {"orders": 1, "stock": 1, "bills": 2}
    first = min(row["first_at"] for row in store.usage().collect())
    assert str(first) == "2026-11-01 01:30:00"
    kept = [(each["line"], each["count"]) for each in store.malformed_lines().collect()]
    assert kept == [(STRAY.strip(), 1)]


def test_a_log_that_is_cut_is_named_and_takes_nothing_from_the_others(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "a.log").write_text(line("orders"))
    (tmp_path / "b[1].log.gz").write_bytes(gzip.compress(line("stock").encode())[:60])
    place = SourceRange("fleet.hcl", 1, 1, 1, 1)
    cluster = FleetCluster("eu", place, audit=(str(tmp_path / "*.log*"),))
    store = Store(spark, str(tmp_path / "tables"))
    (left_out,) = _ingest_files(store, spark, cluster)
    assert "b%5B1%5D.log.gz" in left_out.detail
    assert requests(store) == {"orders": 1}

    (tmp_path / "a.log").unlink()
    with pytest.raises(UnreadableLog):
        _ingest_files(store, spark, cluster)


def test_a_pattern_that_fits_nothing_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"Cluster eu: there is no log \S*none-\*\.log"):
        list_log_files(spark, "eu", [str(tmp_path / "none-*.log")])


@pytest.mark.parametrize("form", FORMS)
def test_logs_are_asked_by_days_and_kept_as_long_as_is_said(
    spark: "SparkSession", tmp_path: Path, form: str
) -> None:
    store, log = Store(spark, str(tmp_path / "tables"), form), tmp_path / "authorizer.log"
    log.write_text("".join(line("orders", day=day) for day in (1, 1, 2, 3)))
    (tmp_path / "authorizer.log.1").write_text(line("stock"))
    ingest(store, tmp_path / "*.log*", cluster="e'u:1")
    second = datetime(2026, 11, 2, 10, tzinfo=UTC)
    asked = usage_since(store.usage(), second).collect()
    assert [row["count"] for row in asked] == [1, 1]

    assert store.vacuum_logs(timedelta(days=5), second) == 0
    assert store.vacuum_logs(timedelta(0), second) == 1
    assert requests(store) == {"orders": 4}
    assert store.vacuum_logs(timedelta(0), second + timedelta(days=9)) == 1
    assert not requests(store)


def test_a_log_of_malformed_lines_is_warned_of_or_an_error_that_names_the_nearest_layout(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path / "tables"))
    few, most = line("orders") * 49 + STRAY, line("stock") + "01 Nov 10:00 Principal = x\n" * 2
    rare = line("bills") * 100 + STRAY
    for name, text in (("few", few), ("most", most), ("rare", rare)):
        (tmp_path / f"{name}.log").write_text(text)
    ingest(store, tmp_path / "*.log")
    found = malformed_logs(store.usage(), store.malformed_lines(), WARNED_SHARE)
    names = [(each.source.rpartition("/")[2], each.malformed, each.lines) for each in found]
    assert names == [("most.log", 2, 3), ("few.log", 1, 50)]

    warnings: list[str] = []
    (error,) = report_malformed(found, warnings.append)
    assert "eu: 2 of 3 lines (67%)" in error
    assert "the nearest layout is a log4j pattern without a date" in error
    (warning,) = warnings
    assert "1 of 50 lines (2%)" in warning
    assert STRAY.strip() in warning
