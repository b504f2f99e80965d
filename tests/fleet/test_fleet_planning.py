"""The data source and the planner where Spark runs them."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.cluster.memory import MemoryCluster
from kplan.cluster.specs import NewTopic
from kplan.fleet.planning import Wanted, plans
from kplan.fleet.reading import Source, read_rows
from kplan.fleet.rows import Row
from kplan.fleet.saved import write_file
from kplan.fleet.source import clusters
from kplan.kinds.topic import Topic
from kplan.model.address import Address
from kplan.model.errors import Unreachable
from kplan.model.resource import Identity, Resource
from kplan.model.source import SourceRange
from kplan.model.state import State
from kplan.plan.request import PlanRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]


def memory(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.seed([NewTopic(name, 3, 1) for name in names])
    return cluster


def refused() -> MemoryCluster:
    raise Unreachable("nobody answers")


def wants(name: str) -> PlanRequest:
    address = Address.parse(f"kafka_topic.{name}")
    place = SourceRange("main.tf", 1, 1, 1, 1)
    resource = Resource(address, Identity(name), Topic(name, 6, 1), place)
    return PlanRequest((resource,), {}, State("lineage"))


def test_clusters_are_read_where_spark_works_and_one_that_is_down_takes_none_with_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    file = tmp_path / "ap.jsonl.gz"
    write_file(file, read_rows(Source("ap", {}, partial(memory, "c"))))
    sources = [
        Source("eu", {"region": "eu"}, partial(memory, "a", "b")),
        Source("us", {}, refused),
        Source("ap", {}, file=file),
    ]
    found = clusters(spark, sources)
    told = found.where("kind in ('kafka_topic', 'unread')").select("cluster", "kind", "identity")
    assert sorted(tuple(each) for each in told.collect()) == [
        ("ap", "kafka_topic", "c"),
        ("eu", "kafka_topic", "a"),
        ("eu", "kafka_topic", "b"),
        ("us", "unread", "*"),
    ]


def test_every_cluster_is_planned_by_the_planner_of_one(objects: Make) -> None:
    rows = [
        *read_rows(Source("eu", {}, partial(memory, "a"))),
        *read_rows(Source("us", {}, partial(memory))),
        *read_rows(Source("ap", {}, refused)),
    ]
    wanted = Wanted(dict.fromkeys(("eu", "us", "ap"), wants("a")))
    found = plans(objects(rows), wanted).where("finding in ('change', 'unread')")
    told = found.select("cluster", "finding", "action", "address")
    assert sorted(tuple(each) for each in told.collect()) == [
        ("ap", "unread", "", ""),
        ("eu", "change", "update", "kafka_topic.a"),
        ("us", "change", "create", "kafka_topic.a"),
    ]
