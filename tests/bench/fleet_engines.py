"""What the ingest of text logs costs, beside other ways to the same sums from the same files.

    python -m tests.bench.fleet_engines [--lines 1000000,10000000] [--busy]

With `--busy` one principal makes half of the requests. Every engine is a process of its own, with
all processors, and is measured from when it is started up; its sums must be those of the others.
Lines are made by Spark in a scratch folder (TMPDIR), from one seed, and removed in the end.

    kplan      `kplan fleet audit ingest` into an empty store; then again, with a tenth more lines
    pyspark    the time cut off by its position, equal rests added up, and only sums taken apart
    duckdb     the same query in SQL
    polars     the same query, streamed
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.workflow.fleet import fleet, ingest
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from tests.bench.fleet import Bench, Took, open_bench
from tests.bench.fleet_made import log_lines
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPICS = 10_000
GROWTH = 10
LINE_BYTES = 400
"""More than a line takes on the disk, with what engines write and sort."""
FLEET = """
cluster "c0" {
  snapshot = "none.jsonl"
  audit    = ["logs/*.txt"]
}
store {
  path = "tables"
}
"""
PARTS = {
    "principal": ("Principal = ", " is "),
    "verdict": (" is ", " operation = "),
    "operation": (" operation = ", " from host = "),
    "host": (" from host = ", " on resource = "),
    "resource": (" on resource = ", " for request = "),
    "request": (" for request = ", " with resourceRefCount = "),
}
"""What stands before and after each part of a line."""
Sums = tuple[int, int, int, str, str]
"""Groups, requests, denied ones, the first and the last time."""


def main() -> None:
    """Measure every engine, or, named, one of them in this process."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--lines", default="1000000")
    asked.add_argument("--busy", action="store_true")
    asked.add_argument("--engine", choices=(*ENGINES, "make"))
    asked.add_argument("--folder", type=Path)
    given = asked.parse_args()
    if given.engine == "make":
        make_logs(given.folder, int(given.lines), is_busy=given.busy)
    elif given.engine:
        print(json.dumps(ENGINES[given.engine](given.folder)))
    else:
        for lines in map(int, given.lines.split(",")):
            _compare(lines, is_busy=given.busy)


def _compare(lines: int, *, is_busy: bool) -> None:
    busy = ["--busy"] if is_busy else []
    print(f"{lines:,} lines{', one principal with half of them' if is_busy else ''}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kplan-bench-", dir=os.environ.get("TMPDIR")) as place:
        if (free := shutil.disk_usage(place).free) < lines * LINE_BYTES:
            print(f"  left out: {lines * LINE_BYTES >> 20:,} MB needed, {free >> 20:,} MB free")
            return
        _run("make", Path(place), f"--lines={lines}", *busy)
        size = sum(each.stat().st_size for each in Path(place, "logs").glob("*.txt"))
        print(f"  {size >> 20:,} MB of text, load {os.getloadavg()[0]:.1f}", flush=True)
        found: dict[str, dict[str, Any]] = {}
        for name in ENGINES:
            found[name] = json.loads(_run(name, Path(place)))
            told = found[name]
            print(f"  {name:<8} {Took(*told['took'])} {told['most_mb']:6,} MB", flush=True)
        if len({tuple(each["sums"]) for each in found.values()}) != 1:
            raise AssertionError({name: each["sums"] for name, each in found.items()})
        first = Took(*found["kplan"]["took"])
        for name in list(ENGINES)[:-1]:
            print(f"  kplan / {name:<8} {first.over(Took(*found[name]['took']))}")
        more = found["kplan"]
        print(f"  a tenth more lines: {Took(*more['again']).over(first)} of the first ingest")
        print(f"  tables: {more['tables_mb']:,} MB; sums of all engines: {more['sums']}")


