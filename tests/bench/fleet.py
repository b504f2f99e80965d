"""What the jobs of a fleet cost, how they grow, and what DuckDB makes of the same.

    python -m tests.bench.fleet [--lines 1e6,1e7] [--fleet 100x10000] [--only joins,fleet,lines]

Everything is made by Spark in a scratch folder, from the seed in this file. Ratios are of one run;
seconds depend on the machine. The lines of 1e8 take about 8 GB of disk.
"""

import argparse
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.access import acls_of, matching, who_can
from kplan.fleet.audit import parsed, usage
from kplan.fleet.engine import Engine, session
from kplan.fleet.inventory import inventory
from kplan.fleet.lint import findings
from kplan.fleet.replay import replayed
from kplan.fleet.rows import OBJECTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20261121
TEAMS, PRINCIPALS, GONE = 500, 2_000, 200
HEAP = "3g"
JOINS, ACLS = (25_000, 50_000, 100_000), 20_000
PARTS = ("joins", "fleet", "lines")


@dataclass(frozen=True, slots=True)
class Bench:
    """A session and a folder for what is made."""

    spark: "SparkSession"
    scratch: Path

    def made(self, name: str, rows: "DataFrame") -> "DataFrame":
        """Write rows once, and give them as they are read."""
        path = str(self.scratch / name)
        rows.write.mode("overwrite").parquet(path)
        return self.spark.read.parquet(path)


