"""What an ingest of log files says of them, and when it fails."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.config.inputs import Inputs
from kplan.fleet.store import Store
from kplan.model.errors import FleetError
from kplan.model.table import Figures
from kplan.workflow.fleet import ingest
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from tests.fleet.spark_target import commands_at_work
from tests.fleet.test_fleet_logs import line
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FLEET = 'cluster "eu" {{\n  snapshot = "eu"\n  audit = {}\n}}\nstore {{ path = "tables" }}\n'
OTHER = "01 Nov 10:00 Principal = x\n"
SERVER = "[2026-11-01 10:00:00,000] INFO started (kafka.server.KafkaServer)\n\tof several lines\n"


def ingested(
    spark: "SparkSession", folder: Path, patterns: str, progress: SilentProgress | None = None
) -> Figures:
    (folder / "fleet.hcl").write_text(FLEET.format(patterns))
    ports = FleetPorts(
        lambda _: (None, ()),
        lambda *_: None,
        lambda _: {},
        progress or SilentProgress(),
        lambda: datetime(2026, 11, 17, tzinfo=UTC),
    )
    with commands_at_work(folder, spark):
        return ingest.ingest_logs(FleetOptions(folder, Inputs()), ports)


def test_a_malformed_file_is_an_error_as_long_as_it_is_there_and_named(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Its lines stay stored. Under its name there may be another log by then."""
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text(line("orders"))
    bad.write_text(line("bills") + OTHER * 3)
    (told,) = ingested(spark, tmp_path, '["*.log"]').notes
    assert "eu: 3 of 4 lines (75%)" in told
    assert "bad.log are malformed" in told
    assert ingested(spark, tmp_path, '["*.log"]').notes == (told,), "it is as it was"
    assert ingested(spark, tmp_path, '["good.log"]').notes == ()
    bad.write_text(line("stock"))
    found = ingested(spark, tmp_path, '["*.log"]')
    assert found.notes == ()
    malformed = next(each for each in found.tables if each.name == "malformed_lines")
    assert [row[2] for row in malformed.rows] == [3]
    bad.unlink()
    assert ingested(spark, tmp_path, '["*.log"]').notes == ()


def test_lines_of_other_loggers_are_neither_requests_nor_malformed(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """As where all loggers of a broker write to its standard output, of which little is kept."""
    log = tmp_path / "stdout.log"
    log.write_text(SERVER * 500)
    found = ingested(spark, tmp_path, '["*.log"]')
    assert (found.notes, found.remarks, found.lineage["logged_requests"]) == ((), (), "0")
    log.write_text(SERVER * 500 + line("orders") + SERVER)
    found = ingested(spark, tmp_path, '["*.log"]')
    assert (found.notes, found.remarks, found.lineage["logged_requests"]) == ((), (), "1")
    rows = {each.name: [row[2] for row in each.rows] for each in found.tables}
    assert rows == {"requests": [1], "malformed_lines": [], "malformed": [], "other_lines": [1002]}

    with log.open("a") as more:
        more.write(SERVER * 500 + OTHER * 2)
    (told,) = ingested(spark, tmp_path, '["*.log"]').notes
    assert "2 of 3 lines (67%)" in told
    assert "are malformed (besides 2,002 lines of other loggers)" in told
    assert "the nearest layout is a log4j pattern without a date" in told
    store = Store(spark, str(tmp_path / "tables"))
    assert store.logs.compact() == 2
    (count,) = store.logs.counts()
    assert (count.requests, count.malformed, count.others) == (1, 2, 2002)


def test_a_cluster_whose_logs_have_no_line_of_the_authorizer_is_warned_of(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "server.log").write_text(SERVER * 2)
    progress = SilentProgress()
    ingested(spark, tmp_path, '["*.log"]', progress)
    (told,) = progress.notes
    assert told.startswith("Warning: eu: none of 4 lines of its logs is of the authorizer")
    (tmp_path / "server.log").write_text(SERVER * 2 + line("orders"))
    progress = SilentProgress()
    ingested(spark, tmp_path, '["*.log"]', progress)
    assert progress.notes == []


def test_a_pattern_that_fits_nothing_keeps_no_other_log_of_its_cluster_from_being_read(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """As where the disk of a broker is not mounted; each pattern without a file is named."""
    (tmp_path / "b1").mkdir()
    (tmp_path / "b1" / "x.log").write_text(line("orders"))
    (tmp_path / "b3.log").write_text(line("stock"))
    found = ingested(spark, tmp_path, '["b1/*.log*", "b2/*.log*", "b3.log", "b4.log"]')
    assert found.lineage["logged_requests"] == "2"
    assert [each.partition("there is no log ")[2].rpartition("/")[2] for each in found.notes] == [
        "*.log*.",
        "b4.log.",
    ]
    assert "/b2/" in found.notes[0]
    with pytest.raises(FleetError, match=r"no log .*/b2/[*].log(.|\n)*no log .*/b4.log"):
        ingested(spark, tmp_path, '["b2/*.log*", "b4.log"]')
