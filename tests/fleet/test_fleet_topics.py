"""Authorizer logs in topics, of a cluster in memory: what is read of them, and what is said."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic, TopicRef
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.config.inputs import Inputs
from kplan.fleet import stream
from kplan.fleet.logs import audit_topic
from kplan.fleet.logs.audit_topic import OffsetRange, record_lines
from kplan.fleet.store import Store
from kplan.fleet.stream import FollowedTopic, add_records
from kplan.model.table import Figures
from kplan.workflow.fleet import ingest
from kplan.workflow.fleet.fleet import read_fleet
from kplan.workflow.fleet.ingest_topics import find_records, find_topic_id, warn_of_topic
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from tests.fleet.spark_target import commands_at_work
from tests.fleet.test_fleet_logs import line, requests
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

RECORDS = "partition int, offset long, value binary"
FLEET = """
cluster "eu" {{
  audit = ["kafka://audit"]
  {}
  provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
}}
store {{ path = "tables" }}
"""


@dataclass
class AuditTopic:
    """A topic of two partitions in a cluster in memory, as Spark's Kafka connector reads it."""

    spark: "SparkSession"
    folder: Path
    cluster: MemoryCluster = field(default_factory=MemoryCluster)
    progress: SilentProgress = field(default_factory=SilentProgress)
    records: dict[int, list[str]] = field(default_factory=lambda: {0: [], 1: []})
    starts: dict[int, int] = field(default_factory=dict)
    time_zone: str = ""

    @property
    def ports(self) -> FleetPorts:
        return FleetPorts(
            lambda _: (lambda: self.cluster, ()),
            lambda *_: None,
            lambda _: {},
            self.progress,
            lambda: datetime(2026, 11, 17, tzinfo=UTC),
        )

    @property
    def store(self) -> Store:
        return Store(self.spark, str(self.folder / "tables"))

    def declare(self, time_zone: str = "") -> None:
        self.time_zone = time_zone
        argument = f'audit_time_zone = "{time_zone}"' if time_zone else ""
        (self.folder / "fleet.hcl").write_text(FLEET.format(argument))

    def write(self, records: Mapping[int, list[str]]) -> None:
        """Have the topic hold these records, and no others."""
        self.records = dict(records)
        self.remove({})

    def remove(self, starts: Mapping[int, int]) -> None:
        """Remove the records before these offsets."""
        self.starts = dict(starts)
        used = {
            number: PartitionUse(starts.get(number, 0), len(held), None, 0, 0)
            for number, held in self.records.items()
        }
        self.cluster.set_topic_use("audit", TopicUse(used, groups=()))

    def read(
        self,
        spark: "SparkSession",
        spans: Mapping[int, OffsetRange],
        *_: object,
        has_zone: bool = False,
        **__: object,
    ) -> "DataFrame":
        rows = [
            (each.partition, offset, self.records[each.partition][offset].encode())
            for each in spans.values()
            for offset in range(max(each.start, self.starts.get(each.partition, 0)), each.end)
        ]
        held = spark.createDataFrame(rows, RECORDS)
        numbers = {each.partition: number for number, each in spans.items()}
        return record_lines(held, numbers, has_zone=has_zone)

    def ingest(self) -> Figures:
        return ingest.ingest_logs(FleetOptions(self.folder, Inputs()), self.ports)

    def find(self) -> tuple[OffsetRange, ...]:
        fleet = read_fleet(FleetOptions(self.folder, Inputs()))
        ends = self.store.logs.topic_ends()
        (found,) = find_records(fleet, fleet.clusters[0], ["audit"], ends, self.ports)
        warn_of_topic("eu", found, ends, self.ports)
        return found

    def topic_id(self) -> str:
        (cluster,) = read_fleet(FleetOptions(self.folder, Inputs())).clusters
        return find_topic_id(cluster, "audit", self.ports)

    def recreate(self) -> None:
        """Delete the topic and create it again, with another id."""
        assert self.cluster.delete_topics([TopicRef("audit")]) == {"audit": None}
        assert self.cluster.create_topics([NewTopic("audit", 2, 1)]) == {"audit": None}

    def follow(self, *batch: tuple[int, int]) -> int:
        """Do a micro-batch, of partitions and offsets; returns how many lines were new."""
        rows = [(part, offset, self.records[part][offset].encode()) for part, offset in batch]
        followed = FollowedTopic(
            "eu", "audit", time_zone=self.time_zone, find=self.find, topic_id=self.topic_id
        )
        held = self.spark.createDataFrame(rows, RECORDS)
        return add_records(self.store, held, followed).lines


@pytest.fixture
def topic(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AuditTopic]:
    found = AuditTopic(spark, tmp_path)
    found.cluster.seed([NewTopic("audit", 2, 1)])
    found.declare()
    for module in (audit_topic, stream):
        monkeypatch.setattr(module, "read_records", found.read)
    with commands_at_work(tmp_path, spark):
        yield found