def main() -> None:
    """Measure, and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--lines", default="1e6,1e7")
    asked.add_argument("--fleet", default="100x10000", help="clusters x topics (and ACLs) of each")
    asked.add_argument("--only", default=",".join(PARTS))
    given = asked.parse_args()
    clusters, each = (int(word) for word in given.fleet.split("x"))
    parts = given.only.split(",")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {HEAP} heap"
    )
    with _bench() as bench:
        if "joins" in parts:
            _joins(bench)
        if "fleet" in parts:
            _fleet(bench, clusters, each)
        if "lines" in parts:
            _lines(bench, [int(float(word)) for word in given.lines.split(",")])
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"most memory of the Python that asks: {peak_mb} MB")


@contextmanager
def _bench() -> Iterator[Bench]:
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="kplan-bench-", dir=os.environ.get("TMPDIR")) as scratch,
        session(Engine(conf={"spark.driver.memory": HEAP})) as spark,
    ):
        spark.range(1).count()
        print(f"start of Spark, with its first query: {time.monotonic() - began:.1f} s", flush=True)
        yield Bench(spark, Path(scratch))


def _timed(found: "DataFrame") -> float:
    """Compute every row and keep none; gives seconds."""
    return _seconds(lambda: found.write.format("noop").mode("overwrite").save())


def _seconds(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


# ---- what is made


def objects(spark: "SparkSession", clusters: int, topics: int, acls: int) -> "DataFrame":
    """Make clusters alike: topics of TEAMS teams, a third of the ACLs prefixed, some denying."""
    held = spark.range(clusters).selectExpr("concat('c', id) as cluster")
    made_topics = spark.range(topics).selectExpr(
        "'kafka_topic' as kind",
        f"concat('team', id % {TEAMS}, '.topic.', id) as identity",
        "'' as uid",
        "cast(null as string) as value",
        "map('partitions', '3', 'replication_factor', '3') as attributes",
    )
    drawn = f"abs(xxhash64(id, {SEED}))"
    pattern = "if(id % 3 = 0, 'Prefixed', 'Literal')"
    name = (
        f"if(id % 3 = 0, concat('team', id % {TEAMS}, '.', if(id % 2 = 0, '', 'topic.')), "
        f"concat('team', {drawn} % {topics} % {TEAMS}, '.topic.', {drawn} % {topics}))"
    )
    made_acls = spark.range(acls).selectExpr(
        "'kafka_acl' as kind",
        "concat('acl-', id) as identity",
        "'' as uid",
        "cast(null as string) as value",
        f"map('resource_type', 'Topic', 'resource_name', {name}, "
        f"'resource_pattern_type_filter', {pattern}, "
        f"'acl_principal', concat('User:', {drawn} % {PRINCIPALS}), 'acl_host', '*', "
        "'acl_operation', if(id % 2 = 0, 'Read', 'Write'), "
        "'acl_permission_type', if(id % 50 = 0, 'Deny', 'Allow')) as attributes",
    )
    about = spark.createDataFrame(
        [("cluster", "id", "", None, {"kinds": '["kafka_acl", "kafka_topic"]'})],
        OBJECTS.removeprefix("cluster string, "),
    )
    return held.crossJoin(made_topics.unionByName(made_acls).unionByName(about))


def requests(spark: "SparkSession", topics: int) -> "DataFrame":
    """Make one request for each topic."""
    return spark.range(topics).selectExpr(
        "'c0' as cluster",
        f"concat('User:', abs(xxhash64(id, {SEED})) % {PRINCIPALS}) as principal",
        "'10.0.0.1' as host",
        "if(id % 2 = 0, 'READ', 'WRITE') as operation",
        "'TOPIC' as resource_type",
        f"concat('team', id % {TEAMS}, '.topic.', id) as resource_name",
    )


def log_lines(spark: "SparkSession", lines: int, topics: int) -> "DataFrame":
    """Make the lines of an authorizer log: each principal uses 25 topics, one way each."""
    who = f"abs(xxhash64(id, {SEED})) % {PRINCIPALS}"
    topic = f"((who * 37 + abs(xxhash64(id, {SEED + 1})) % 25) % {topics})"
    at = "date_format(timestamp_seconds(1762000000 + id div 20), 'yyyy-MM-dd HH:mm:ss')"
    return (
        spark.range(lines)
        .selectExpr("id", f"{who} as who")
        .selectExpr("id", "who", f"{topic} as topic", f"{at} as at")
        .selectExpr(
            "'c0' as cluster",
            f"concat('log-', id * 4 div {lines}) as source",
            "concat('[', at, ',000] INFO Principal = User:', who, ' is ', "
            "if(topic % 97 = 0, 'Denied', 'Allowed'), ' operation = ', "
            "if(topic % 2 = 0, 'READ', 'WRITE'), ' from host = 10.0.', who % 250, '.7', "
            f"' on resource = Topic:LITERAL:team', topic % {TEAMS}, '.topic.', topic, "
            "' for request = ', "
            "if(topic % 2 = 0, 'FETCH', 'PRODUCE'), ' with resourceRefCount = 1 based on rule "
            "MatchingAcl(acl=StandardAcl(...)) (kafka.authorizer.logger)') as line",
        )
    )


# ---- what is measured


def _joins(bench: Bench) -> None:
    """Prefixes by hash join against prefixes by comparison, on the same requests."""
    print(f"\nprefix ACLs: topics x {ACLS:,} ACLs, every topic asked for once")
    seconds = []
    for topics in JOINS:
        held, asked = _asked(bench, topics)
        job = matching(asked, acls_of(held))
        seconds.append(min(_timed(job) for _ in range(3)))
        print(f"  {topics:>9,}: by hash {seconds[-1]:7.1f} s", flush=True)
    held, asked = _asked(bench, JOINS[-1])
    compared = _timed(_compared(asked, acls_of(held)))
    print(f"  {JOINS[-1]:>9,}: by comparison {compared:.1f} s", flush=True)
    print(f"  {JOINS[-1] / JOINS[0]:g} x the topics: {seconds[-1] / seconds[0]:.1f} x")
    print(f"  comparison / hash: {compared / seconds[-1]:.1f} x")


def _asked(bench: Bench, topics: int) -> "tuple[DataFrame, DataFrame]":
    """Make the objects and the requests of a join."""
    held = bench.made(f"objects-{topics}", objects(bench.spark, 1, topics, ACLS))
    return held, bench.made(f"requests-{topics}", requests(bench.spark, topics))


def _compared(asked: "DataFrame", acls: "DataFrame") -> "DataFrame":
    """Pair requests with ACLs by a condition that Spark cannot hash, and count."""
    from pyspark.sql import functions as F  # noqa: N812

    held = acls.select("pattern_type", "permission", F.col("resource_name").alias("pattern"))
    fits = F.expr(
        "if(pattern_type = 'PREFIXED', startswith(resource_name, pattern), resource_name = pattern)"
    )
    return asked.join(held, fits).groupBy("resource_name").count()


def _fleet(bench: Bench, clusters: int, each: int) -> None:
    """Ask what is asked of a whole fleet."""
    print(f"\n{clusters} clusters, {clusters * each:,} topics, {clusters * each:,} ACLs")
    held = objects(bench.spark, clusters, each, each)
    print(f"  made and written:  {_seconds(lambda: bench.made('fleet', held)):7.1f} s", flush=True)
    found = bench.spark.read.schema(OBJECTS).parquet(str(bench.scratch / "fleet"))
    for name, job in (
        ("inventory", inventory(found)),
        ("who-can", who_can(found, "READ", "TOPIC", "team7.topic.7")),
        ("lint", findings(found)),
    ):
        print(f"  {name + ':':<18} {_timed(job):7.1f} s", flush=True)


def _lines(bench: Bench, sizes: list[int]) -> None:
    """From the lines of a log to the verdict on a plan; and the sums of the lines by themselves."""
    topics = 10_000
    held = bench.made("replayed", objects(bench.spark, 1, topics, topics))
    replays: list[float] = []
    print("\nlines of an authorizer log, in Parquet")
    for lines in sizes:
        wrote = _seconds(partial(bench.made, f"log-{lines}", log_lines(bench.spark, lines, topics)))
        log = bench.spark.read.parquet(str(bench.scratch / f"log-{lines}"))
        sums = _seconds(partial(bench.made, f"sums-{lines}", usage(parsed(log))))
        used = bench.spark.read.parquet(str(bench.scratch / f"sums-{lines}"))
        gone = bench.spark.range(GONE).selectExpr("'c0' as cluster", "concat('acl-', id) identity")
        verdict = replayed(used, held, gone, bench.spark.createDataFrame([], OBJECTS))
        replays.append(sums + _timed(verdict))
        size_mb = sum(f.stat().st_size for f in (bench.scratch / f"log-{lines}").glob("*")) >> 20
        told = f"made {wrote:.1f} s, {size_mb:,} MB; sums {sums:.1f} s; replay {replays[-1]:.1f} s"
        print(f"  {lines:>12,}: {told}{_duckdb(bench.scratch / f'log-{lines}', sums)}", flush=True)
    for before, after, first, second in zip(sizes, sizes[1:], replays, replays[1:], strict=False):
        print(f"  {after / before:g} x the lines: {second / first:.1f} x the replay")


_SUMS = """
select source, who, operation, host, resource, request, count(*), min(seen), max(seen) from (
  select source,
    split_part(split_part(line, 'Principal = ', 2), ' operation = ', 1) as who,
    split_part(split_part(line, ' operation = ', 2), ' from host = ', 1) as operation,
    split_part(split_part(line, ' from host = ', 2), ' on resource = ', 1) as host,
    split_part(split_part(line, ' on resource = ', 2), ' for request = ', 1) as resource,
    split_part(split_part(line, ' for request = ', 2), ' with resourceRefCount = ', 1) as request,
    try_strptime(line[2:24], '%Y-%m-%d %H:%M:%S,%g') as seen
  from read_parquet('{path}/*.parquet'))
group by all
"""


def _duckdb(path: Path, spark_s: float) -> str:
    """Add the same lines up in DuckDB, on the same machine with the same cores."""
    try:
        import duckdb
    except ImportError:
        return "; DuckDB is not installed"
    with duckdb.connect() as database:
        query = f"create table sums as {_SUMS.format(path=path)}"
        seconds = _seconds(lambda: database.sql(query))
    return f"; sums in DuckDB {seconds:.1f} s (Spark {spark_s / seconds:.1f} x)"


if __name__ == "__main__":
    main()
