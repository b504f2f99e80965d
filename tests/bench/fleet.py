"""What the jobs of a fleet cost, how they grow, and what DuckDB makes of the same.

    python -m tests.bench.fleet [--size small|medium|large] [--only joins,lines,fleet,memory]
                                [--lines 1000000,100000000]

`--lines` takes these numbers of lines, and nothing but lines unless `--only` says so.

Everything is made by Spark in a scratch folder (TMPDIR), from one seed, and removed in the end.
Ratios are of one run; seconds depend on the machine and on who else uses it, so CPU seconds stand
beside them: those of Spark, of the Pythons that it starts, and of kplan.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kplan.fleet import figures, history, inventory
from kplan.fleet.access import acl_rows, matching_acls, topic_access, who_can
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.lint import acl_findings
from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.requests import (
    last_usage,
    log_sums,
    malformed_lines,
    unused_acls,
    usage,
)
from kplan.fleet.logs.requests import line_sums as added_up
from kplan.fleet.plan import plan_clusters
from kplan.fleet.replay import replay_requests
from kplan.fleet.snapshot import OBJECT_SCHEMA
from kplan.fleet.spark.session import CODEGEN_MIN_ROWS, SparkSettings, enable_codegen, open_session
from tests.bench.fleet_made import fleet_usage, log_lines, objects, requests, wanted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEAP = "1g"
ACLS, TOPICS, GONE = 20_000, 10_000, 200
SPARE = "local-cluster[1,2,2048]"
"""A driver beside its executor: what the driver holds can be told from what the work takes."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything: topics of joins, of these compared one by one, lines, fleets."""

    topics: tuple[int, ...]
    compared: int
    lines: tuple[int, ...]
    clusters: int
    each: tuple[int, ...]


SIZES = {
    "small": Size((10_000, 100_000), 5_000, (100_000, 1_000_000), 10, (100, 1_000)),
    "medium": Size((25_000, 50_000, 100_000), 20_000, (1_000_000, 10_000_000), 100, (1_000,)),
    "large": Size((25_000, 50_000, 100_000), 100_000, (1_000_000, 10_000_000), 100, (1_000, 5_000)),
}
LINE_BYTES = 40
"""More than a line takes on the disk, as Parquet, with its sums and what Spark sorts."""


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds by the clock, and of all processors."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        """Show both."""
        return f"{self.wall:6.1f} s ({self.cpu:6.1f} s CPU)"

    def __add__(self, other: "Took") -> "Took":
        """Add up."""
        return Took(self.wall + other.wall, self.cpu + other.cpu)

    def over(self, other: "Took") -> str:
        """Tell how much more it is."""
        return f"{self.wall / other.wall:.1f} x ({self.cpu / other.cpu:.1f} x CPU)"


@dataclass(frozen=True, slots=True)
class Bench:
    """A session, the process of its driver, and a folder for what is made."""

    spark: "SparkSession"
    scratch: Path
    driver: int

    def made(self, name: str, rows: "DataFrame") -> "DataFrame":
        """Write rows once, and give them as they are read."""
        rows.write.mode("overwrite").parquet(str(self.scratch / name))
        return self.read(name)

    def read(self, name: str) -> "DataFrame":
        """Read what was made, as a store does."""
        return enable_codegen(self.spark.read.parquet(str(self.scratch / name)))

    def computed(self, found: "DataFrame") -> Took:
        """Compute every row and keep none."""
        return self.took(lambda: found.write.format("noop").mode("overwrite").save())

    def took(self, work: Callable[[], object]) -> Took:
        """Do something, and say what it took: us, and Spark."""
        wall, cpu = time.monotonic(), self._cpu()
        work()
        return Took(time.monotonic() - wall, self._cpu() - cpu)

    def _cpu(self) -> float:
        """Add up Spark, the workers below it and those that ended, and this process."""
        pids = [self.driver, *below(self.driver)]
        return sum(map(_ticks, pids)) / os.sysconf("SC_CLK_TCK") + time.process_time()


def below(process: int) -> Iterator[int]:
    """List the processes that one has started, and those that these have."""
    with suppress(FileNotFoundError):  # it has ended
        for file in Path(f"/proc/{process}/task").glob("*/children"):
            for child in map(int, _text(file).split()):
                yield child
                yield from below(child)


def _ticks(process: int) -> int:
    return sum(map(int, _text(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()[11:15]))


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has ended
        return ""


def main() -> None:
    """Measure, and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--size", choices=tuple(SIZES), default="small")
    asked.add_argument("--lines", default="")
    asked.add_argument("--only", default="")
    given = asked.parse_args()
    parts = (given.only or ("lines" if given.lines else ",".join(PARTS))).split(",")
    if len(parts) > 1:  # a process has one Spark in its life
        for name in parts:
            again = [f"--size={given.size}", f"--lines={given.lines}", f"--only={name}"]
            subprocess.run([sys.executable, "-m", "tests.bench.fleet", *again], check=True)
        return
    size = SIZES[given.size]
    if given.lines:
        size = replace(size, lines=tuple(map(int, given.lines.split(","))))
    told = f"{platform.platform()}, {os.cpu_count()} processors, {_load()}, {HEAP} heap"
    print(f"\n{parts[0]}, {given.size}: {told}", flush=True)
    with open_bench(SPARE if parts == ["memory"] else "") as bench:
        PARTS[parts[0]](bench, size)
    print(f"at the end: {_load()}", flush=True)