def test_a_topic_that_was_re_created_is_told_and_read_from_its_first_offset(
    topic: AuditTopic,
) -> None:
    """Its records count beside those of the topic before, once, also after they were merged."""
    topic.write({0: [line("old")] * 5, 1: [line("old")] * 3})
    assert topic.ingest().notes == ()
    assert topic.progress.notes == []
    topic.write({0: [line("new")] * 2, 1: [line("new")] * 3})
    assert topic.ingest().notes == ()
    (told,) = topic.progress.notes
    assert "eu: topic audit was re-created or truncated: partition 0 ends at offset 2" in told
    assert "was read up to 5." in told
    assert requests(topic.store) == {"old": 8, "new": 2}, "partition 1 is as long as before"

    topic.write({0: [line("new")] * 4, 1: [line("new")] * 4})
    topic.ingest()
    assert requests(topic.store) == {"old": 8, "new": 5}
    topic.store.logs.compact()
    topic.write({0: [line("new")] * 5, 1: [line("new")] * 4})
    topic.ingest()
    topic.store.logs.compact()
    assert requests(topic.store) == {"old": 8, "new": 6}
    assert {each.end for each in topic.store.logs.topic_ends().values()} == {5, 4}
    assert len(topic.progress.notes) == 1

    topic.write({0: [line("third")], 1: [line("third")]})
    topic.ingest()
    assert requests(topic.store) == {"old": 8, "new": 6, "third": 2}
    assert "and 1 other partition before what was read" in topic.progress.notes[1]


def test_a_stream_reads_a_topic_that_was_re_created_from_its_first_offset(
    topic: AuditTopic,
) -> None:
    """Spark goes on at the end that it finds, and a micro-batch is done again after a kill."""
    topic.write({0: [line("old")] * 5, 1: []})
    assert topic.follow(*((0, n) for n in range(5))) == 5
    assert topic.follow(*((0, n) for n in range(4))) == 0, "it is done again"
    assert topic.progress.notes == []
    no_record_yet, its_third_one = (), ((0, 2),)
    for name, batch in (("t", no_record_yet), ("u", its_third_one)):
        topic.progress.notes.clear()
        topic.write({0: [line(f"{name}{n}") for n in range(3)], 1: []})
        assert topic.follow(*batch) == 3
        assert topic.follow(*batch) == 0
        topic.write({0: [line(f"{name}{n}") for n in range(4)], 1: []})
        assert topic.follow((0, 3)) == 1
        (told,) = topic.progress.notes
        assert "topic audit was re-created or truncated" in told
    assert requests(topic.store) == {"old": 5, **{f"{t}{n}": 1 for t in "tu" for n in range(4)}}


def test_a_topic_that_was_re_created_and_is_longer_than_before_is_read_from_its_first_offset(
    topic: AuditTopic,
) -> None:
    """It has another id, also after what was read was merged."""
    topic.write({0: [line("old")] * 2, 1: [line("old")]})
    topic.ingest()
    topic.store.logs.compact()
    topic.recreate()
    topic.write({0: [line("new")] * 3, 1: [line("new")]})
    assert topic.ingest().notes == ()
    (told,) = topic.progress.notes
    assert "eu: topic audit was re-created: it has the id" in told
    assert requests(topic.store) == {"old": 3, "new": 4}
    topic.write({0: [line("new")] * 4, 1: [line("new")]})
    topic.ingest()
    assert requests(topic.store) == {"old": 3, "new": 5}
    assert len(topic.progress.notes) == 1


def test_a_stream_reads_all_of_a_topic_that_was_re_created_while_others_of_its_partitions_grow(
    topic: AuditTopic,
) -> None:
    """A partition that is shorter than before is in no micro-batch, and may be longer in the next.

    One without a record is known to be another log, too.
    """
    topic.write({0: [line("old")] * 5, 1: [line("old")]})
    assert topic.follow(*((0, n) for n in range(5)), (1, 0)) == 6
    topic.recreate()
    topic.write({0: [line("new")] * 2, 1: [line("new")] * 2})
    assert topic.follow((1, 1)) == 4
    topic.write({0: [line("new")] * 9, 1: [line("new")] * 2})
    assert topic.follow(*((0, n) for n in range(2, 9))) == 7
    assert requests(topic.store) == {"old": 6, "new": 11}
    (told,) = topic.progress.notes
    assert "eu: topic audit was re-created: it has the id" in told

    topic.recreate()
    topic.write({0: [], 1: [line("third")] * 3})
    assert topic.follow((1, 2)) == 3
    topic.write({0: [line("third")] * 20, 1: [line("third")] * 3})
    assert topic.follow(*((0, n) for n in range(20))) == 20
    assert requests(topic.store) == {"old": 6, "new": 11, "third": 23}
    assert len(topic.progress.notes) == 2


