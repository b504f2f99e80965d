"""The driver's memory does not grow with rows: every plan whose rows it takes has a bound.

Each verb works on `examples/fleet`; what Spark is asked to hand over, or to send to every executor,
is looked at as its optimizer leaves it. `test_fleet_bounds.py` looks at the sources.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.fleet.access import REQUEST_COLUMNS, matching_acls
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.logs.audit_topic import OFFSET_SCHEMA
from kplan.fleet.logs.content import STATE_SCHEMA
from kplan.fleet.logs.part import LOG_SCHEMA
from kplan.fleet.replay import replay_requests
from kplan.fleet.snapshot import Row
from kplan.fleet.spark.session import enable_codegen
from kplan.fleet.tables import RUN_SCHEMA
from kplan.kinds.acl import Acl, AclKind
from kplan.model.address import Address
from kplan.model.errors import FleetError
from kplan.model.plan import Action, Change
from kplan.model.table import Figures
from kplan.workflow.fleet import (
    access,
    audit,
    fleet,
    ingest,
    inputs,
    insight,
    maintain,
    open_run,
    report,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.fleet.recommend import RecommendOptions, recommend_privileges
from tests.fleet.acl_rows import about, acl, row
from tests.fleet.spark_target import CONNECT, SparkTarget, commands_at_work
from tests.fleet.test_fleet_recommend import usage
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
FEW = {"cluster", "kind", "finding", "risk", "effect", "standing", "attempt", "resource_type"}
"""What there are only so many values of, however many rows there are."""
FEW |= {"name", "tells"}  # of labels
FEW |= {"source", "stamp", "file", "part"}  # of logs
FILES = {"path", "modificationTime", "length", "content", "_metadata"}
SMALL_TABLES = [
    {each.split()[0] for each in table.split(", ")}
    for table in (RUN_SCHEMA, OFFSET_SCHEMA, LOG_SCHEMA)
]
SMALL_TABLES.append(FILES)
STATES = {each.split()[0] for each in STATE_SCHEMA.split(", ")}
ONE_CLUSTER = {"save_snapshots", "seen", "_write_removals"}
"""Functions that take the rows of one cluster after another, as a stream."""


def is_bounded(node: Any) -> bool:  # noqa: ANN401 - of the JVM
    """Whether a plan gives only so many rows, however many there are."""
    name, inner = node.nodeName(), list(each(node.children()))
    if name in {"GlobalLimit", "LocalRelation", "OneRowRelation", "LogicalRDD", "EmptyRelation"}:
        return True
    if name == "MapInArrow" and {column(found) for found in each(node.output())} <= STATES:
        return True  # a row for each log that changed
    if name == "Aggregate":
        keys = {column(found) for found in each(node.groupingExpressions())}
        return keys <= FEW or is_bounded(inner[0])
    if name == "Filter" and re.search(r"\(kind#\d+ = cluster\)", node.condition().toString()):
        return True
    if not inner:  # what is read
        return any({column(c) for c in each(node.output())} <= known for known in SMALL_TABLES)
    return all(is_bounded(below) for below in inner)


def unbounded_broadcasts(node: Any) -> Iterator[str]:  # noqa: ANN401
    """Name what a plan has sent to all executors because kplan said so, without a bound."""
    inner = list(each(node.children()))
    if node.nodeName() == "Join":
        hints = (node.hint().leftHint(), node.hint().rightHint())
        for side, hint in zip(inner, hints, strict=True):
            if hint.isDefined() and "broadcast" in hint.toString() and not is_bounded(side):
                yield side.toString()
    for below in inner:
        yield from unbounded_broadcasts(below)


def each(found: Any) -> Iterator[Any]:  # noqa: ANN401 - a Seq of Scala
    return (found.apply(at) for at in range(found.size()))


def column(found: Any) -> str:  # noqa: ANN401
    return re.sub(r"#\d+L?$", "", found.toString())


@dataclass
class Taken:
    """The plans of what was brought over, with who asked, and of what was written."""

    brought: "list[tuple[str, DataFrame]]" = field(default_factory=list)
    written: "list[DataFrame]" = field(default_factory=list)

    def wrong(self) -> list[str]:
        """Show the plans without a bound."""
        plans = [(who, optimized(found)) for who, found in self.brought]
        return [
            *(f"{who}: {p.toString()}" for who, p in plans if not is_bounded(p)),
            *(told for _, plan in plans for told in unbounded_broadcasts(plan)),
            *(told for found in self.written for told in unbounded_broadcasts(optimized(found))),
        ]


def optimized(found: "DataFrame") -> Any:  # noqa: ANN401
    return found._jdf.queryExecution().optimizedPlan()


@contextmanager
def watched() -> Iterator[Taken]:
    """Note every DataFrame whose rows come over or are written."""
    try:
        from pyspark.sql.classic.dataframe import DataFrame
    except ImportError:  # before 4.0
        from pyspark.sql import DataFrame  # type: ignore[assignment]

    taken = Taken()
    brings = ("collect", "toLocalIterator", "toPandas", "toArrow", "tail")
    with pytest.MonkeyPatch.context() as ours:
        for name in (each for each in brings if hasattr(DataFrame, each)):
            ours.setattr(DataFrame, name, _noting(getattr(DataFrame, name), taken))
        ours.setattr(DataFrame, "write", property(_noting_writes(DataFrame.write, taken)))
        yield taken


def _noting(method: Callable[..., Any], taken: Taken) -> Callable[..., Any]:
    def noted(found: "DataFrame", *args: Any, **more: Any) -> Any:  # noqa: ANN401
        asking = sys._getframe(1).f_code.co_name
        if method.__name__ != "toLocalIterator" or asking not in ONE_CLUSTER:
            taken.brought.append((asking, found))
        return method(found, *args, **more)

    return noted


def _noting_writes(write: Any, taken: Taken) -> "Callable[[DataFrame], Any]":  # noqa: ANN401
    def noted(found: "DataFrame") -> Any:  # noqa: ANN401
        taken.written.append(found)
        return write.fget(found)

    return noted


@pytest.fixture(scope="module")
def ports() -> FleetPorts:
    days = iter(range(1, 99))
    return FleetPorts(
        lambda _: (MemoryCluster, ()),
        lambda *_: None,
        lambda _: {},
        SilentProgress(),
        lambda: datetime(2026, 11, 16, tzinfo=UTC) + timedelta(days=next(days)),
    )


@pytest.fixture(scope="module")
def options(
    tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession", ports: FleetPorts
) -> Iterator[FleetOptions]:
    """Take two runs of the example, and read its log."""
    folder = tmp_path_factory.mktemp("bounded") / "fleet"
    shutil.copytree(EXAMPLE, folder)
    chosen = FleetOptions(folder, Inputs())

    with commands_at_work(folder, spark):
        fleet.take_snapshot(FleetOptions(folder, Inputs(), run="first"), ports)
        yield chosen


def replayed(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Replay a plan of one ACL."""
    kind = AclKind()
    acl = Acl("shop.", "Topic", "User:orders", "*", "Read", "Deny", "Prefixed")
    change = Change(
        Address.parse("kafka_acl.x"), kind.name, kind.identify(acl), Action.CREATE, None, acl
    )
    based_on = SimpleNamespace(clusters={}, cluster_id="prod-eu-cluster-id0000")
    plan = SimpleNamespace(changes=[change], based_on=based_on, checksum="0" * 12)
    with pytest.MonkeyPatch.context() as ours:
        ours.setattr(access, "read_plan", lambda _: SimpleNamespace(plan=plan))
        return access.replay_audit(options, ports, [Path("plan")])