def _load() -> str:
    return "load " + ", ".join(f"{each:.1f}" for each in os.getloadavg())


def _stage(name: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)


@contextmanager
def open_bench(master: str, *, reads_little: bool = False) -> Iterator[Bench]:
    """Start Spark, and make a scratch folder."""
    began = time.monotonic()
    os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")  # executors are looked for by it
    settings = SparkSettings(master, conf={"spark.driver.memory": HEAP}, reads_little=reads_little)
    with (
        tempfile.TemporaryDirectory(prefix="kplan-bench-", dir=os.environ.get("TMPDIR")) as scratch,
        open_session(settings) as spark,
    ):
        spark.range(1).count()
        print(f"start of Spark, with its first query: {time.monotonic() - began:.1f} s", flush=True)
        pid = _java(spark).java.lang.ProcessHandle.current().pid()
        yield Bench(spark, Path(scratch), pid)


def _java(spark: "SparkSession") -> Any:  # noqa: ANN401
    return spark._jvm


# ---- joins


def _joins(bench: Bench, size: Size) -> None:
    """Prefixes by hash join against prefixes by comparison, with the same pairs as a result."""
    print(f"prefix ACLs: topics x {ACLS:,} ACLs, every topic asked for once")
    enable_codegen(
        bench.spark.range(1), CODEGEN_MIN_ROWS
    )  # from the first on, so that all are alike
    took = []
    for topics in size.topics:
        _stage(f"{topics:,} topics")
        held = bench.made(f"objects-{topics}", objects(bench.spark, 1, topics, ACLS))
        asked = bench.made(f"requests-{topics}", requests(bench.spark, topics))
        job = matching_acls(asked, acl_rows(held))
        took.append(min((bench.computed(job) for _ in range(4)), key=lambda each: each.wall))
        print(f"  {topics:>9,}: by hash       {took[-1]}", flush=True)
    topics = size.topics[-1]
    held, asked = (bench.read(f"{name}-{topics}") for name in ("objects", "requests"))
    _stage(f"comparing {size.compared:,}")
    chosen = f"abs(xxhash64(resource_name)) % {topics} < {size.compared}"
    some = bench.made("some", asked.where(chosen))
    count = some.count()
    compared = bench.computed(_compared(some, acl_rows(held)))
    print(f"  {count:>9,}: by comparison {compared}", flush=True)
    scaled = Took(compared.wall * topics / count, compared.cpu * topics / count)
    print(f"  {size.topics[-1] / size.topics[0]:g} x the topics: {took[-1].over(took[0])}")
    print(f"  comparison / hash at {topics:,} topics: {scaled.over(took[-1])}")
    pairs = matching_acls(some, acl_rows(held)).count(), _compared(some, acl_rows(held)).count()
    print(f"  pairs of these {count:,}: {pairs[0]:,} and {pairs[1]:,}", flush=True)


