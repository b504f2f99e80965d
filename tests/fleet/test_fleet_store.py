import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from kplan.fleet import tables
from kplan.fleet.history import changes, history
from kplan.fleet.insight.spans import topic_sizes
from kplan.fleet.inventory import (
    OWNER_SCHEMA,
    inventory,
    label_names,
    largest_topics,
    owner_counts,
    unread_kinds,
)
from kplan.fleet.reader import SnapshotSource, read_clusters
from kplan.fleet.snapshot import OBJECT_SCHEMA, ROW_FORMAT, SIZES, Row, write_snapshot
from kplan.fleet.store import KindsRead, Store, open_tables
from kplan.fleet.tables import DELTA, ICEBERG, PARQUET, RUN_SCHEMA
from kplan.model.errors import FleetError
from tests.fleet.connect_server import has_delta, has_iceberg

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]
MONDAY = datetime(2026, 11, 16, 6, tzinfo=UTC)
NO_DELTA, NO_ICEBERG = not has_delta(), not has_iceberg()
FORMS = (
    PARQUET,
    pytest.param(DELTA, marks=pytest.mark.skipif(NO_DELTA, reason="no Delta Lake on this Spark")),
    pytest.param(ICEBERG, marks=pytest.mark.skipif(NO_ICEBERG, reason="no Iceberg on this Spark")),
)
BOTH_OF_EU = KindsRead(("kafka_acl", "kafka_topic"), ("eu",))


def cluster(name: str = "eu", *, is_read: bool = True, **labels: str) -> Row:
    found = {f"label.{key}": value for key, value in labels.items()}
    found |= {"kinds": '["kafka_acl", "kafka_topic"]'} if is_read else {}
    return Row(name, "cluster", f"id-{name}", attributes=found)


def topic(name: str, on: str = "eu", *, partitions: int = 3, **config: str) -> Row:
    found = {"name": name, "partitions": str(partitions), "replication_factor": "2"}
    found |= {f"config.{key}": value for key, value in config.items()}
    return Row(on, "kafka_topic", name, f"uid-{name}", "{}", found)


def acl(principal: str, on: str = "eu") -> Row:
    return Row(on, "kafka_acl", f"acl|{principal}", "", "{}", {"acl_principal": principal})


def use(name: str, on: str = "eu", **told: str) -> Row:
    groups = '[["h", true, 0], ["g", false, null]]'
    return Row(on, "use", name, attributes={"groups": groups, **told})


def group(name: str, on: str) -> Row:
    return Row(on, "group", name)


def down(on: str = "eu", kind: str = "*") -> Row:
    return Row(on, "unread", kind, attributes={"reason": "nobody answers"})


def days(count: int) -> datetime:
    return MONDAY + timedelta(days=count)


def listed(found: "DataFrame", *names: str) -> list[tuple[object, ...]]:
    return sorted(tuple(each) for each in found.select(*names).collect())


@pytest.mark.parametrize("form", FORMS)
def test_a_store_keeps_whole_runs_and_shows_no_others(
    spark: "SparkSession", objects: Make, tmp_path: Path, form: str
) -> None:
    """The contract of every form of tables, on one store, as the first commit takes longest."""
    store = Store(spark, str(tmp_path), form)
    with pytest.raises(FleetError, match="no run") as empty:
        store.run()
    assert "kplan fleet snapshot" in empty.value.hint

    rows = [cluster(region="eu"), topic("orders"), acl("User:a")]
    done = store.add_run(objects(rows), "monday", MONDAY)
    assert (done.rows, store.run().run) == (3, "monday")
    found = store.objects(store.run()).select(*Row._fields).collect()
    assert sorted(Row(*each) for each in found) == sorted(rows)

    assert done.kinds_read == store.run().kinds_read == (BOTH_OF_EU,)

    again = store.add_run(objects([cluster(), topic("b")]), "monday", days(1))
    assert store.runs() == (again,), "the same run once more takes its own place"
    assert listed(store.objects(again), "identity") == [("b",), ("id-eu",)]

    at_work = open_tables(spark, str(tmp_path), form)
    at_work.add_objects(objects([cluster(), topic("half")]), "broken")
    assert store.runs() == (again,), "what broke off before its line was written does not count"
    assert store.objects_of_runs(store.runs()).where("identity = 'half'").count() == 0

    with ThreadPoolExecutor() as pool:
        both = [objects([cluster(), topic(f"by-{who}")]) for who in "xy"]
        names = ["by-x", "by-y"]
        wrote = list(pool.map(store.add_run, both, names, [days(2), days(3)]))
    assert [each.run for each in store.runs()] == ["monday", *names], "two writers at once"
    assert [store.objects(each).where("kind = 'kafka_topic'").count() for each in wrote] == [1, 1]

    later = datetime.now(UTC) + timedelta(days=2)
    assert store.vacuum(later - days(2), later) == 3, (
        "a run with the attempt it replaced, and what broke off"
    )
    assert [each.run for each in store.runs()] == names
    with pytest.raises(AnalysisException if form == PARQUET else AssertionError):
        assert at_work.objects(["broken"]).count() > 0

    check_sizes(spark, store, tmp_path / "eu.jsonl")