def maintained(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Merge ingests: no answer changes."""
    store = fleet.read_fleet(options).store
    runs = len(list(Path(store, "runs").glob("attempt=*")))
    before = ingest.ingest_logs(options, ports)
    done = maintain.maintain_store(options, ports, timedelta(days=9_999), None)
    assert (done.removed.runs, done.replaced) == (0, 0)
    assert len(list(Path(store, "runs").glob("attempt=*"))) == runs
    after = ingest.ingest_logs(options, ports)
    assert after.tables == before.tables
    return after


Asked = Callable[[FleetOptions, FleetPorts], Figures]
VERBS: dict[str, Asked] = {
    "snapshot": lambda o, p: fleet.take_snapshot(o, p, o.folder / "saved"),
    "ingest": ingest.ingest_logs,
    "inventory": fleet.read_inventory,
    "inventory by label": lambda o, p: fleet.read_inventory(o, p, "region"),
    "plan": lambda o, p: fleet.plan_fleet(o, p, is_drift=False),
    "drift": lambda o, p: fleet.plan_fleet(o, p, is_drift=True),
    "changes": lambda o, p: fleet.compare_snapshots(o, p, "first"),
    "history": lambda o, p: fleet.read_history(o, p, "orders"),
    "who-can": lambda o, p: access.who_can(o, p, "READ", "orders"),
    "of": lambda o, p: access.access_of(o, p, "User:orders"),
    "lint": access.lint_fleet,
    "usage": lambda o, p: audit.read_usage(o, p, o.folder / "removed"),
    "replay": replayed,
    "report": report.build_report,
    "maintain": maintained,
}


def test_no_verb_takes_rows_without_a_bound(
    at_work: SparkTarget, options: FleetOptions, ports: FleetPorts
) -> None:
    """One test, as each verb needs what those before it have stored."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    wrong = {}
    for name, work in VERBS.items():
        with watched() as taken:
            work(options, ports)
        assert taken.brought, name
        wrong[name] = taken.wrong()
    assert not {name: told for name, told in wrong.items() if told}


LOG_VERBS: dict[str, Asked] = {
    "usage": audit.read_usage,
    "costs": lambda o, p: insight.read_costs(o, p, 3),
    "anomalies": lambda o, p: insight.read_anomalies(o, p, None),
    "recommend": lambda o, p: recommend_privileges(o, p, RecommendOptions(timedelta(days=1))),
    "report": report.build_report,
}
"""Verbs of several tables, each of the stored logs."""


def executions_after(spark: "SparkSession", last: int) -> Iterator[Any]:
    """Give the queries after one, the newest first: Spark keeps a thousand of other tests."""
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    for at in reversed(range(found.size())):
        execution = found.apply(at)
        if execution.executionId() <= last:
            return
        yield execution


def log_rows_read(spark: "SparkSession", since: int) -> int:
    """Count the rows that scans of the stored logs gave, in the executions after one."""
    store = spark._jsparkSession.sharedState().statusStore()
    return sum(
        int(found.get().replace(",", "").split()[0])
        for execution in executions_after(spark, since)
        for node in each(store.planGraph(execution.executionId()).allNodes())
        if node.name().startswith("Scan parquet") and "/requests/" in node.desc()
        for metric in each(node.metrics())
        if metric.name() == "number of output rows"
        and (
            found := store.executionMetrics(execution.executionId()).get(metric.accumulatorId())
        ).isDefined()
    )


def last_execution(spark: "SparkSession") -> int:
    """Return the number of the last query, when all that Spark has to tell of it is told."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return next((found.executionId() for found in executions_after(spark, -1)), -1)


def test_tables_of_one_answer_read_the_logs_once_and_say_what_they_said(
    at_work: SparkTarget,
    spark: "SparkSession",
    options: FleetOptions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where logs are not kept, and no values, every table reads them: both answers are the same."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    moment = FleetPorts(
        lambda _: (MemoryCluster, ()),
        lambda *_: None,
        lambda _: {},
        SilentProgress(),
        lambda: datetime(2027, 1, 1, tzinfo=UTC),
    )
    ingest.ingest_logs(options, moment)
    spark.conf.set("spark.sql.maxMetadataStringLength", "2000")
    fleet.take_snapshot(options, moment)
    stored = fleet.open_store(spark, fleet.read_fleet(options)).logs.rows().count()
    spark.catalog.clearCache()  # of the tests before, which share this Spark
    for name, work in LOG_VERBS.items():
        begun = last_execution(spark)
        kept = work(options, moment)
        ended = last_execution(spark)
        assert log_rows_read(spark, begun) == stored, name
        assert spark._jsparkSession.sharedState().cacheManager().isEmpty(), name
        with monkeypatch.context() as ours:
            ours.setattr(open_run.OpenSnapshot, "keep", lambda _, rows: rows)
            ours.setattr(inputs, "inline_few", lambda rows: rows)
            ours.setattr(inputs, "read_few", lambda rows, *_: rows)
            assert work(options, moment).tables == kept.tables, name
        last_execution(spark)
        assert log_rows_read(spark, ended) > stored, name


def test_spark_drops_what_it_keeps_for_an_answer_that_fails(
    at_work: SparkTarget,
    spark: "SparkSession",
    options: FleetOptions,
    ports: FleetPorts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be that of others, and outlive the command."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    spark.catalog.clearCache()  # of the tests before
    cache = spark._jsparkSession.sharedState().cacheManager()
    log = options.folder / "logs" / "prod-eu-1.log"
    log.write_text(log.read_text() * 2)  # so that there is something to read, after other tests
    with monkeypatch.context() as broken:
        broken.setattr("kplan.fleet.logs.store.part_starts", None)
        with pytest.raises(FleetError):
            ingest.ingest_logs(options, ports)
    assert cache.isEmpty()
    ingest.ingest_logs(options, ports)
    fleet.take_snapshot(options, ports)
    monkeypatch.setattr("kplan.fleet.figures.collect_tables", None)
    with pytest.raises(TypeError):
        VERBS["usage"](options, ports)
    assert cache.isEmpty()


def test_the_search_sees_what_has_no_bound(at_work: SparkTarget, spark: "SparkSession") -> None:
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    many = spark.range(9).withColumn("cluster", F.concat(F.lit("eu"), F.col("id")))
    joined = many.join(F.broadcast(many.select("id")), "id").groupBy("cluster").count()
    with watched() as taken:
        many.limit(3).collect()
        many.groupBy("cluster").count().collect()
        assert taken.wrong() == []
        many.groupBy("id").count().collect()
        many.sort("id").collect()
        assert len(taken.wrong()) == 2
        joined.collect()
    assert len(taken.wrong()) == 3


def test_acls_are_hashed_however_few_the_requests_seem(
    at_work: SparkTarget, spark: "SparkSession"
) -> None:
    """Repeated under each key they are many, which Spark does not see (decision 0068)."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    one = ("eu", "User:a", "10.0.0.1", "READ", "TOPIC", "orders")
    names = "cluster, identity, resource_type, resource_name, pattern_type, principal, host, "
    columns = f"{names}operation, permission".split(", ")
    held = [
        ("eu", f"{n}", "TOPIC", "or", "PREFIXED", "User:a", "*", "READ", "ALLOW") for n in "123"
    ]
    asked = create_dataframe(spark, [one], ", ".join(f"{name} string" for name in REQUEST_COLUMNS))
    found = matching_acls(
        asked, create_dataframe(spark, held, ", ".join(f"{each} string" for each in columns))
    )
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "BuildRight" in plan
    assert "BuildLeft" not in plan
    assert found.count() == 3


def test_a_replay_of_many_acls_holds_none_of_them_in_the_driver_and_sorts_no_requests(
    at_work: SparkTarget, spark: "SparkSession", objects: "Callable[[list[Row]], DataFrame]"
) -> None:
    """A recommendation names as many ACLs as the fleet has; a text as a sum is found by sorting."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    run = objects([about("eu"), row(acl("orders"))])
    used = usage(spark, [("eu", "User:a", "h", "READ", "orders")])
    names = f"'eu' as cluster, '{AclKind().identify(acl('orders'))}' as identity"
    gone = spark.range(1).selectExpr(*names.split(", "))
    found = replay_requests(used, run, gone, run.where("kind = 'none'"))
    assert not [*unbounded_broadcasts(optimized(found))]
    assert "SortAggregate" not in found._jdf.queryExecution().executedPlan().toString()
    assert [each.effect for each in found.collect()] == ["denied"]


def test_code_is_made_for_queries_only_where_there_is_enough_to_read(
    at_work: SparkTarget, spark: "SparkSession"
) -> None:
    """And never in a session that the user has set up (decision 0089)."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    made = "spark.sql.codegen.wholeStage"
    few, many = spark.range(9), spark.range(10_000_000)
    names = (made, "spark.sql.codegen.factoryMode")
    before = {name: str(spark.conf.get(name)) for name in names}
    enable_codegen(many)
    assert spark.conf.get(made) == "false"
    spark.conf.set("spark.kplan.suits", "true")
    try:
        enable_codegen(few)
        assert spark.conf.get(made) == "false"
        for read, rows in ((many, 0), (few, 1_000_000)):
            spark.conf.set(made, "false")
            enable_codegen(read, rows)
            assert spark.conf.get(made) == "true"
    finally:
        spark.conf.unset("spark.kplan.suits")
        for name, value in before.items():
            spark.conf.set(name, value)
