"""The data source and the planner where Spark runs them."""

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.fleet import dataframe, figures, inventory
from kplan.fleet.compat import takes_arrow_tables
from kplan.fleet.plan import (
    FINDING_ORDER,
    FleetPlanRequest,
    PackedRequest,
    coverage,
    finding_counts,
    pack_request,
    plan_clusters,
    undeclared_clusters,
    undeclared_objects,
)
from kplan.fleet.policy import FleetPolicies, check_policies
from kplan.fleet.reader import SnapshotSource, read_clusters, read_rows
from kplan.fleet.snapshot import Row, write_snapshot
from kplan.fleet.spark.few_rows import expect_few_rows
from kplan.fleet.spark.session import SUITS_SETTING
from kplan.kinds import KINDS
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import UnreachableError
from kplan.model.resource import Identity, Resource
from kplan.model.state import State
from kplan.model.table import Figures
from kplan.plan.request import PlanRequest
from kplan.report.views import figures_json
from kplan.workflow.fleet.open_run import gather_rows
from tests.fleet.spark_target import STANDALONE, SparkTarget

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]


def memory(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.seed([NewTopic(name, 3, 1) for name in names])
    return cluster


def refused() -> MemoryCluster:
    raise UnreachableError("nobody answers")


def wants(name: str, *, lists_undeclared: bool = False) -> PackedRequest:
    address = Address.parse(f"kafka_topic.{name}")
    place = SourceRange("main.tf", 1, 1, 1, 1)
    resource = Resource(address, Identity(name), Topic(name, 6, 1), place)
    request = PlanRequest((resource,), {}, State("lineage"))
    return pack_request(request, lists_undeclared=lists_undeclared)


def test_clusters_are_read_where_spark_works_and_one_that_is_down_takes_none_with_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    file = tmp_path / "ap.jsonl.gz"
    write_snapshot(file, read_rows(SnapshotSource("ap", {}, partial(memory, "c"))))
    sources = [
        SnapshotSource("eu", {"region": "eu"}, partial(memory, "a", "b")),
        SnapshotSource("us", {}, refused),
        SnapshotSource("ap", {}, file=file),
    ]
    found = read_clusters(spark, sources)
    told = found.where("kind in ('kafka_topic', 'unread')").select("cluster", "kind", "identity")
    assert sorted(tuple(each) for each in told.collect()) == [
        ("ap", "kafka_topic", "c"),
        ("eu", "kafka_topic", "a"),
        ("eu", "kafka_topic", "b"),
        ("us", "unread", "*"),
    ]


def test_executors_run_the_kplan_that_asks(at_work: SparkTarget, spark: "SparkSession") -> None:
    """It is sent along to a Spark that is not started by kplan, whatever is installed there."""

    def where(batches: Iterator["RecordBatch"]) -> Iterator["RecordBatch"]:
        import pyarrow as pa

        import kplan

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"place": list(kplan.__path__)})

    found = spark.range(0, 1, 1, 1).mapInArrow(where, "place string")
    assert ["kplan.zip" in each.place for each in found.collect()] == [not at_work.engine.is_local]


def test_every_cluster_is_planned_by_the_planner_of_one(objects: Make) -> None:
    rows = [
        *read_rows(SnapshotSource("eu", {}, partial(memory, "a"))),
        *read_rows(SnapshotSource("us", {}, partial(memory))),
        *read_rows(SnapshotSource("ap", {}, refused)),
    ]
    wanted = FleetPlanRequest(dict.fromkeys(("eu", "us", "ap"), wants("a")))
    found = plan_clusters(objects(rows), wanted).where("finding in ('change', 'unread')")
    told = found.select("cluster", "finding", "action", "address")
    assert sorted(tuple(each) for each in told.collect()) == [
        ("ap", "unread", "", ""),
        ("eu", "change", "update", "kafka_topic.a"),
        ("us", "change", "create", "kafka_topic.a"),
    ]