def check_sizes(spark: "SparkSession", store: Store, file: Path) -> None:
    """Take a run whose rows have sizes after two runs whose rows have none."""
    rows = [cluster(), topic("orders"), topic("idle"), use("orders", bytes="7")]
    write_snapshot(file, rows)
    source = SnapshotSource("eu", file=file)
    sized = store.add_run(read_clusters(spark, [source]), "sized", days(4))
    assert [each.has_sizes for each in store.runs()] == [False, False, True]
    every = store.objects_of_runs(store.runs()).where("kind = 'kafka_topic'")
    assert listed(every, "identity", *SIZES) == [
        ("by-x", None, None, None),
        ("by-y", None, None, None),
        ("idle", 3, 6, None),
        ("orders", 3, 6, 14),
    ], "the columns of sizes are added to the tables of earlier versions"
    earlier = topic_sizes(every.where("run <> 'sized'"), has_sizes=False)
    assert listed(earlier, "topic", *SIZES) == [("by-x", 3, 6, None), ("by-y", 3, 6, None)]
    own = store.objects_of_runs([sized])
    told = ("cluster", "run", "topic", *SIZES)
    by_both = (topic_sizes(own, has_sizes=has_sizes) for has_sizes in (True, False))
    assert len({repr(listed(each, *told)) for each in by_both}) == 1