def _run(name: str, folder: Path, *more: str) -> str:
    command = [sys.executable, "-m", "tests.bench.fleet_engines", f"--engine={name}"]
    done = subprocess.run(
        [*command, f"--folder={folder}", *more], check=True, text=True, stdout=subprocess.PIPE
    )
    return done.stdout.strip().rpartition("\n")[2]


def make_logs(folder: Path, lines: int, *, is_busy: bool) -> None:
    """Write the lines of a log, and below `more` a tenth as many again, which are later."""
    with open_bench("") as bench:
        for name, begin, count in (("logs", 0, lines), ("more", lines, lines // GROWTH)):
            rows = log_lines(bench.spark, count, TOPICS, begin=begin, is_busy=is_busy)
            rows.select("line").write.text(str(folder / name))


# ---- engines


def ingest_in(folder: Path, bench: Bench) -> tuple[FleetOptions, Took]:
    """Read the logs of a folder into its store, in this Spark; gives what that took."""
    (folder / "fleet.hcl").write_text(FLEET)
    os.chdir(folder)
    options = FleetOptions(folder, Inputs())
    ports = FleetPorts(
        lambda _: (MemoryCluster, ()),
        lambda *_: None,
        lambda _: {},
        SilentProgress(),
        lambda: datetime.now(UTC),
    )

    @contextmanager
    def ours(*_: object) -> "Iterator[SparkSession]":
        yield bench.spark

    setattr(ingest, "open_session", ours)  # noqa: B010 - mypy knows it as a function
    return options, bench.took(lambda: ingest.ingest_logs(options, ports))


def _kplan(folder: Path) -> dict[str, Any]:
    with open_bench("", reads_little=True) as bench:  # as `audit ingest` starts it
        options, first = ingest_in(folder, bench)
        used = fleet.open_store(bench.spark, fleet.read_fleet(options)).usage()
        row = used.selectExpr(
            "count(*)",
            "sum(count)",
            "sum(if(is_allowed, 0, count))",
            "date_format(min(first_at), 'yyyy-MM-dd HH:mm:ss')",
            "date_format(max(last_at), 'yyyy-MM-dd HH:mm:ss')",
        ).first()
        files = [each.open("ab") for each in sorted(Path("logs").glob("*.txt"))]
        for at, each in enumerate(sorted(Path("more").glob("*.txt"))):
            files[at % len(files)].write(each.read_bytes())
        for file in files:
            file.close()
        again = ingest_in(folder, bench)[1]
        tables = sum(each.stat().st_size for each in Path("tables").rglob("*.parquet"))
        told = _told(first, tuple(row or ()), bench)
        return {**told, "again": [again.wall, again.cpu], "tables_mb": tables >> 20}


def _pyspark(folder: Path) -> dict[str, Any]:
    with open_bench("") as bench:
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        spark = bench.spark
        for name, value in (("wholeStage", "true"), ("factoryMode", "FALLBACK")):
            spark.conf.set(f"spark.sql.codegen.{name}", value)
        line, said = F.col("value"), F.col("said")
        sums = (F.sum("count").alias("count"), F.min("first").alias("first"))
        last = F.max("last").alias("last")
        at = F.substring(line, 2, 19)
        lines = spark.read.text(str(folder / "logs")).select(
            F.input_file_name().alias("source"),
            F.substring(line, 26, 1 << 30).alias("said"),
            at.alias("at"),
            F.substring(line, 2, 10).alias("day"),
        )
        rests = lines.groupBy("source", "said", "day").agg(
            F.count(F.lit(1)).alias("count"), F.min("at").alias("first"), F.max("at").alias("last")
        )
        parts = (
            F.substring_index(F.substring_index(said, before, -1), after, 1).alias(name)
            for name, (before, after) in PARTS.items()
        )
        keys = ("source", "day", *PARTS)
        found = rests.select(said, "source", "day", *parts, "count", "first", "last")
        table = found.groupBy(*keys).agg(*sums, last)
        took = bench.took(lambda: table.write.parquet(str(folder / "pyspark")))
        row = (
            spark.read.parquet(str(folder / "pyspark"))
            .selectExpr(
                "count(*)",
                "sum(count)",
                "sum(if(verdict = 'Denied', count, 0))",
                "min(first)",
                "max(last)",
            )
            .first()
        )
        return _told(took, tuple(row or ()), bench)


def _duckdb(folder: Path) -> dict[str, Any]:
    import duckdb

    parts = ", ".join(
        f"split_part(split_part(said, '{before}', 2), '{after}', 1) as {name}"
        for name, (before, after) in PARTS.items()
    )
    query = f"""
        copy (select source, day, {", ".join(PARTS)}, sum(count)::bigint as count,
            min(first) as first, max(last) as last from (
          select source, day, {parts}, count, first, last from (
            select filename as source, line[26:] as said, line[2:11] as day, count(*) as count,
                min(line[2:20]) as first, max(line[2:20]) as last
            from read_csv('{folder}/logs/*.txt', columns = {{'line': 'VARCHAR'}}, delim = '\x01',
                quote = '', escape = '', header = false, auto_detect = false, filename = true)
            group by all))
          group by all) to '{folder}/duckdb.parquet'
    """  # noqa: S608 - names are ours
    with duckdb.connect() as database:
        took = _took(lambda: database.execute(query))
        row = database.execute(
            "select count(*), sum(count)::bigint, "  # noqa: S608 - names are ours
            "sum(case when verdict = 'Denied' then count else 0 end)::bigint, min(first), "
            f"max(last) from '{folder}/duckdb.parquet'"
        ).fetchone()
    return _told(took, tuple(row or ()))


def _polars(folder: Path) -> dict[str, Any]:
    import polars as pl

    line, said = pl.col("line"), pl.col("said")
    rests = (
        pl.scan_csv(
            folder / "logs" / "*.txt",
            separator="\x01",
            quote_char=None,
            has_header=False,
            new_columns=["line"],
            include_file_paths="source",
        )
        .select(
            "source",
            line.str.slice(25).alias("said"),
            line.str.slice(1, 10).alias("day"),
            line.str.slice(1, 19).alias("at"),
        )
        .group_by("source", "said", "day")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("at").min().alias("first"),
            pl.col("at").max().alias("last"),
        )
    )
    parts = (
        said.str.split(before).list.get(1).str.split(after).list.get(0).alias(name)
        for name, (before, after) in PARTS.items()
    )
    table = (
        rests.select("source", "day", *parts, "count", "first", "last")
        .group_by("source", "day", *PARTS)
        .agg(pl.col("count").sum(), pl.col("first").min(), pl.col("last").max())
    )
    file = folder / "polars.parquet"
    took = _took(lambda: table.sink_parquet(file))
    denied = pl.col("count").filter(pl.col("verdict") == "Denied").sum().alias("denied")
    sums = (pl.len(), pl.col("count").sum(), denied, pl.col("first").min(), pl.col("last").max())
    return _told(took, pl.scan_parquet(file).select(*sums).collect().row(0))


def _took(work: Callable[[], object]) -> Took:
    """Measure what is done in this process alone."""
    wall, cpu = time.monotonic(), time.process_time()
    work()
    return Took(time.monotonic() - wall, time.process_time() - cpu)


def _told(took: Took, sums: tuple[Any, ...], bench: Bench | None = None) -> dict[str, Any]:
    """Return what an engine took: with Spark the memory is that of Java, driver and tasks."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if bench is not None:
        status = Path(f"/proc/{bench.driver}/status").read_text()
        (held,) = (each.split()[1] for each in status.splitlines() if each.startswith("VmHWM"))
        most = int(held) // 1024
    return {"took": [took.wall, took.cpu], "sums": list(sums), "most_mb": most}


ENGINES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "pyspark": _pyspark,
    "duckdb": _duckdb,
    "polars": _polars,
    "kplan": _kplan,  # the last one, as it has the logs grow
}


if __name__ == "__main__":
    main()
