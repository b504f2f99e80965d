"""The files of authorizer logs: each request counts once, whatever becomes of its file."""

import gzip
import json
import os
import shutil
import zlib
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.config.fleet_file import load_fleet
from kplan.config.inputs import Inputs
from kplan.fleet.compat import is_on_connect
from kplan.fleet.logs.content import SAMPLE_BYTES
from kplan.fleet.logs.counts import LOG_KEYS, LogCount, count_rows, malformed_files
from kplan.fleet.logs.file_names import LogPatterns, list_log_files
from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.part import READER_VERSION, live_logs, log_id
from kplan.fleet.logs.requests import AUDIT_SCHEMA, line_sums, usage_since
from kplan.fleet.store import Store
from kplan.model.errors import FleetError
from kplan.workflow.fleet.ingest import WARNED_SHARE, ingest_files, log_patterns, report_malformed
from tests.fleet.log_lines import file_lines, ingest
from tests.fleet.test_fleet_store import FORMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXT = "User:a\x01Allowed\x01READ\x0110.0.0.1\x01Topic\x01orders\x01FETCH"
STRAY = "===> Launching kafka ...\n"


def line(topic: str, at: str = "10:00:00,123", day: int = 1) -> str:
    return (
        f"[2026-11-{day:02} {at}] INFO Principal = User:a is Allowed operation = READ from host = "
        f"10.0.0.1 on resource = Topic:LITERAL:{topic} for request = FETCH with resourceRefCount "
        "= 1 based on rule X (kafka.authorizer.logger)\n"
    )


def requests(store: Store) -> Counter[str]:
    rows = store.usage().collect()
    found = Counter[str]()
    for row in rows:
        found[row["resource_name"]] += row["count"]
    return found


def stored_counts(store: Store) -> list[LogCount]:
    """Count what is kept of logs by their rows, which take longer to read than their parts."""
    return sorted(LogCount(*row) for row in count_rows(store.logs.rows(), LOG_KEYS).collect())