def test_records_that_were_removed_before_they_were_read_are_told(topic: AuditTopic) -> None:
    """Also by a stream, whose micro-batch begins behind them. What was read may go."""
    topic.write({0: [line("a")] * 3, 1: [line("a")] * 3})
    topic.remove({0: 1})
    topic.ingest()
    assert topic.progress.notes == [], "what was there before the first ingest"
    topic.write({0: [line("a")] * 9, 1: [line("a")] * 9})
    topic.remove({0: 5, 1: 3})
    topic.ingest()
    (told,) = topic.progress.notes
    assert "Warning: eu: records of topic audit were removed before they were read: " in told
    assert "offsets 3 to 4 of partition 0. Their requests" in told
    assert requests(topic.store) == {"a": 15}
    topic.ingest()
    assert len(topic.progress.notes) == 1

    topic.write({0: [line("a")] * 12, 1: [line("a")] * 12})
    topic.remove({0: 10, 1: 11})
    assert topic.follow((0, 10), (0, 11), (1, 11)) == 3
    assert "offsets 9 to 9 of partition 0 and some of 1 other partition." in topic.progress.notes[1]
    assert requests(topic.store) == {"a": 18}


def test_a_topic_with_another_format_is_an_error_of_the_ingest_that_read_it(
    topic: AuditTopic,
) -> None:
    """All its partitions are judged together, by what came since it was read."""
    topic.write({0: [line("orders")] * 99, 1: ["stray"]})
    assert topic.ingest().notes == ()
    assert topic.progress.notes == [], "1 of 100"
    topic.write({0: [line("orders")] * 101, 1: ["stray"] * 5})
    (told,) = topic.ingest().notes
    assert "eu: 4 of 6 lines (67%) of kafka://audit are malformed" in told
    assert "stray" in told
    topic.write({0: [line("orders")] * 103, 1: ["stray"] * 6})
    assert topic.ingest().notes == ()
    (warning,) = topic.progress.notes
    assert "Warning: eu: 1 of 3 lines (33%) of kafka://audit" in warning
    assert topic.ingest().notes == (), "nothing was read"
    assert len(topic.progress.notes) == 1


@pytest.mark.parametrize("time_zone", ["Europe/Berlin", ""])
def test_lines_in_a_topic_have_the_time_zone_of_their_cluster_where_they_name_none(
    topic: AuditTopic, time_zone: str
) -> None:
    """Filebeat ships lines as they are, with the time at which it read them."""
    own = "10:00:00,123" if time_zone else "09:00:00,123"
    message = line("orders").partition("INFO ")[2].strip()
    records = [
        json.dumps({"@timestamp": "2026-11-01T09:00:05.000Z", "message": line("orders", own)}),
        line("orders", own),
        line("orders", "09:00:00,123Z"),
        json.dumps({"@timestamp": "2026-11-01T09:00:00.123Z", "message": message}),
    ]
    topic.declare(time_zone)
    topic.write({0: records, 1: []})
    topic.ingest()
    topic.write({0: records * 3, 1: []})
    assert topic.follow(*((0, offset) for offset in range(8, 12))) == 8, "four from a gap"
    rows = topic.store.usage().collect()
    assert sum(each["count"] for each in rows) == 12
    times = {str(each[name]) for each in rows for name in ("first_at", "last_at")}
    assert times == {"2026-11-01 09:00:00.123000"}


def test_partitions_whose_old_records_went_count_once(topic: AuditTopic) -> None:
    """What stays known of a partition without records has no rows of another one."""
    topic.write({0: [line("gone", day=1)], 1: [line("stock", day=3)]})
    topic.ingest()
    for _ in range(2):
        logs = topic.store.logs
        logs.compact(logs.old_rows(datetime(2026, 11, 2, tzinfo=UTC)))
        assert requests(topic.store) == {"stock": 1}
    topic.write({0: [*topic.records[0], line("late", day=4)], 1: topic.records[1]})
    topic.ingest()
    assert requests(topic.store) == {"late": 1, "stock": 1}


def test_the_first_ingest_of_an_empty_topic_says_that_nothing_is_there_yet(
    topic: AuditTopic,
) -> None:
    topic.write({0: [], 1: []})
    found = topic.ingest()
    assert (found.notes, found.lineage["logged_requests"]) == ((), "0")
    assert found.remarks == (
        "There is nothing in the logs yet: a later ingest reads what comes into them.",
    )
    topic.write({0: [line("orders")], 1: []})
    assert topic.ingest().remarks == ()
    assert requests(topic.store) == {"orders": 1}