def _compared(asked: "DataFrame", acls: "DataFrame") -> "DataFrame":
    """Pair requests with ACLs by a range of names, which Spark cannot hash."""
    from pyspark.sql import functions as F  # noqa: N812

    held = acls.select(
        F.col("resource_name").alias("low"),
        F.when(F.col("pattern_type") == "PREFIXED", F.concat("resource_name", F.lit("\uffff")))
        .otherwise(F.col("resource_name"))
        .alias("high"),
        F.col("principal").alias("acl_principal"),
        F.col("operation").alias("acl_operation"),
        "identity",
    )
    fits = F.expr(
        "resource_name between low and high and acl_principal in (principal, 'User:*') "
        "and acl_operation in (operation, 'ALL')"
    )
    return asked.join(F.broadcast(held), fits).select(*asked.columns, "identity")


# ---- logs


def _lines(bench: Bench, size: Size) -> None:
    """From the lines of a log to the verdict on a plan; and the sums of the lines by themselves."""
    held = bench.made("replayed", objects(bench.spark, 1, TOPICS, TOPICS))
    gone = bench.spark.range(GONE).selectExpr("'c0' as cluster", "concat('acl-', id) identity")
    nothing = create_dataframe(bench.spark, [], OBJECT_SCHEMA)
    replays: list[Took] = []
    print("lines of an authorizer log, in Parquet")
    for lines in size.lines:
        _stage(f"{lines:,} lines")
        place = bench.scratch / f"log-{lines}"
        if (free := shutil.disk_usage(bench.scratch).free) < lines * LINE_BYTES:
            needed = f"{lines * LINE_BYTES >> 20:,} MB; free are {free >> 20:,}"
            print(f"  {lines:>12,}: left out, they may take {needed}: TMPDIR names another disk")
            break
        rows = log_lines(bench.spark, lines, TOPICS)
        wrote = bench.took(partial(bench.made, place.name, rows))
        log = bench.read(place.name)
        size_mb = sum(f.stat().st_size for f in place.glob("*")) >> 20
        print(f"  {lines:>12,}: made and written  {wrote}, {size_mb:,} MB", flush=True)
        floor = bench.computed(log.where("line rlike ' is Denied operation = '"))
        sums = bench.took(
            partial(bench.made, f"sums-{lines}", added_up(parse_lines(sum_lines(log))))
        )
        verdict = bench.computed(
            replay_requests(usage(bench.read(f"sums-{lines}")), held, gone, nothing)
        )
        replays.append(sums + verdict)
        rate = f"{sums.wall / lines * 1e6:.1f} us a line"
        print(f"{'':14}read, one rlike   {floor}")
        print(f"{'':14}parsed, added up  {sums}: {rate}, {sums.over(floor)}")
        print(f"{'':14}verdict on a plan {verdict}", flush=True)
        _stage("DuckDB")
        print(f"{'':14}{_duckdb(bench, place, sums)}", flush=True)
        shutil.rmtree(place)
    for before, after, first, second in zip(
        size.lines, size.lines[1:], replays, replays[1:], strict=False
    ):
        print(f"  {after / before:g} x the lines: {second.over(first)} the replay")


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


def _duckdb(bench: Bench, path: Path, spark: Took) -> str:
    """Add the same lines up in DuckDB, on the same machine with the same processors."""
    try:
        import duckdb
    except ImportError:
        return "DuckDB is not installed"
    with duckdb.connect() as database:
        query = f"create table sums as {_SUMS.format(path=path)}"
        took = bench.took(lambda: database.sql(query))
    return f"sums by DuckDB    {took}: Spark takes {spark.over(took)}"