def test_objects_are_counted_and_not_the_kinds_they_are_of(objects: Make) -> None:
    rows = objects(
        [
            *read_rows(SnapshotSource("eu", {}, partial(memory, "a", "b", "c"))),
            *read_rows(SnapshotSource("us", {}, partial(memory, "a"))),
        ]
    )
    wanted = FleetPlanRequest({"eu": wants("a")})
    found = plan_clusters(rows, wanted)
    covered = coverage(found).collect()
    assert ("eu", "kafka_topic", 0, 3) in map(tuple, covered)
    unmanaged = sum(row.unmanaged for row in covered)
    assert unmanaged > len(covered)
    told = [("eu", "change", 1), ("eu", "unmanaged", unmanaged)]
    assert [tuple(row) for row in finding_counts(found).collect()] == told
    (other,) = undeclared_clusters(rows, wanted.clusters).collect()
    assert other.cluster == "us"
    assert undeclared_clusters(rows, ()).count() == 2


def test_what_nobody_declares_is_named_and_a_cluster_without_a_state_is_too(objects: Make) -> None:
    rows = objects(
        [
            *read_rows(SnapshotSource("eu", {}, partial(memory, "a", "b", "__consumer_offsets"))),
            *read_rows(SnapshotSource("us", {}, partial(memory, "a"))),
        ]
    )
    wanted = FleetPlanRequest({"eu": wants("a", lists_undeclared=True)})
    found = undeclared_objects(plan_clusters(rows, wanted)).where("kind = 'kafka_topic'")
    assert [tuple(each) for each in found.collect()] == [("eu", "kafka_topic", "b")]
    told = undeclared_clusters(rows, wanted.clusters, wanted.stateless).collect()
    assert [tuple(each) for each in told] == [
        ("eu", "no state: nothing could be compared"),
        ("us", "fleet.hcl names no configuration of it"),
    ]


def test_the_same_rows_give_the_same_bytes_however_they_lie(objects: Make) -> None:
    rows = [
        *read_rows(SnapshotSource("eu", {"team": "x"}, partial(memory, "a", "b", "c"))),
        *read_rows(SnapshotSource("us", {"team": "y"}, partial(memory, "a"))),
        *read_rows(SnapshotSource("ap", {}, refused)),
    ]
    wanted = FleetPlanRequest(dict.fromkeys(("eu", "us", "ap", "gone"), wants("a")))

    def told(found: "DataFrame") -> str:
        tables = (
            figures.collect_table("inventory", inventory.inventory(found, "team")),
            figures.collect_table("largest", inventory.largest_topics(found, 3)),
            figures.collect_table("plan", plan_clusters(found, wanted).orderBy(*FINDING_ORDER)),
            figures.collect_table("unread", inventory.unread_kinds(found)),
        )
        return figures_json(Figures("Fleet", tables))

    one, other = objects(rows), objects(rows[::-1])
    assert told(one.coalesce(1)) == told(other.repartition(3, "identity"))
    assert "The run does not know this cluster" in told(one)


POLICY = """
locals { most = 2 }
policy "partitions" {
  on   = ["create"]
  kind = "kafka_topic"
  deny {
    condition = requested.partitions > local.most
    message   = "${requested.partitions} are too many"
  }
}
"""


