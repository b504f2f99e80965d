"""The first rows of a table of a large fleet are those of its first clusters."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kplan.config.inputs import Inputs
from kplan.fleet.snapshot import snapshot_rows, write_snapshot
from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.state import Broker, KindSnapshot, LiveObject, Snapshot
from kplan.model.table import Figures
from kplan.workflow.fleet import access, audit, fleet, ingest
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from tests.fleet.spark_target import commands_at_work
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

CLUSTERS = [f"c{n:02}" for n in range(16)]
TOPICS = [f"t{n}" for n in range(10)]
LINE = (
    "[2026-11-16 10:00:00,000] INFO Principal = User:a is Allowed operation = READ from host = "
    "10.0.0.1 on resource = Topic:LITERAL:{} for request = FETCH with resourceRefCount = 1 "
    "(kafka.authorizer.logger)\n"
)
PORTS = FleetPorts(
    lambda _: (None, ()),
    lambda *_: None,
    lambda _: {},
    SilentProgress(),
    lambda: datetime(2026, 11, 17, tzinfo=UTC),
)


def snapshot() -> Snapshot:
    """Make ten topics, an ACL for each, and one that is on none of them."""
    topics = {
        TopicKind().identify(each): LiveObject(each, "")
        for each in (Topic(name, 1, 1) for name in TOPICS)
    }
    acls = {
        AclKind().identify(each): LiveObject(each, "")
        for each in (
            Acl(name, "Topic", "User:a", "*", "Read", "Allow") for name in (*TOPICS, "gone")
        )
    }
    readings = {"kafka_topic": KindSnapshot(topics), "kafka_acl": KindSnapshot(acls)}
    return Snapshot("id", (Broker(1, "127.0.0.1", 9092, ""),), readings)


@pytest.fixture(scope="module")
def options(
    tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession"
) -> Iterator[FleetOptions]:
    """Take a run of sixteen clusters; the first one uses all that it has, the others little."""
    folder = tmp_path_factory.mktemp("first")
    blocks = ['store {\n  path = "tables"\n}\n']
    for name in CLUSTERS:
        used = (*TOPICS, "gone") if name == CLUSTERS[0] else TOPICS[:2]
        (folder / f"{name}.log").write_text("".join(map(LINE.format, used)))
        blocks.append(
            f'cluster "{name}" {{\n  snapshot = "s.jsonl"\n  audit = ["{name}.log"]\n}}\n'
        )
    (folder / "fleet.hcl").write_text("\n".join(blocks))
    chosen = FleetOptions(folder, Inputs())

    with commands_at_work(folder, spark):
        write_snapshot(folder / "s.jsonl", [*snapshot_rows("c", snapshot(), {})])
        fleet.take_snapshot(chosen, PORTS)
        ingest.ingest_logs(chosen, PORTS)
        yield chosen


@pytest.mark.parametrize(
    ("work", "whole"),
    [
        (audit.read_usage, {"unused_acls", "unused_topics", "unheard"}),
        (access.lint_fleet, {"findings", "violations"}),
    ],
    ids=["usage", "lint"],
)
def test_the_first_rows_are_those_of_the_whole_table(
    options: FleetOptions,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[FleetOptions, FleetPorts], Figures],
    whole: set[str],
) -> None:
    """A cluster that uses all that it has has no rows of what is unused: all are asked then."""
    everything = work(options, PORTS)
    asked: set[str] = set()
    write = fleet._write_tables

    def noted(
        options: FleetOptions, lineage: Mapping[str, str], tables: "Mapping[str, DataFrame]"
    ) -> object:
        asked.update(tables)
        return write(options, lineage, tables)

    monkeypatch.setattr(fleet, "_write_tables", noted)
    first = work(replace(options, limit=1), PORTS)
    assert asked == whole
    assert [each.name for each in first.tables] == [each.name for each in everything.tables]
    for one, all_rows in zip(first.tables, everything.tables, strict=True):
        assert one.rows == all_rows.rows[:1], one.name
        assert one.is_truncated == (len(all_rows.rows) > 1), one.name


def test_a_fleet_that_shows_all_it_has_is_asked_once(
    options: FleetOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (access, audit):
        monkeypatch.setattr(module, "until_cluster", lambda *_: pytest.fail("not whole"))
    assert len(access.lint_fleet(options, PORTS).tables[0].rows) == 16
    assert len(audit.read_usage(options, PORTS).tables[0].rows) == 11 + 15 * 2
