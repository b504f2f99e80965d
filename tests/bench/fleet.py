"""The fleet's joins against slower ways, growth of a replay, and the same job in DuckDB.

    python -m tests.bench.fleet [--topics N] [--acls N] [--lines N] [--range-topics N]

Everything is made up from a seed, by Spark, in a scratch folder. Ratios of one run count; seconds
depend on the machine.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.access import acls_of, decisions, rules_of
from kplan.fleet.engine import Engine, session
from kplan.fleet.rows import OBJECTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TEAMS = 500


def main() -> None:
    """Measure, and print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    for name, default in (
        ("topics", 100_000),
        ("acls", 20_000),
        ("lines", 1_000_000),
        ("range-topics", 10_000),
    ):
        asked.add_argument(f"--{name}", type=int, default=default)
    given = asked.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kplan-bench-") as scratch,
        session(Engine(conf={"spark.driver.memory": "4g"})) as spark,
    ):
        _joins(spark, given, Path(scratch))
        _growth(spark, given, Path(scratch))
        _duckdb(spark, given, Path(scratch))


def _timed(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def _consumed(found: "DataFrame") -> Callable[[], object]:
    """Compute every row and keep none."""
    return lambda: found.write.format("noop").mode("overwrite").save()


def objects(spark: "SparkSession", topics: int, acls: int) -> "DataFrame":
    """Make one cluster: topics of TEAMS teams, a third of the ACLs prefixed."""
    made_topics = spark.range(topics).selectExpr(
        "'c' as cluster",
        "'kafka_topic' as kind",
        f"concat('team', id % {TEAMS}, '.topic.', id) as identity",
        "'' as uid",
        "cast(null as string) as value",
        "map('partitions', '3', 'replication_factor', '3') as attributes",
    )
    pattern = "if(id % 3 = 0, 'Prefixed', 'Literal')"
    name = (
        f"if(id % 3 = 0, concat('team', id % {TEAMS}, '.'), "
        f"concat('team', id % {TEAMS}, '.topic.', id * 5))"
    )
    made_acls = spark.range(acls).selectExpr(
        "'c' as cluster",
        "'kafka_acl' as kind",
        "concat('acl-', id) as identity",
        "'' as uid",
        "cast(null as string) as value",
        f"map('resource_type', 'Topic', 'resource_name', {name}, "
        f"'resource_pattern_type_filter', {pattern}, 'acl_principal', concat('User:', id % 2000), "
        "'acl_host', '*', 'acl_operation', if(id % 2 = 0, 'Read', 'Write'), "
        "'acl_permission_type', if(id % 50 = 0, 'Deny', 'Allow')) as attributes",
    )
    about = spark.createDataFrame([("c", "cluster", "id", "", None, {"kinds": "[]"})], OBJECTS)
    return made_topics.unionByName(made_acls).unionByName(about)


def _requests(spark: "SparkSession", topics: int) -> "DataFrame":
    return spark.range(topics).selectExpr(
        "'c' as cluster",
        "concat('User:', id % 2000) as principal",
        "'10.0.0.1' as host",
        "if(id % 2 = 0, 'READ', 'WRITE') as operation",
        "'TOPIC' as resource_type",
        f"concat('team', id % {TEAMS}, '.topic.', id) as resource_name",
    )


def _joins(spark: "SparkSession", given: argparse.Namespace, scratch: Path) -> None:
    """Prefixes by hash join against prefixes by comparison, on the same requests."""
    print("prefix ACLs: hash join on prefix lengths against a comparison of all pairs")
    for topics in (given.range_topics, given.topics):
        path = str(scratch / f"objects-{topics}")
        objects(spark, topics, given.acls).write.parquet(path)
        held = spark.read.schema(OBJECTS).parquet(path)
        acls, asked = acls_of(held), _requests(spark, topics)
        hashed = _timed(_consumed(decisions(asked, acls, rules_of(held))))
        told = f"  {topics:>9,} topics x {given.acls:,} ACLs: hash {hashed:7.1f} s"
        if topics <= given.range_topics:
            compared = _timed(_consumed(_compared(asked, acls)))
            told += f"   all pairs {compared:7.1f} s   {compared / hashed:6.1f} x"
        print(told, flush=True)


def _compared(asked: "DataFrame", acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    held = acls.select("resource_name", "pattern_type", "permission").withColumnRenamed(
        "resource_name", "pattern"
    )
    fits = F.expr(
        "if(pattern_type = 'PREFIXED', startswith(resource_name, pattern), resource_name = pattern)"
    )
    return asked.join(held, fits).groupBy("resource_name").count()


def _growth(spark: "SparkSession", given: argparse.Namespace, scratch: Path) -> None:
    """Ten times the history against ten times the time."""
    print("decisions over a history: ten times the requests")
    held = spark.read.schema(OBJECTS).parquet(str(scratch / f"objects-{given.topics}"))
    taken = []
    for lines in (given.lines // 10, given.lines):
        path = str(scratch / f"usage-{lines}")
        history = _requests(spark, lines).withColumn("count", _count_of_one())
        history.write.parquet(path)
        asked = spark.read.parquet(path)
        taken.append(_timed(_consumed(decisions(asked, acls_of(held), rules_of(held)))))
        print(f"  {lines:>12,} requests: {taken[-1]:7.1f} s", flush=True)
    print(f"  growth: {taken[1] / taken[0]:.1f} x")


def _count_of_one() -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.lit(1)


def _duckdb(spark: "SparkSession", given: argparse.Namespace, scratch: Path) -> None:
    """Compare the sums of a history in DuckDB, on one machine, with those in Spark."""
    try:
        import duckdb
    except ImportError:
        print("duckdb is not installed: no comparison (pip install duckdb)")
        return
    path = str(scratch / f"usage-{given.lines}")
    columns = "principal, operation, resource_name"
    found = spark.read.parquet(path).groupBy(*columns.split(", ")).count()
    spark_s = _timed(_consumed(found))
    source = f"read_parquet('{path}/*.parquet')"
    query = f"select {columns}, count(*) from {source} group by all"  # noqa: S608 - all ours
    duck_s = _timed(lambda: duckdb.sql(f"create table sums as {query}"))
    print(
        f"sums of {given.lines:,} requests: Spark {spark_s:.1f} s, DuckDB {duck_s:.1f} s "
        f"({spark_s / duck_s:.1f} x)"
    )


if __name__ == "__main__":
    main()