def test_few_rows_are_values_of_the_next_query_and_many_are_not(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    used, at = "named_struct('names', array('a', null)) used", "timestamp'2026-11-03 04:00:00' at"
    none = "cast(null as string) none"
    rows = spark.range(5).selectExpr("id", "map('k', string(id)) tags", used, at, none)
    rows = rows.orderBy(rows["id"].desc())
    if not takes_arrow_tables():
        assert dataframe.inline_few(rows) is rows
        return
    for each in (rows, rows.where("id < 0")):
        few = dataframe.inline_few(each)
        assert few.collect() == each.collect()
        assert few.dtypes == each.dtypes
        assert "Range" not in figures.explain_table("few", few).query_plan
    monkeypatch.setattr(dataframe, "MAX_INLINE_ROWS", 4)
    assert dataframe.inline_few(rows) is rows


def test_many_rows_that_tables_are_made_of_are_a_leaf_of_their_plans(
    spark: "SparkSession", at_work: SparkTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.range(3000).selectExpr("id", "id % 7 as rest").groupBy("rest").count().cache()
    found = sorted(rows.collect())
    leaf = dataframe.cut_lineage(rows)
    assert sorted(leaf.collect()) == found
    assert leaf.dtypes == rows.dtypes
    if not takes_arrow_tables() or at_work.name == STANDALONE:  # executors may be lost
        assert leaf is rows
        return
    assert "Range" not in figures.explain_table("leaf", leaf.where("rest > 1")).query_plan
    assert not rows.is_cached
    monkeypatch.setattr(type(rows), "unpersist", lambda _: pytest.fail("it was never kept"))
    assert dataframe.cut_lineage(spark.range(3)).count() == 3


def test_some_thousand_rows_are_joined_and_grouped_by_one_task(
    spark: "SparkSession", at_work: SparkTarget
) -> None:
    rows = spark.range(3000).selectExpr("id", "id % 7 as rest").repartition(3)
    spark.conf.set(SUITS_SETTING, "true")
    end = expect_few_rows(spark)
    try:
        read = gather_rows(rows)
        assert sorted(read.collect()) == sorted(rows.collect())
        counts = read.groupBy("rest").count()
        joined = read.join(counts, "rest").groupBy("count").agg({"id": "max"})
        assert {row["max(id)"] for row in joined.collect()} == {2995, 2999}
        if at_work.name == STANDALONE or not takes_arrow_tables():
            assert read is rows
            return
        plan = figures.explain_table("joined", joined).query_plan
        assert "hashpartitioning" not in plan
        assert "Range" not in plan
    finally:
        end()
        spark.conf.unset(SUITS_SETTING)


def test_policies_are_asked_where_spark_works(objects: Make, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(POLICY, encoding="utf-8")
    policies = load_configuration(tmp_path, Inputs(), KINDS).policies
    rows = [
        *read_rows(SnapshotSource("eu", {}, partial(memory, "a"))),
        *read_rows(SnapshotSource("us", {}, partial(memory, "a"))),
    ]
    found = check_policies(objects(rows), FleetPolicies({"eu": policies}))
    assert [tuple(each) for each in found.collect()] == [
        ("eu", "partitions", "refused", "deny", "kafka_topic", "a", "3 are too many", "")
    ]


def test_quotes_in_csv_are_doubled_as_other_programs_expect(
    spark: "SparkSession", tmp_path: Path
) -> None:
    value = '{"retention.ms": "1, 2"}'
    rows = dataframe.create_dataframe(spark, [(value, "b")], "a string, b string")
    figures.write_table(rows, str(tmp_path / "out.csv"), {"run": "one"})
    (part,) = (tmp_path / "out.csv").glob("part-*")
    with part.open(newline="") as file:
        assert [*csv.DictReader(file)] == [{"a": value, "b": "b", "run": "one"}]


def test_many_rows_reach_a_connect_server_packed_and_are_the_same_there(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million rows as values of a plan took it 20 s and half a gigabyte in each query."""
    if not takes_arrow_tables():
        pytest.skip("this Spark takes no Arrow tables")
    monkeypatch.setattr(dataframe, "MAX_REMOTE_ROWS", 100)
    monkeypatch.setattr(dataframe, "is_on_connect", lambda _: True)
    names, numbers = [f"naïve-{each}" for each in range(250)], [*range(249), None]
    rows = dataframe.columns_dataframe(spark, (names, numbers), "name string, number long")
    assert rows.schema.simpleString() == "struct<name:string,number:bigint>"
    found = {each.name: each.number for each in rows.collect()}
    assert found == dict(zip(names, numbers, strict=True))
    with redirect_stdout(StringIO()) as printed:
        spark.range(1_000).selectExpr("id as number").join(rows, "number", "left").explain()
    assert "MapInArrow" in printed.getvalue()
    assert "Broadcast" not in printed.getvalue()


def test_a_worker_on_this_machine_begins_with_what_it_imports_and_no_pandas(
    spark: "SparkSession", at_work: SparkTarget
) -> None:
    if not at_work.engine.is_local:
        pytest.skip("workers elsewhere are forks of PySpark's own process")

    def imports(batches: Iterator["RecordBatch"]) -> Iterator["RecordBatch"]:
        import pyarrow as pa

        held = "pandas" not in sys.modules and "pyarrow.acero" in sys.modules
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"held": [held]})

    found = spark.range(0, 2, 1, 2).mapInArrow(imports, "held boolean").collect()
    assert [each.held for each in found] == [True, True]
