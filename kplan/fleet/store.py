"""Where the fleet's snapshots are kept: append-only runs, each seen only when it is whole.

    ROOT/objects/attempt=ID/kind=KIND/*.parquet    the rows of one attempt at a run
    ROOT/runs/attempt=ID/*.json                    one line, written last: this attempt counts
    ROOT/audit/cluster=C/file=F/*.parquet          the sums of one authorizer log
    ROOT/malformed/cluster=C/file=F/*.parquet      the lines of it that are none of the authorizer's

A run that is taken again is another attempt; the one that ended last is the run. What a broken or
second writer leaves is of no attempt that counts, and `vacuum` removes it. Every path is Spark's to
read, so that a store may lie in HDFS or an object store as well as in a folder.
"""

import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.audit import TABLE, malformed, usage
from kplan.fleet.engine import first_line
from kplan.fleet.rows import FORMAT, OBJECTS
from kplan.model.errors import FleetError
from kplan.model.version import VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RUNS = "run string, attempt string, at string, format int, kplan_version string, rows long"
_ORPHAN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Run:
    """One look at the fleet. `at` is when it began, ISO 8601 in UTC."""

    run: str
    attempt: str
    at: str
    format: int = FORMAT
    kplan_version: str = VERSION
    rows: int = 0


class Store:
    """The tables of a fleet below one root, as Spark spells paths."""

    def __init__(self, spark: "SparkSession", root: str) -> None:
        self._spark = spark
        self.root = root.rstrip("/")

    def append(self, objects: "DataFrame", run: str, at: datetime) -> Run:
        """Store the rows of a run; nobody sees any of them before all are there.

        Raises:
            FleetError: they could not be written.

        """
        attempt = uuid.uuid4().hex
        try:
            objects.write.partitionBy("kind").parquet(self._objects(attempt))
            rows = self._read([attempt]).count()
            done = Run(run, attempt, at.isoformat(timespec="seconds"), rows=rows)
            lines = self._spark.createDataFrame([tuple(asdict(done).values())], _RUNS)
            lines.coalesce(1).write.json(f"{self.root}/runs/attempt={attempt}")
        except Exception as failure:
            raise FleetError(
                f"The run could not be stored in {self.root}: {first_line(failure)}",
                "Nothing of it counts; the runs before are as they were.",
            ) from failure
        return done

    def runs(self) -> tuple[Run, ...]:
        """List the runs that are whole, oldest first.

        Raises:
            FleetError: one of them was written by a later version.

        """
        from pyspark.errors import AnalysisException

        try:
            found = self._spark.read.schema(_RUNS).json(f"{self.root}/runs")
            rows = found.collect()
        except AnalysisException:  # the folder is not there yet
            return ()
        latest: dict[str, Run] = {}
        for row in sorted((Run(**row.asDict()) for row in rows), key=_age):
            if row.format > FORMAT:
                raise FleetError(
                    f"Run {row.run} in {self.root} has format {row.format}; this version of kplan "
                    f"reads up to {FORMAT}.",
                    f"Use kplan {row.kplan_version} or later.",
                )
            latest[row.run] = row
        return tuple(sorted(latest.values(), key=_age))

    def run(self, name: str = "") -> Run:
        """Find a run by its name, the latest where none is given; raises FleetError."""
        found = self.runs()
        if not found:
            raise FleetError(
                f"There is no run in {self.root} yet.", "Take one with: kplan fleet snapshot"
            )
        chosen = next((each for each in found if each.run == name), None) if name else found[-1]
        if chosen is None:
            known = ", ".join(each.run for each in found[-5:])
            raise FleetError(f"There is no run {name} in {self.root}.", f"The latest: {known}.")
        return chosen

    def objects(self, run: Run) -> "DataFrame":
        """Give the rows of one run."""
        return self._read([run.attempt]).drop("attempt")

    def all_objects(self, runs: Sequence[Run]) -> "DataFrame":
        """Give the rows of several runs, with `run` and `at` before them."""
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        known = self._spark.createDataFrame(
            [(each.attempt, each.run, each.at) for each in runs],
            "attempt string, run string, at string",
        )
        return self._read([each.attempt for each in runs]).join(F.broadcast(known), "attempt")

    def append_audit(self, taken: "DataFrame") -> None:
        """Add up the lines of logs and keep the sums; a log that was kept before is replaced.

        In: what `audit.parsed` gives. Raises FleetError.
        """
        from pyspark.sql import functions as F  # noqa: N812

        held = taken.cache()
        try:
            for name, found in (("audit", usage(held)), ("malformed", malformed(held))):
                parts = found.withColumn("file", F.md5("source")).write.mode("overwrite")
                parts.partitionBy("cluster", "file").parquet(f"{self.root}/{name}")
        except Exception as failure:
            raise FleetError(
                f"The logs could not be kept in {self.root}: {first_line(failure)}"
            ) from failure
        finally:
            held.unpersist()

    def audit(self) -> "DataFrame":
        """Give the sums of all logs kept; raises FleetError where there are none."""
        return self._kept("audit", f"{TABLE}, file string")

    def malformed(self) -> "DataFrame":
        """Give the lines of the logs that are none of the authorizer's; raises as `audit`."""
        found = self._kept("malformed", "cluster string, source string, line string, file string")
        return found.drop("file").orderBy("cluster", "source")

    def _kept(self, name: str, schema: str) -> "DataFrame":
        from pyspark.errors import AnalysisException

        try:
            found = self._spark.read.schema(schema).parquet(f"{self.root}/{name}")
            _ = found.schema  # Spark Connect looks no sooner than it must
        except AnalysisException as failure:
            raise FleetError(
                f"No authorizer log is kept in {self.root} yet.",
                'Name logs in fleet.hcl (audit = ["..."]), then: kplan fleet audit ingest',
            ) from failure
        return found

    def _objects(self, attempt: str) -> str:
        return f"{self.root}/objects/attempt={attempt}"

    def _read(self, attempts: Iterable[str]) -> "DataFrame":
        read = self._spark.read.schema(f"{OBJECTS}, attempt string")
        paths = [self._objects(each) for each in attempts]
        return read.option("basePath", f"{self.root}/objects").parquet(*paths)

    def vacuum(self, keep: timedelta, now: datetime) -> int:
        """Remove runs older than `keep`, but never the latest, and what broken runs left.

        Returns how many attempts went. Only for a store in a folder of this machine.
        Raises FleetError for another.
        """
        root = Path(self.root.removeprefix("file://"))
        if "://" in self.root.removeprefix("file://") or not root.is_dir():
            raise FleetError(
                f"{self.root} is no folder of this machine.",
                "Remove old attempt=... folders with the tools of that store, `runs` first.",
            )
        runs = self.runs()
        kept = {each.attempt for each in runs[-1:]}
        kept |= {each.attempt for each in runs if now - _at(each) <= keep}
        gone = 0
        for folder in sorted(root.glob("objects/attempt=*")):
            attempt = folder.name.partition("=")[2]
            age = now.timestamp() - folder.stat().st_mtime
            is_counted = any(each.attempt == attempt for each in runs)
            if attempt in kept or (not is_counted and age < _ORPHAN.total_seconds()):
                continue
            shutil.rmtree(root / "runs" / folder.name, ignore_errors=True)
            shutil.rmtree(folder)
            gone += 1
        return gone


def _age(run: Run) -> tuple[str, str]:
    return run.at, run.attempt


def _at(run: Run) -> datetime:
    return datetime.fromisoformat(run.at)