def pack(log: Path) -> None:
    Path(f"{log}.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()


def parts_of(store: Store) -> list[tuple[str, int, int]]:
    """Return of the parts that count the name, where they begin, and their lines."""
    logs = live_logs(store.logs.parts())
    return sorted(
        (each.source.rpartition("/")[2], each.start, each.lines)
        for log in logs
        for each in log.parts
    )


def test_each_request_of_a_log_counts_once_whatever_becomes_of_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """It grows, is rotated and packed, a last line was half written, and its time zone is told."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "b[1].log"
    every = tmp_path / "*.log*"
    begin = STRAY + line("orders", "02:30:00,000")
    log.write_text(begin + line("stock")[:80])
    assert ingest(store, every) == []
    assert store.malformed_lines().count() == 2
    name = "b%5B1%5D.log"
    assert parts_of(store) == [(name, 0, 2), (name, len(begin), 1)]

    log.write_text(begin + line("stock"))
    assert ingest(store, every) == []
    assert parts_of(store) == [(name, 0, 2), (name, len(begin), 1)]
    assert requests(store) == {"orders": 1, "stock": 1}

    log.rename(tmp_path / "b[1].log.1")
    log.write_text(line("bills"))
    (tmp_path / "b2.log").write_text(line("bills"))
    assert ingest(store, every) == []
    before = store.logs.parts()
    assert [each.lines for each in before if each.source.endswith(".log.1")] == [0]
    assert requests(store) == {"orders": 1, "stock": 1, "bills": 2}

    pack(tmp_path / "b[1].log.1")
    assert ingest(store, every, "Europe/Berlin") == []
    assert len(store.logs.parts()) == len(before) + 3
    assert ingest(store, every, "Europe/Berlin") == []
    assert len(store.logs.parts()) == len(before) + 3, "nothing was read again"
    assert requests(store) == {"orders": 1, "stock": 1, "bills": 2}
    assert min(each.first_at for each in store.logs.counts()) == "2026-11-01T01:30:00Z"
    (kept,) = store.malformed_lines().collect()
    assert (kept["line"], kept["count"]) == (STRAY.strip(), 1)
    assert sorted(store.logs.counts()) == stored_counts(store)


def daily_counts(store: Store) -> dict[str, dict[str, int]]:
    """Count the requests of clusters by day as `kplan help fleet-tables` says."""
    found = defaultdict[str, Counter[str]](Counter)
    for row in store.usage().collect():
        assert row["first_at"].date() == row["last_at"].date()
        found[row["cluster"]][f"{row['first_at']:%m-%d}"] += row["count"]
    return {cluster: dict(days) for cluster, days in found.items()}


ZONES = {
    "": ("02 00:00", "02 12:00", "02 23:59", "03 00:00"),
    "America/New_York": ("01 19:00", "02 08:00", "02 18:59", "02 19:00"),
    "Asia/Kathmandu": ("02 05:45", "02 12:00", "03 05:44", "03 05:45"),
    "Australia/Adelaide": ("02 10:30", "02 12:00", "03 10:29", "03 10:30"),
}


def test_requests_count_on_their_day_in_utc_whatever_the_time_zone_of_their_log(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """The log of each grows, and another one has its time in a layout of its own."""
    store = Store(spark, str(tmp_path / "tables"))
    given, last = [], {}
    for number, (zone, times) in enumerate(ZONES.items()):
        folder = tmp_path / f"c{number}"
        folder.mkdir()
        days = [(int(each[:2]), f"{each[3:]}:00,000") for each in times]
        lines = "".join(line("orders", at, day) for day, at in days)
        (folder / "x.log").write_text(lines)
        (folder / "y").write_text("".join(f"b1 {line('stock', at, day)}" for day, at in days))
        last[folder / "x.log"] = "".join(line("orders", at, day) for day, at in days[2:])
        given.append(LogPatterns(folder.name, (f"{folder}/[xy]*",), zone))
    assert ingest_files(store, spark, given)[:2] == ([], [])
    names = [each.cluster for each in given]
    assert daily_counts(store) == {each: {"11-02": 6, "11-03": 2} for each in names}
    for log, lines in last.items():
        with log.open("a") as more:
            more.write(lines)
    assert ingest_files(store, spark, given)[:2] == ([], [])
    assert daily_counts(store) == {each: {"11-02": 7, "11-03": 3} for each in names}


def test_requests_count_on_their_day_in_utc_on_both_sides_of_daylight_saving_time(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """It ends in New York on November 1 at 06:00 UTC."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    log.write_text(line("orders", "00:00:00,000") + line("orders", "18:59:59,999"))
    with log.open("a") as more:
        more.write(line("orders", "19:00:00,000") + line("orders", "20:00:00,000"))
    october = line("orders", "19:59:59,000") + line("orders", "20:00:00,000")
    (tmp_path / "y.log").write_text(october.replace("2026-11-01", "2026-10-31"))
    assert ingest(store, tmp_path / "*.log", "America/New_York") == []
    assert daily_counts(store) == {"eu": {"10-31": 1, "11-01": 3, "11-02": 2}}


def test_only_logs_with_a_time_zone_are_read_again_for_their_days_in_utc() -> None:
    zoned, usual = LogPatterns("eu", (), "Asia/Tokyo"), LogPatterns("eu", ())
    assert zoned.settings != f"Asia/Tokyo {READER_VERSION}"
    assert usual.settings == f" {READER_VERSION}"


def test_logs_that_are_touched_renamed_emptied_or_without_a_line_are_nothing_new(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Spark 4.2 makes no Arrow schema with timestamps, and all that was new were no rows."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    every = tmp_path / "*.log*"
    log.touch()
    assert ingest(store, every) == []
    log.write_text(line("orders"))
    assert ingest(store, every) == []
    os.utime(log, (1, 1))
    assert ingest(store, every) == []
    log.rename(tmp_path / "x.log.1")
    assert ingest(store, every) == []
    log.touch()
    assert ingest(store, every) == []
    assert requests(store) == {"orders": 1}


def test_what_can_be_read_of_a_damaged_log_is_and_of_the_others_everything(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """And nothing is read again the next time, which says again what was not read."""
    (tmp_path / "a.log").write_text(line("orders"))
    packed = gzip.compress("".join(line(f"t{n}") for n in range(5_000)).encode())
    (tmp_path / "b[1].log.gz").write_bytes(packed[: len(packed) // 2])
    store, every = Store(spark, str(tmp_path / "tables")), tmp_path / "*.log*"
    (told,) = ingest(store, every)
    assert "b%5B1%5D.log.gz could not be read: it is damaged" in told
    found = requests(store)
    assert found["orders"] == found["t0"] == 1
    assert len(found) > 1_000

    (tmp_path / "c.log").write_text(line("late"))
    assert ingest(store, every) == [told]
    assert requests(store).total() == found.total() + 1
    assert {name: start for name, start, _ in parts_of(store)}.keys() == {
        *("a.log", "b%5B1%5D.log.gz", "c.log")
    }
    (tmp_path / "b[1].log.gz").write_bytes(packed)
    assert ingest(store, every) == []
    assert requests(store).total() == 5_002


def test_a_damaged_log_is_reported_until_its_file_changes(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Also of a form that only Spark reads, and after rows were put together."""
    held = "".join(line(f"t{n}") for n in range(5_000)).encode()
    whole = {"b.log.1.gz": gzip.compress(held), "c[1].log.deflate": zlib.compress(held)}
    for name, packed in whole.items():
        (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    (tmp_path / "a.log").write_text(line("orders"))
    store, every = Store(spark, str(tmp_path / "tables")), tmp_path / "*.log*"
    told = ingest(store, every)
    assert [each.partition(": it is damaged (")[0].rpartition("/")[2] for each in told] == [
        "b.log.1.gz could not be read",
        "c%5B1%5D.log.deflate could not be read",
    ]
    assert ingest(store, every) == told
    (tmp_path / "a.log").write_text(line("orders") + line("stock"))
    assert ingest(store, every) == told
    store.logs.compact()
    assert ingest(store, every) == told

    for name, packed in whole.items():
        (tmp_path / name).write_bytes(packed)
    assert ingest(store, every) == []
    assert ingest(store, every) == []


def forget_damage(tables: Path) -> None:
    """Make rows of logs those of a version that did not keep the damage of files."""
    for file in tables.glob("logs/*/*.json"):
        rows = map(json.loads, file.read_text().splitlines())
        kept = ({k: v for k, v in row.items() if k != "damage"} for row in rows)
        file.write_text("".join(f"{json.dumps(each)}\n" for each in kept))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def test_damage_of_logs_that_an_earlier_version_read_is_told(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """It is not stored: compressed logs are read again, once, and count once."""
    held = "".join(line(f"t{n}") for n in range(5_000)).encode()
    cut = {"b.log.1.gz": gzip.compress(held), "c.log.deflate": zlib.compress(held)}
    for name, packed in cut.items():
        (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    (tmp_path / "a.log").write_text(line("orders"))
    (tmp_path / "d.log.1.gz").write_bytes(gzip.compress(line("stock").encode()))
    store, every = Store(spark, str(tmp_path / "tables")), tmp_path / "*.log*"
    told = ingest(store, every)
    assert len(told) == len(cut)
    found, before = requests(store), len(store.logs.parts())
    forget_damage(tmp_path / "tables")
    assert ingest(store, every) == told
    assert requests(store) == found
    after = store.logs.parts()
    assert len(after) == before + 3, "the three that are compressed"
    assert ingest(store, every) == told
    assert len(store.logs.parts()) == len(after), "and only once"


def test_a_pattern_that_fits_nothing_is_named_and_takes_nothing_from_other_clusters(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "a.log").write_text(line("orders"))
    store = Store(spark, str(tmp_path / "tables"))
    given = [
        LogPatterns(name, (str(tmp_path / f"{what}*.log"),))
        for name, what in (("a", "a"), ("b", "none-"))
    ]
    assert list_log_files(spark, given)[0][0].source == f"file:{tmp_path}/a.log"
    found = ingest_files(store, spark, given)
    ((name, failure),) = found.failures
    assert (name, found.notes) == ("b", [])
    assert found.added.lines == 1
    assert "there is no log" in failure.detail
    assert requests(store) == {"orders": 1}


def test_logs_with_a_colon_in_their_name_are_read_and_hidden_ones_are_named(
    spark: "SparkSession", tmp_path: Path
) -> None:
    for name in ("a.log", "a.log.2026-11-01T08:00", "b.txt", "_a.log", "_b.out", ".c.out"):
        (tmp_path / name).write_text(line(name))
    (tmp_path / "empty").mkdir()
    store = Store(spark, str(tmp_path / "tables"))

    def answer(*patterns: str) -> tuple[list[str], list[str]]:
        given = [LogPatterns("eu", tuple(f"{tmp_path}/{each}" for each in patterns))]
        files, failures = list_log_files(spark, given)
        return [Path(each.source).name for each in files], [each.detail for _, each in failures]

    assert answer("a.log*", "*.txt") == (["a.log", "a.log.2026-11-01T08:00", "b.txt"], [])
    assert answer("a.log.*:00") == (["a.log.2026-11-01T08:00"], [])
    for patterns in (("*.out",), ("_a.log",), (".c.out", "b.txt"), ("none:*",), ("empty",)):
        found, (told,) = answer(*patterns)
        assert "leaves out empty folders, and files whose names begin with a point" in told
        assert told.startswith(f"Cluster eu: there is no log {tmp_path}/{patterns[0]}: ")
        assert found == [*patterns[1:]]
    assert ingest(store, tmp_path / "a.log*") == []
    assert requests(store) == {"a.log": 1, "a.log.2026-11-01T08:00": 1}


def test_logs_that_an_earlier_version_kept_count_until_they_are_read_again(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """It kept rows by cluster and log; a log that it read is not read again as it is."""
    log = tmp_path / "x.log"
    log.write_text(line("orders"))
    state = log.stat()
    stamp = f"{state.st_size} {state.st_mtime_ns // 1_000_000}  {READER_VERSION}"
    sums = line_sums(parse_lines(sum_lines(file_lines(spark, log))))
    file = log_id(f"file:{log}", f"2026-11-01 10:00:00.123\n{TEXT}")
    kept = sums.selectExpr("*", f"'{file}' as file", f"'{stamp}' as stamp")
    assert kept.columns == [each.split()[0] for each in AUDIT_SCHEMA.split(", ")]
    kept.write.partitionBy("cluster", "file").parquet(str(tmp_path / "tables" / "audit"))

    store = Store(spark, str(tmp_path / "tables"))
    assert ingest(store, log) == []
    assert requests(store) == {"orders": 1}
    assert [each.attempt for each in store.logs.parts()] == [""]

    with log.open("a") as more:
        more.write(line("stock"))
    log.rename(tmp_path / "x.log.1")
    assert ingest(store, tmp_path / "x.log*") == []
    assert requests(store) == {"orders": 1, "stock": 1}
    store.logs.compact()
    assert requests(store) == {"orders": 1, "stock": 1}


def test_lines_that_follow_many_requests_are_taken_apart_whatever_they_are(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    requested = [line(f"t{n}") for n in range(SAMPLE_BYTES // len(line("t")) + 9)]
    zoned = line("zoned").replace("123] INFO", "123 CET] INFO")
    log.write_text("".join(requested) + STRAY + zoned)
    assert ingest(store, log) == []
    (count,) = store.logs.counts()
    assert (count.lines, count.malformed) == (len(requested) + 2, 1)
    assert requests(store) == Counter([*(f"t{n}" for n in range(len(requested))), "zoned"])
    (row,) = store.usage().where("resource_name = 'zoned'").collect()
    assert f"{row['first_at']}" == "2026-11-01 09:00:00.123000"


def test_rows_that_are_put_together_are_the_same_and_older_ones_go(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    for n in range(3):
        with log.open("a") as more:
            more.write(line("orders") + line(f"t{n}"))
        assert ingest(store, log) == []
    before = requests(store)
    assert store.logs.compact() == 3
    assert requests(store) == before
    assert store.logs.compact() == 0, "they are together"
    assert [name for name, _, _ in parts_of(store)] == ["x.log"]
    assert store.usage().count() == 4
    later = datetime.now(UTC) + timedelta(minutes=5)
    assert store.logs.remove_merged(later) == 0, "someone may be reading them"
    assert store.logs.remove_merged(later + timedelta(hours=1)) == 3
    with log.open("a") as more:
        more.write(line("late"))
    assert ingest(store, log) == []
    assert requests(store) == before + Counter(["late"])
    assert sorted(each.start for each in store.logs.parts()) == [
        0,
        len(line("orders")) * 3 + 3 * len(line("t0")),
    ]


def test_a_log_with_a_last_line_that_is_open_is_put_together_and_read_on(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    whole = 2 * len(line("orders"))
    for text in (line("orders"), line("orders") + line("stock")[:80]):
        with log.open("a") as more:
            more.write(text)
        assert ingest(store, log) == []
    assert store.logs.compact() == 2
    assert store.logs.compact() == 0, "they are together"
    later = datetime.now(UTC) + timedelta(hours=2)
    assert store.logs.remove_merged(later) == 1, "that with the open line stays"
    assert parts_of(store) == [("x.log", 0, 2), ("x.log", whole, 1)]
    assert store.malformed_lines().count() == 1
    with log.open("a") as more:
        more.write(line("stock")[80:])
    assert ingest(store, log) == []
    assert parts_of(store) == [("x.log", 0, 2), ("x.log", whole, 1)], "only the last line is read"
    assert requests(store) == {"orders": 2, "stock": 1}
    assert store.malformed_lines().count() == 0
    assert store.logs.compact() == 2


def test_a_fleet_may_be_in_a_folder_whose_name_is_a_pattern(
    spark: "SparkSession", tmp_path: Path
) -> None:
    folder = tmp_path / "fleet[1]"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs/x.log").write_text(line("orders"))
    text = 'cluster "eu" {\n snapshot = "eu"\n audit = ["logs/*.log"]\n}\n'
    (folder / "fleet.hcl").write_text(text)
    fleet = load_fleet(folder, Inputs())
    store = Store(spark, fleet.store)
    assert not ingest_files(store, spark, log_patterns(fleet.clusters)).failures
    assert requests(store) == {"orders": 1}


def test_what_was_put_together_goes_from_a_store_that_is_in_another_file_system(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """One of Hadoop's, as s3a and hdfs are; a client of Spark Connect cannot and says so before."""
    (tmp_path / "tables").mkdir()
    spark.conf.set(f"fs.viewfs.mounttable.{tmp_path.name}.link./store", f"file:{tmp_path}/tables")
    store, log = Store(spark, f"viewfs://{tmp_path.name}/store"), tmp_path / "x.log"
    store.check_removal()
    for n in range(2):
        with log.open("a") as more:
            more.write(line(f"t{n}"))
        assert ingest(store, log) == []
    if is_on_connect(spark):
        with pytest.raises(FleetError, match="not a folder of this machine") as refused:
            store.check_removal()
        assert "without -remote" in refused.value.hint
        return
    store.check_removal()
    half = tmp_path / "tables/requests/attempt=half"
    half.mkdir()
    assert store.logs.compact() == 2
    later = datetime.now(UTC) + timedelta(hours=2)
    assert store.logs.remove_merged(later) == 2, "what is half written may still be at work"
    assert requests(store) == {"t0": 1, "t1": 1}
    assert len(list(tmp_path.glob("tables/logs/*"))) == 1
    assert len(list(tmp_path.glob("tables/requests/*"))) == 2
    assert store.logs.remove_merged(later + timedelta(days=1)) == 1
    assert not half.exists()


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
    assert store.vacuum_logs(timedelta(0), second) == 2
    assert requests(store) == {"orders": 2}
    assert store.vacuum_logs(timedelta(0), second + timedelta(days=9)) == 1
    ingest(store, tmp_path / "*.log*", cluster="e'u:1")
    with pytest.raises(FleetError, match="No authorizer log"):
        store.usage()


def test_old_lines_go_from_logs_that_go_on_and_are_not_read_again(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """A malformed line has no time but that of the ingest, also once it was put together."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    (tmp_path / "stray.log").write_text(STRAY)
    log.write_text("".join(line("orders", day=day) for day in (1, 2)))
    assert ingest(store, tmp_path / "*.log") == []
    read_at = datetime.now(UTC)
    with log.open("a") as more:
        more.write(line("orders", day=3))
    assert ingest(store, tmp_path / "*.log") == []
    assert store.logs.compact() == 2
    assert [each["line"] for each in store.malformed_lines().collect()] == [STRAY.strip()]

    third = datetime(2026, 11, 3, tzinfo=UTC)
    assert store.vacuum_logs(timedelta(days=1), third) == 1
    assert requests(store) == {"orders": 2}
    with log.open("a") as more:
        more.write(line("stock", day=4))
    assert ingest(store, tmp_path / "*.log") == []
    assert requests(store) == {"orders": 2, "stock": 1}
    assert sorted(each for each in store.logs.counts() if each.lines) == stored_counts(store)
    assert parts_of(store)[-1] == ("x.log", 3 * len(line("orders")), 1)
    assert store.malformed_lines().count() == 1

    (tmp_path / "new.log").write_text(line("late").replace("2026", "2099"))
    for _ in range(2):
        assert ingest(store, tmp_path / "*.log") == []
        store.vacuum_logs(timedelta(0), read_at)
        assert requests(store) == {"late": 1}
        assert store.malformed_lines().count() == 0


def test_what_is_read_while_old_lines_go_is_kept(spark: "SparkSession", tmp_path: Path) -> None:
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    log.write_text(line("orders", day=1))
    assert ingest(store, log) == []
    old = store.logs.old_rows(datetime(2026, 11, 2, tzinfo=UTC))
    with log.open("a") as more:
        more.write(line("stock", day=3))
    assert ingest(store, log) == []
    assert store.logs.compact(old) == 0
    assert requests(store) == {"stock": 1}
    assert store.logs.compact() == 2
    assert requests(store) == {"stock": 1}


def test_a_log_of_malformed_lines_is_warned_of_or_an_error_that_names_the_nearest_layout(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path / "tables"))
    few, most = line("orders") * 49 + STRAY, line("stock") + "01 Nov 10:00 Principal = x\n" * 2
    rare = line("bills") * 100 + STRAY
    for name, text in (("few", few), ("most", most), ("rare", rare)):
        (tmp_path / f"{name}.log").write_text(text)
    ingest(store, tmp_path / "*.log")
    every = {(each.cluster, each.file) for each in store.logs.parts()}
    found = malformed_files(store.logs.counts(), every, WARNED_SHARE)
    names = [(each.source.rpartition("/")[2], each.malformed, each.lines) for each in found]
    assert names == [("most.log", 2, 3), ("few.log", 1, 50)]

    warnings: list[str] = []
    (error,) = report_malformed(found, store.malformed_lines(), warnings.append)
    assert "eu: 2 of 3 lines (67%)" in error
    assert "the nearest layout is a log4j pattern without a date" in error
    (warning,) = warnings
    assert "1 of 50 lines (2%)" in warning
    assert STRAY.strip() in warning


def test_the_rows_of_earlier_ingests_are_not_read_to_count_logs(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """But those of versions that did not count them are, until they are put together."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    log.write_text(STRAY + line("orders"))
    assert ingest(store, log) == []
    (first,) = (tmp_path / "tables/logs").glob("*/*.json")
    told = json.loads(first.read_text())
    names = {"requests", "malformed", "first_at", "last_at"}
    first.write_text(json.dumps({k: v for k, v in told.items() if k not in names}))
    (first.parent / f".{first.name}.crc").unlink(missing_ok=True)
    with log.open("a") as more:
        more.write(line("stock", day=2))
    assert ingest(store, log) == []
    (found,) = store.logs.counts()
    assert (found.requests, found.malformed) == (2, 1)
    assert (found.first_at, found.last_at) == ("2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z")

    store.logs.compact()
    shutil.rmtree(tmp_path / "tables/requests")
    assert store.logs.counts() == [found]


def test_a_log_that_grew_by_a_line_of_an_earlier_time_is_the_same_log(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Packed, or with another time zone, it is read from its beginning again."""
    store, log = Store(spark, str(tmp_path / "tables")), tmp_path / "x.log"
    every = tmp_path / "*.log*"
    log.write_text(STRAY + line("orders"))
    assert ingest(store, every) == []
    log.write_text(STRAY + line("orders") + line("late", "09:00:00,000"))
    pack(log)
    log.write_text(STRAY + line("stock"))
    assert ingest(store, every) == []
    assert requests(store) == {"orders": 1, "late": 1, "stock": 1}
    with log.open("a") as more:
        more.write(line("late", "08:00:00,000"))
    assert ingest(store, every, "Europe/Berlin") == []
    assert requests(store) == {"orders": 1, "late": 2, "stock": 1}
