"""The tables of the page about a fleet: health, access, requests by day; from rows, on Spark."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.fleet import figures, page, recommend
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.snapshot import CLUSTER, USE, Row
from kplan.model.fleet import CostRow
from kplan.model.table import FigureTable
from kplan.report.documents.fleet.page import fleet_page
from kplan.workflow.fleet import fleet, ingest, insight, open_run, report
from kplan.workflow.fleet.inputs import open_inputs
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.fleet.recommend import RecommendOptions, narrower_acls
from tests.fleet.spark_target import CONNECT, LOCAL, SparkTarget, commands_at_work
from tests.fleet.test_fleet_bounded import each
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
USAGE = (
    "cluster string, principal string, operation string, resource_type string, "
    "resource_name string, is_allowed boolean, count long, first_at timestamp, last_at timestamp"
)


def acl(principal: str, name: str, operation: str, **more: str) -> Row:
    told = {
        "resource_type": "Topic",
        "resource_name": name,
        "resource_pattern_type_filter": "Literal",
        "acl_principal": principal,
        "acl_host": "*",
        "acl_operation": operation,
        "acl_permission_type": "Allow",
    } | more
    return Row("eu", "kafka_acl", "|".join(told.values()), attributes=told)


def topic(name: str, copies: int, **found: str) -> tuple[Row, Row]:
    told = {"partitions": "3", "replication_factor": str(copies)}
    return Row("eu", "kafka_topic", name, attributes=told), Row("eu", USE, name, attributes=found)


def listed(found: "DataFrame") -> list[tuple[object, ...]]:
    return [tuple(row) for row in found.collect()]


def test_health_and_access_are_those_of_the_run(
    objects: "Callable[[Sequence[Row]], DataFrame]",
) -> None:
    brokers = json.dumps([[1, "a", 9092, None], [2, "b", 9092, None]])
    about = {
        "kinds": '["kafka_acl"]',
        "version": "4.1",
        "brokers": brokers,
        "super_users": '["User:admin"]',
    }
    rows = [
        Row("eu", CLUSTER, "id", attributes=about),
        *topic("shop.orders", 3, leaderless="1", under_replicated="2"),
        *topic("shop.sound", 1, leaderless="0", under_replicated="0"),
        *topic("shop.unknown", 3),
        Row("us", CLUSTER, "id", attributes={"kinds": '["kafka_topic"]'}),
        Row("us", "kafka_topic", "shop.orders"),
        acl("User:billing", "shop.orders", "Read"),
        acl("User:shop", "shop.", "All", resource_pattern_type_filter="Prefixed"),
        acl("User:admin", "*", "All"),
        acl("User:left", "shop.orders", "Read"),
        acl("User:left", "*", "Read", acl_permission_type="Deny"),
        acl("User:*", "*", "Describe"),
        acl("User:*", "kafka-cluster", "Create", resource_type="Cluster"),
    ]
    found = objects(rows).cache()
    assert listed(page.cluster_health(found)) == [
        ("eu", "4.1", 2, 3, 1, 2, 1, 0),
        ("us", None, None, 1, None, None, 0, 0),
    ]
    assert listed(page.unhealthy_topics(found)) == [("eu", "shop.orders", 1, 2)]
    topics = found.where("identity = 'shop.orders' and kind = 'kafka_topic'")
    holders = page.topic_holders(found, topics.withColumnRenamed("identity", "topic"))
    assert listed(holders) == [("eu", "shop.orders", "User:billing, User:shop", "User:shop")]
    rest = found.where("kind <> 'kafka_acl'").unionByName(
        objects([Row("ap", CLUSTER, "id", attributes={"kinds": '["kafka_acl"]'})])
    )
    few = topics.selectExpr("cluster", "identity as topic").where("cluster = 'eu'")
    few = few.unionByName(few.selectExpr("'ap' as cluster", "topic"))
    assert listed(page.topic_holders(rest, few)) == [
        ("ap", "shop.orders", "(nobody)", "(nobody)"),
        ("eu", "shop.orders", "(super users only)", "(super users only)"),
    ]
    broad = page.broad_acls(found).select("principal", "resource_type", "why")
    assert listed(broad) == [
        ("User:*", "CLUSTER", "everyone, any host"),
        ("User:*", "TOPIC", "everyone, all resources, any host"),
        ("User:admin", "TOPIC", "all resources, all operations, any host"),
    ]


def test_requests_are_counted_by_day_and_small_clusters_together(spark: "SparkSession") -> None:
    days = [datetime(2026, 11, day, hour, tzinfo=UTC) for day, hour in ((16, 1), (16, 23), (17, 0))]
    rows = [
        (f"c{n}", "User:a", "READ", "TOPIC", "orders", at.day == 16, 10 - n, at, at)
        for n in range(8)
        for at in days
    ]
    used = spark.createDataFrame(rows, USAGE)
    found = listed(page.requests_by_day(used))
    assert len(found) == 2 * (page.MAX_LINES + 1)
    assert found[0] == ("2026-11-16", "c0", 20, 0)
    assert found[6] == ("2026-11-16", "others", 2 * (4 + 3), 0)
    assert found[7] == ("2026-11-17", "c0", 10, 10)
    denied = listed(page.denied_requests(used))
    assert len(denied) == 8
    assert denied[0] == (
        *("c0", "User:a", "READ", "TOPIC", "orders"),
        *(10, "2026-11-17T00:00:00Z"),
    )


@pytest.fixture(scope="module")
def ports() -> FleetPorts:
    return FleetPorts(
        lambda _: (MemoryCluster, ()),
        lambda *_: None,
        lambda _: {},
        SilentProgress(),
        lambda: datetime(2026, 11, 4, tzinfo=UTC),
    )


@pytest.fixture(scope="module")
def options(
    tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession", ports: FleetPorts
) -> Iterator[FleetOptions]:
    """Take a run of the example, and read its log."""
    folder = tmp_path_factory.mktemp("report") / "fleet"
    shutil.copytree(EXAMPLE, folder)
    asked = FleetOptions(folder, Inputs())
    with commands_at_work(folder, spark):
        fleet.take_snapshot(asked, ports)
        ingest.ingest_logs(asked, ports)
        yield asked


def test_costs_and_anomalies_of_a_page_are_those_of_all_logs(
    options: FleetOptions, ports: FleetPorts
) -> None:
    """A principal that was last seen before -since is not new."""

    def tables(since: timedelta | None) -> dict[str, list[tuple[object, ...]]]:
        with open_inputs(replace(options, since=since), ports, reads_owners=True) as given:
            used = listed(report._usage_tables(given)["requests_by_day"])
            made = {**report._size_tables(given), **report._anomaly_tables(given)}
            return {"used": used, **{name: listed(rows) for name, rows in made.items()}}

    every, latest = tables(None), tables(timedelta(days=1))
    assert len(every.pop("used")) > len(latest.pop("used"))
    assert latest == every
    assert ("prod-eu", "its log has 2 days before 2026-11-03; min_days is 7") in every["left_out"]


def test_topics_of_unknown_size_are_counted_in_a_large_fleet_too(
    options: FleetOptions, ports: FleetPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No size is known of the topics of the example; of a large fleet they are looked for first."""
    few = insight.read_costs(options, ports, 1)
    monkeypatch.setattr(open_run, "MAX_TASK_ROWS", 0)
    large = insight.read_costs(options, ports, 1)
    assert large.tables == few.tables
    rows = insight.typed_rows(large.tables[0], CostRow)
    assert [each for each in rows if each.topics]
    assert all(each.unsized == each.topics for each in rows)