# ---- a whole fleet


def _fleet(bench: Bench, size: Size) -> None:
    """Ask what is asked of a whole fleet, of each number of topics and ACLs."""
    for each in size.each:
        many = size.clusters * each
        print(f"{size.clusters} clusters, {many:,} topics, {many:,} ACLs", flush=True)
        for name, job in _questions(bench, size.clusters, each).items():
            _stage(name)
            print(f"  {name + ':':<18}{bench.computed(job)}", flush=True)


def _questions(bench: Bench, clusters: int, each: int) -> "dict[str, DataFrame]":
    """Make a fleet as it was and as it is, and ask."""
    held = []
    for name, age in (("before", 0), ("now", 1)):
        _stage(f"making the fleet as it is {name}")
        path = bench.scratch / f"{name}-{each}"
        rows = objects(bench.spark, clusters, each, each, age)
        took = bench.took(partial(_stored, rows, path))
        print(f"  {'made, written:':<18}{took}", flush=True)
        read = bench.spark.read.schema(OBJECT_SCHEMA).parquet(str(path))
        held.append(enable_codegen(read, 2 * clusters * each))
    before, now = held
    path = bench.scratch / f"usage-{each}"
    fleet_usage(bench.spark, clusters, each).write.parquet(str(path))
    used = enable_codegen(bench.spark.read.parquet(str(path)), 2 * clusters * each)
    return {
        "inventory": inventory.inventory(now),
        "largest": inventory.largest_topics(now, 10),
        "who-can": who_can(now, "READ", "TOPIC", "team7.topic.7"),
        "of": topic_access(now, "User:7"),
        "changes": history.changes(before, now),
        "lint": acl_findings(now),
        "last usage": last_usage(used),
        "unused ACLs": unused_acls(now, used, log_sums(used)),
        "plan and drift": plan_clusters(now, wanted(clusters, each)),
    }


def _stored(rows: "DataFrame", path: Path) -> None:
    """Write rows as a store does."""
    rows.write.partitionBy("kind").parquet(str(path))


# ---- what the driver holds


def _memory(bench: Bench, size: Size) -> None:
    """Do the same to ten times the rows, and look at the most the driver ever held."""
    print("most memory of the driver, beside an executor: Java, and the Python that asks")
    for lines in size.lines[:2]:
        each = lines // 1_000
        for process in (bench.driver, os.getpid()):
            Path(f"/proc/{process}/clear_refs").write_text("5")
        rows = bench.made(f"log-{lines}", log_lines(bench.spark, lines, TOPICS))
        held = bench.made(f"objects-{lines}", objects(bench.spark, 10, each, each))
        found = added_up(parse_lines(sum_lines(rows)))
        tables = {
            "usage": usage(found),
            "malformed": malformed_lines(found),
            "inventory": inventory.inventory(held),
            "lint": acl_findings(held),
            "access": topic_access(held, "User:7"),
        }
        for name, table in tables.items():
            figures.collect_table(name, table)
        _java(bench.spark).java.lang.System.gc()
        told = f"{lines:,} lines, {10 * each:,} topics, {10 * each:,} ACLs"
        kept = most_mb(bench.driver), most_mb(os.getpid())
        print(f"  {told:<50} {kept[0]:,} MB and {kept[1]:,} MB", flush=True)


def most_mb(process: int) -> int:
    """Read the most memory that a process had at once since that was last forgotten; ended: 0."""
    status = _text(Path(f"/proc/{process}/status"))
    most = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return int(next(most, "0")) // 1024


PARTS: dict[str, Callable[[Bench, Size], None]] = {
    "joins": _joins,
    "lines": _lines,
    "fleet": _fleet,
    "memory": _memory,
}


if __name__ == "__main__":
    main()