@pytest.mark.skipif(not NO_DELTA, reason="this Spark knows Delta Lake")
def test_a_spark_that_knows_no_delta_tables_does_not_take_a_store_for_empty(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with pytest.raises(FleetError, match="knows no Delta tables") as refused:
        Store(spark, str(tmp_path), DELTA).runs()
    assert refused.value.hint.startswith("Delta Lake does not run on Spark 4.3")


@pytest.mark.skipif(not NO_ICEBERG, reason="this Spark knows Iceberg")
def test_a_spark_that_knows_no_iceberg_tables_does_not_take_a_store_for_empty(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with pytest.raises(FleetError, match="knows no Iceberg tables") as refused:
        Store(spark, str(tmp_path), ICEBERG)
    assert refused.value.hint.startswith(f"Iceberg does not run on Spark {spark.version}, but on")


def test_a_catalog_that_is_not_configured_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="catalog lake cannot be used") as refused:
        Store(spark, str(tmp_path), ICEBERG, "lake.kplan")
    assert "spark.sql.catalog.lake" in refused.value.hint


CATALOGS = {
    "hadoop": {"type": "hadoop"},
    "jdbc": {"type": "jdbc", "uri": "jdbc:sqlite:{}/lake.db", "jdbc.schema-version": "V1"},
}


@pytest.mark.skipif(NO_ICEBERG, reason="no Iceberg on this Spark")
@pytest.mark.parametrize("kind", CATALOGS)
def test_tables_in_a_named_catalog_are_merged_and_expired_by_its_own_procedures(
    spark: "SparkSession", objects: Make, tmp_path: Path, kind: str
) -> None:
    lake = f"spark.sql.catalog.lake_{kind}"
    spark.conf.set(lake, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{lake}.warehouse", str(tmp_path / "warehouse"))
    for name, value in CATALOGS[kind].items():
        spark.conf.set(f"{lake}.{name}", value.format(tmp_path))
    store = Store(spark, str(tmp_path / "none"), ICEBERG, f"lake_{kind}.sales")
    with pytest.raises(FleetError, match=rf"no run in lake_{kind}\.sales yet"):
        store.run()
    for day in range(6):
        store.add_run(objects([cluster(), topic(f"t{day}")]), f"day-{day}", days(day))
    assert spark.read.table(f"lake_{kind}.sales.runs").count() == 6
    store.optimize()
    files = spark.read.table(f"lake_{kind}.sales.runs.files").count()
    assert files == 1, "a file of each run before"
    assert store.vacuum(timedelta(0), days(90)) == 5
    assert listed(store.objects(store.run()), "identity") == [("id-eu",), ("t5",)]
    assert not (tmp_path / "none").exists()


def test_the_latest_run_stays_however_old(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path))
    for day in range(2):
        store.add_run(objects([cluster()]), f"day-{day}", days(day))
    assert store.vacuum(timedelta(0), days(90)) == 1
    assert [each.run for each in store.runs()] == ["day-1"]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_an_older_version_is_read_and_one_of_a_newer_is_refused(
    spark: "SparkSession", objects: Make, tmp_path: Path, form: str
) -> None:
    at_work = open_tables(spark, str(tmp_path), form)
    at_work.add_objects(objects([cluster(), topic("a")]).drop("uid"), "old")
    line = ("old", "old", MONDAY.isoformat(), 1)
    at_work.add_lines(
        "runs", spark.createDataFrame([line], RUN_SCHEMA.partition(", kplan_version")[0]), "old"
    )
    store = Store(spark, str(tmp_path), form)
    assert listed(store.objects(store.run()), "identity", "uid") == [("a", None), ("id-eu", None)]
    store.add_run(objects([cluster(), topic("a")]), "now", days(1))
    assert ("a", "uid-a") in listed(store.objects(store.run()), "identity", "uid")

    newer = ("new", "new", MONDAY.isoformat(), ROW_FORMAT + 1, "99.0", 1, None, False)
    at_work.add_lines("runs", spark.createDataFrame([newer], RUN_SCHEMA), "new")
    with pytest.raises(FleetError, match=f"has format {ROW_FORMAT + 1}") as refused:
        store.run("now")
    assert "kplan 99.0" in refused.value.hint


@pytest.mark.parametrize("form", FORMS)
def test_a_store_may_be_in_a_folder_whose_name_is_a_pattern(
    spark: "SparkSession", objects: Make, tmp_path: Path, form: str
) -> None:
    """Spark takes what it reads for a pattern, and what it writes for a name."""
    store = Store(spark, str(tmp_path / "fleet[1]" / "{a,b}*?"), form)
    (tmp_path / "fleet1" / "aa").mkdir(parents=True)
    run = store.add_run(objects([cluster(), topic("a")]), "monday", MONDAY)
    assert store.runs() == (run,)
    assert listed(store.objects(run), "identity") == [("a",), ("id-eu",)]
    assert store.vacuum(timedelta(0), days(90)) == 0


def test_what_goes_while_someone_reads_it_is_as_if_it_had_gone_before(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    """Of lines, which every reader lists, also those that count no more; rows have to be there."""
    store, at_work = Store(spark, str(tmp_path)), open_tables(spark, str(tmp_path), PARQUET)
    for day in range(2):
        store.add_run(objects([cluster()]), f"day-{day}", days(day))
    first, last = store.runs()
    lines, rows = at_work.lines("runs", RUN_SCHEMA), at_work.objects([first.attempt])
    assert store.vacuum(timedelta(0), days(90)) == 1
    assert [each.run for each in lines.collect()] == [last.run]
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|FileNotFound|does not exist"):
        rows.collect()


def test_many_rows_of_a_kind_are_several_files_so_that_several_tasks_read_them(
    spark: "SparkSession", objects: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "FILE_ROWS", 4)
    store = Store(spark, str(tmp_path))
    names = [f"topic-{n}" for n in range(10)]
    run = store.add_run(objects([cluster(), *map(topic, names)]), "one", MONDAY)
    assert run.rows == 11
    assert len(list(tmp_path.glob("objects/*/kind=kafka_topic/*.parquet"))) == 3
    assert len(list(tmp_path.glob("objects/*/kind=cluster/*.parquet"))) == 1
    assert listed(store.objects(run), "identity") == [(each,) for each in ("id-eu", *names)]


def test_a_store_that_cannot_be_written_keeps_what_it_has(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(FleetError, match="could not be stored"):
        Store(spark, str(file)).add_run(objects([cluster()]), "one", MONDAY)


def runs(spark: "SparkSession", *daily: Sequence[Row]) -> "DataFrame":
    """Make a run of each day, as `Store.all_objects` gives them."""
    rows = [
        (f"day-{day}", days(day).isoformat(timespec="seconds"), *row)
        for day, found in enumerate(daily)
        for row in found
    ]
    return spark.createDataFrame(rows, f"run string, at string, {OBJECT_SCHEMA}")


def test_the_history_tells_from_when_to_when_a_value_stood(spark: "SparkSession") -> None:
    slow, fast = topic("a", retention="9"), topic("a", retention="1")
    daily = ([slow], [fast], [fast, topic("b")], [slow])
    spans = history(runs(spark, *([cluster(), *rows] for rows in daily)))
    chosen = spans.where("attribute = 'config.retention'")
    at = [days(day).isoformat(timespec="seconds") for day in range(4)]
    assert sorted(
        chosen.select("value", "valid_from", "valid_to").collect(), key=lambda x: x[1]
    ) == [
        ("9", at[0], at[1]),
        ("1", at[1], at[3]),
        ("9", at[3], None),
    ]
    gone = spans.where("identity = 'b' and attribute = ''")
    assert listed(gone, "first_run", "last_run", "valid_to") == [("day-2", "day-2", at[3])]


def test_a_broker_that_is_down_ends_no_span_and_makes_no_change(
    spark: "SparkSession", objects: Make
) -> None:
    """What was not read is not absent (design law 2)."""
    full, blind = [cluster(), topic("a")], [cluster(is_read=False), down()]
    spans = history(runs(spark, full, blind, full)).where("attribute = ''")
    assert listed(spans, "first_run", "last_run", "valid_to") == [("day-0", "day-2", None)]
    assert changes(objects(full), objects(blind)).count() == 0


def test_a_run_that_may_not_see_a_topic_ends_no_span_of_it(spark: "SparkSession") -> None:
    """K117-15: it may be as before, or changed; other topics are seen by that run."""
    facts = {"kind": "kafka_topic", "error": "TOPIC_AUTHORIZATION_FAILED"}
    hidden = Row("eu", "hidden", "a", attributes=facts)
    old, new = topic("a", retention="9"), topic("a", retention="1")
    seen: list[list[Row]] = [[old, topic("b")], [hidden], [hidden], [old]]
    daily = [*seen, [hidden], [new], [hidden], []]
    spans = history(runs(spark, *([cluster(), *rows] for rows in daily)))
    at = [days(day).isoformat(timespec="seconds") for day in range(len(daily))]
    chosen = spans.where("identity = 'a' and attribute = 'config.retention'")
    assert listed(chosen, "value", "valid_from", "valid_to", "first_run", "last_run") == [
        ("1", at[5], at[7], "day-5", "day-5"),
        ("9", at[0], at[5], "day-0", "day-3"),
    ]
    assert listed(spans.where("identity = 'a' and attribute = ''"), "valid_to") == [(at[7],)]
    assert listed(spans.where("identity = 'b' and attribute = ''"), "valid_to") == [(at[1],)]


def test_a_topic_that_a_run_may_not_see_is_neither_deleted_nor_created(objects: Make) -> None:
    """K117-15: whether it exists is unknown, and that is told."""
    facts = {"kind": "kafka_topic", "error": "TOPIC_AUTHORIZATION_FAILED"}
    hidden = Row("eu", "hidden", "b", attributes=facts)
    more = Row("eu", "hidden", "c", attributes=facts)
    before = objects([cluster(), topic("a"), topic("b")])
    after = objects([cluster(), topic("a", partitions=4), hidden, more])
    assert listed(changes(before, after), "identity", "change") == [("a", "changed")]
    assert listed(changes(after, before), "identity", "change") == [("a", "changed")]
    unread = unread_kinds(objects([cluster(), hidden, more, down("us")]))
    assert listed(unread, "cluster", "kind", "reason") == [
        ("eu", "kafka_topic", "2 hidden, as b: TOPIC_AUTHORIZATION_FAILED"),
        ("us", "*", "nobody answers"),
    ]


def test_two_runs_are_compared_object_by_object(objects: Make) -> None:
    before = objects([cluster(), topic("a", retention="9", size="1"), topic("gone"), topic("b")])
    changed = topic("a", partitions=4, retention="1", size="1")
    after = objects([cluster(), changed, topic("new"), topic("b")])
    found = changes(before, after)
    assert listed(found, "identity", "change") == [
        ("a", "changed"),
        ("gone", "deleted"),
        ("new", "created"),
    ]
    told = {each.identity: json.loads(each.attributes) for each in found.collect()}
    assert told["a"] == {"config.retention": ["9", "1"], "partitions": ["3", "4"]}
    assert told["gone"]["partitions"] == ["3", None]
    assert told["new"]["partitions"] == [None, "3"]


def test_a_topic_that_was_created_again_is_a_change_with_its_ids(objects: Make) -> None:
    """It has all the values that it had, and none of its records."""
    again = topic("a")._replace(uid="other")
    (found,) = changes(objects([cluster(), topic("a")]), objects([cluster(), again])).collect()
    assert (found.identity, found.change) == ("a", "recreated")
    assert json.loads(found.attributes) == {"id": ["uid-a", "other"]}
    unknown = topic("a")._replace(uid="")  # of an older broker
    assert not changes(objects([cluster(), topic("a")]), objects([cluster(), unknown])).count()


def test_the_inventory_counts_by_cluster_and_by_label(spark: "SparkSession", objects: Make) -> None:
    rows = [
        *(cluster("eu", team="x"), topic("a"), topic("b", partitions=5), acl("User:a")),
        *(use("a", bytes="700", records="9"), use("b", unread="no right"), group("g", "eu")),
        *(cluster("us", team="x"), topic("a", "us"), acl("User:a", "us")),
        *(cluster("ap", team="y"), down("ap")),
    ]
    names = (
        *("group", "clusters", "unread_clusters", "topics", "partitions", "replicas", "acls"),
        "principals",
    )
    again = acl("User:a", "us")._replace(identity="another")
    more = [*rows, again, acl("User:b"), down("ap", "kafka_acl")]
    sizes = ("group", "groups", "records", "bytes", "unsized", "others")
    assert listed(inventory(objects(rows)), *sizes) == [
        ("ap", 0, 0, 0, 0, 0),
        ("eu", 1, 9, 700, 1, 0),
        ("us", 0, None, None, 1, 0),
    ]
    assert listed(inventory(objects(more)), *names) == [
        ("ap", 1, 1, 0, 0, 0, 0, 0),
        ("eu", 1, 0, 2, 8, 16, 2, 2),
        ("us", 1, 0, 1, 3, 6, 2, 1),
    ]
    assert listed(inventory(objects(more), "team"), *names) == [
        ("x", 2, 0, 3, 11, 22, 4, 2),
        ("y", 1, 1, 0, 0, 0, 0, 0),
    ]
    assert listed(largest_topics(objects(rows), 1), "topic", "bytes", "groups") == [
        ("a", 700, "g, h")
    ]
    owned = [("eu", "kafka_topic", "a", "eu"), ("us", "kafka_topic", "a", "us: module.x")]
    held = spark.createDataFrame([*owned, ("eu", "kafka_topic", "gone", "eu")], OWNER_SCHEMA)
    told = owner_counts(objects(rows), held, "team").collect()
    assert [tuple(each) for each in told] == [
        ("x", "(no owner)", 1, 2, 0, 60.0),
        ("x", "eu", 1, 0, 0, 20.0),
        ("x", "us: module.x", 1, 0, 0, 20.0),
    ], "what is owned and gone is drift, and not counted"
    assert label_names(objects(rows)) == ("team",)
    in_order = largest_topics(objects(rows), 2).select("topic", "replicas").collect()
    assert tuple(in_order[1]) == ("b", 10)
    assert listed(unread_kinds(objects(rows)), "cluster", "kind") == [("ap", "*")]
