from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.history import changes, history
from kplan.fleet.inventory import inventory, largest, unread
from kplan.fleet.rows import Row
from kplan.fleet.store import Store
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]
MONDAY = datetime(2026, 11, 16, 6, tzinfo=UTC)


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


def test_a_run_is_read_as_it_was_stored(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path))
    rows = [cluster(region="eu"), topic("orders"), acl("User:a")]
    done = store.append(objects(rows), "monday", MONDAY)
    assert (done.rows, store.run().run) == (3, "monday")
    found = store.objects(store.run()).select(*Row._fields).collect()
    assert sorted(Row(*each) for each in found) == sorted(rows)


def test_a_run_that_broke_off_is_never_seen(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path))
    store.append(objects([cluster(), topic("a")]), "one", MONDAY)
    (tmp_path / "objects/attempt=broken/kind=kafka_topic").mkdir(parents=True)
    (tmp_path / "objects/attempt=broken/kind=kafka_topic/half.parquet").write_bytes(b"PAR1")
    assert [each.run for each in store.runs()] == ["one"]
    assert store.all_objects(store.runs()).count() == 2


def test_a_run_taken_again_takes_the_place_of_the_first(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path))
    store.append(objects([cluster(), topic("a")]), "one", MONDAY)
    store.append(objects([cluster(), topic("b")]), "one", days(1))
    (run,) = store.runs()
    assert listed(store.objects(run), "identity") == [("b",), ("id-eu",)]


def test_an_empty_store_says_how_to_fill_it(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no run") as caught:
        Store(spark, str(tmp_path)).run()
    assert "kplan fleet snapshot" in caught.value.hint


def test_a_store_that_cannot_be_written_keeps_what_it_has(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(FleetError, match="could not be stored"):
        Store(spark, str(file)).append(objects([cluster()]), "one", MONDAY)


def test_vacuum_keeps_the_latest_and_the_young_runs(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path))
    for day in range(3):
        store.append(objects([cluster(), topic(f"t{day}")]), f"day-{day}", days(day))
    assert store.vacuum(timedelta(days=1), days(2)) == 1
    assert [each.run for each in store.runs()] == ["day-1", "day-2"]
    assert store.vacuum(timedelta(0), days(90)) == 1
    assert [each.run for each in store.runs()] == ["day-2"]


def test_the_history_tells_from_when_to_when_a_value_stood(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path))
    slow, fast = topic("a", retention="9"), topic("a", retention="1")
    for day, rows in enumerate(([slow], [fast], [fast, topic("b")], [slow])):
        store.append(objects([cluster(), *rows]), f"day-{day}", days(day))
    spans = history(store.all_objects(store.runs()))
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
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    """What was not read is not absent (design law 2)."""
    store = Store(spark, str(tmp_path))
    full, blind = [cluster(), topic("a")], [cluster(is_read=False), down()]
    for day, rows in enumerate((full, blind, full)):
        store.append(objects(rows), f"day-{day}", days(day))
    spans = history(store.all_objects(store.runs())).where("attribute = ''")
    assert listed(spans, "first_run", "last_run", "valid_to") == [("day-0", "day-2", None)]
    assert changes(objects(full), objects(blind)).count() == 0


def test_two_runs_are_compared_attribute_by_attribute(objects: Make) -> None:
    before = objects([cluster(), topic("a", retention="9"), topic("gone")])
    after = objects([cluster(), topic("a", retention="1"), topic("new", partitions=6)])
    found = changes(before, after).where("attribute in ('', 'config.retention')")
    assert listed(found, "identity", "attribute", "before", "after") == [
        ("a", "config.retention", "9", "1"),
        ("gone", "", "present", None),
        ("new", "", None, "present"),
    ]


def test_the_inventory_counts_by_cluster_and_by_label(objects: Make) -> None:
    rows = [
        *(cluster("eu", team="x"), topic("a"), topic("b", partitions=5), acl("User:a")),
        *(use("a", bytes="700", records="9"), use("b", unread="no right"), group("g", "eu")),
        *(cluster("us", team="x"), topic("a", "us"), acl("User:a", "us")),
        *(cluster("ap", team="y"), down("ap")),
    ]
    names = ("group", "clusters", "unread_clusters", "topics", "partitions", "replicas", "acls")
    sizes = ("group", "groups", "records", "bytes", "unsized", "others")
    assert listed(inventory(objects(rows)), *sizes) == [
        ("ap", 0, 0, 0, 0, 0),
        ("eu", 1, 9, 700, 1, 0),
        ("us", 0, 0, 0, 1, 0),
    ]
    assert listed(inventory(objects(rows)), *names) == [
        ("ap", 1, 1, 0, 0, 0, 0),
        ("eu", 1, 0, 2, 8, 16, 1),
        ("us", 1, 0, 1, 3, 6, 1),
    ]
    assert listed(inventory(objects(rows), "team"), *names) == [
        ("x", 2, 0, 3, 11, 22, 2),
        ("y", 1, 1, 0, 0, 0, 0),
    ]
    assert listed(largest(objects(rows), 1), "topic", "bytes", "groups") == [("a", 700, "g, h")]
    in_order = largest(objects(rows), 2).select("topic", "replicas").collect()
    assert tuple(in_order[1]) == ("b", 10)
    assert listed(unread(objects(rows)), "cluster", "kind") == [("ap", "*")]