def test_acls_that_were_not_watched_for_the_window_are_not_compared_with_the_logs(
    options: FleetOptions, ports: FleetPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only run of the example is of its last day."""
    compared: list[str] = []
    usage = recommend.acl_usage

    def noted(*given: Any) -> "DataFrame":  # noqa: ANN401
        compared.extend(each.cluster for each in given[2].collect())
        return usage(*given)

    monkeypatch.setattr(recommend, "acl_usage", noted)
    with open_inputs(options, ports) as given:
        assert narrower_acls(given, RecommendOptions(timedelta(days=30))).collect() == []
        assert compared == []
        narrower_acls(given, RecommendOptions(timedelta(0)))
        assert compared == ["prod-eu"]


def test_charts_and_the_headline_do_not_depend_on_the_limit(
    options: FleetOptions, ports: FleetPorts
) -> None:
    every, cut = (report.build_report(replace(options, limit=n), ports) for n in (1_000, 1))
    whole, short = fleet_page(every), fleet_page(cut)
    assert any(each.is_truncated for each in cut.tables)
    assert short.summary == whole.summary
    assert [each.tallies for each in short.sections] == [each.tallies for each in whole.sections]


FOUND_ONCE = {"violations", "idle_acls", "unused_acls", "unused_topics", "costs"}
"""Tables for which Spark works, and of which the example has rows, with POLICY."""
POLICY = """\
policy "partitions" {
  on   = ["create"]
  kind = "kafka_topic"

  deny {
    condition = requested.partitions > 1
    message   = "there is more than one partition"
    fix       = "Declare one."
  }
}
"""


def test_what_charts_draw_of_a_cut_table_is_counted_of_the_rows_that_were_found_for_it(
    at_work: SparkTarget,
    options: FleetOptions,
    ports: FleetPorts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a large run; a small one is asked again sooner than its rows are kept."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    (options.folder / "prod-eu" / "policy.tf").write_text(POLICY)
    read_from: dict[str, set[str]] = {}
    collect = figures.collect_table

    def noted(name: str, rows: "DataFrame", limit: int) -> FigureTable:
        found = collect(name, rows, limit)
        read_from[name] = {*sources(rows._jdf.queryExecution().optimizedPlan())}
        return found

    monkeypatch.setattr(figures, "collect_table", noted)
    few = report.build_report(replace(options, limit=0), ports)
    monkeypatch.setattr(open_run, "MAX_TASK_ROWS", 0)
    large = report.build_report(replace(options, limit=0), ports)
    found = {name: read_from[f"{name}_counts"] for name in sorted(FOUND_ONCE)}
    assert not {name: read for name, read in found.items() if read != {"InMemoryRelation"}}
    assert large.tables == few.tables


def sources(plan: Any) -> Iterator[str]:  # noqa: ANN401 - of the JVM
    """Name what a plan reads."""
    inner = list(each(plan.children()))
    yield from chain.from_iterable(map(sources, inner)) if inner else (plan.nodeName(),)


def test_what_charts_draw_is_counted_of_all_rows(spark: "SparkSession") -> None:
    def counted(name: str, columns: str, *rows: tuple[object, ...]) -> list[tuple[object, ...]]:
        return listed(page.chart_counts(name, create_dataframe(spark, rows, columns)))

    drift = [("eu", "drift", "a"), ("eu", "drift", "b"), ("us", "problem", "a")]
    assert counted("drift", "cluster string, finding string, identity string", *drift) == [
        ("eu", "drift", 2),
        ("us", "problem", 1),
    ]
    owners = [("eu", "(no owner)", 5, 0, 1), ("eu", "a", 1, 2, 3), ("eu", "b", 4, 4, 4)]
    columns = "group string, owner string, topics long, acls long, others long"
    assert counted("owners", columns, *owners) == [
        ("eu", "", 2, 5, 6, 7),
        ("eu", "(no owner)", 1, 5, 0, 1),
    ]
    costs = [
        ("2026-10", "shop", "a", 9.0),
        ("2026-11", "shop", "a", 1.0),
        ("2026-11", "shop", "b", 2.0),
        ("2026-11", "", "c", 4.0),
    ]
    assert counted("costs", "month string, team string, owner string, cost double", *costs) == [
        ("2026-11", "c", 1, 4.0),
        ("2026-11", "shop", 2, 3.0),
    ]


def test_a_small_table_that_is_sent_to_all_tasks_takes_little_memory(
    at_work: SparkTarget, spark: "SparkSession"
) -> None:
    """A report has some fifty of them, and Spark keeps each while a plan has it."""
    from pyspark.sql import functions as F  # noqa: N812

    if at_work.name != LOCAL:
        pytest.skip("kplan sets the memory of a Spark of its own alone")
    few = create_dataframe(spark, [("eu", 1), ("us", 2)], "cluster string, n long")
    rows = spark.range(4).selectExpr("if(id < 2, 'eu', 'us') as cluster")
    joined = rows.join(F.broadcast(few), "cluster")
    assert len(joined.collect()) == 4
    sizes = list(sent_bytes(joined._jdf.queryExecution().executedPlan()))
    assert sizes
    assert max(sizes) <= 2 << 20


def sent_bytes(plan: Any) -> Iterator[int]:  # noqa: ANN401 - of the JVM
    """Return how many bytes each table takes that a query has sent to all tasks."""
    name = plan.nodeName()
    if name == "AdaptiveSparkPlan":
        yield from sent_bytes(plan.executedPlan())
    elif name == "BroadcastQueryStage":
        yield from sent_bytes(plan.plan())
    elif name == "BroadcastExchange":
        yield int(plan.metrics().apply("dataSize").value())
    else:
        for below in each(plan.children()):
            yield from sent_bytes(below)
