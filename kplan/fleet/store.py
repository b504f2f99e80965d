"""Where the fleet's snapshots are kept: append-only runs, each seen only when it is whole.

    objects      the rows of attempts at runs
    runs         one line for each attempt that is whole, written last: this one counts
    requests     the sums of authorizer logs, and lines that are none; which count is in `logs`

A run that is taken again is another attempt; the one that ended last is the run. What a broken or
second writer leaves is of no attempt that counts, and `vacuum` removes it. Every path is Spark's to
read, so that a store may lie in HDFS or an object store as well as in a folder.
"""

import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.iceberg_tables import IcebergTables
from kplan.fleet.logs.store import LogStore
from kplan.fleet.snapshot import CLUSTER, ROW_FORMAT, SIZES, kinds_read
from kplan.fleet.spark.errors import failure_reason
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.spark.session import CODEGEN_MIN_BYTES, enable_codegen
from kplan.fleet.tables import (
    DELTA,
    ICEBERG,
    PARQUET,
    RUN_SCHEMA,
    DeltaTables,
    ParquetTables,
    Tables,
    read_if_exists,
)
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError
from kplan.model.file_url import local_path
from kplan.model.version import VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


_SMALL_FILES = 2_000
"""So many files are looked at in a moment."""


class KindsRead(NamedTuple):
    """The kinds that a run read in full of some clusters."""

    kinds: tuple[str, ...]
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One snapshot of the fleet. `at` is when it began, ISO 8601 in UTC.

    `kinds_read` is None for runs of earlier versions: their rows say it, too. With `has_sizes` rows
    of topics have the columns SIZES.
    """

    run: str
    attempt: str
    at: str
    format: int = ROW_FORMAT
    kplan_version: str = VERSION
    rows: int = 0
    kinds_read: tuple[KindsRead, ...] | None = None
    has_sizes: bool = False


def open_tables(spark: "SparkSession", root: str, form: str, catalog: str = "") -> Tables:
    """Open the tables below a root, of the form that the fleet file names.

    Iceberg tables may be in a `catalog`, as CATALOG or CATALOG.NAMESPACE. Raises FleetError where
    that cannot be used.
    """
    if form == ICEBERG:
        return IcebergTables(spark, root, catalog)
    return DeltaTables(spark, root) if form == DELTA else ParquetTables(spark, root)


class Store:
    """The tables of a fleet below one root, as Spark spells paths, in the form of `form`.

    They may be in a `catalog`; raises FleetError where that cannot be used. `name` is what messages
    call the place of the tables.
    """

    def __init__(
        self, spark: "SparkSession", root: str, form: str = PARQUET, catalog: str = ""
    ) -> None:
        self._spark = spark
        self._form, self._catalog = form, catalog
        self.root = root.rstrip("/")
        self.name = catalog or self.root
        self._tables = open_tables(spark, self.root, form, catalog)
        self.logs = LogStore(spark, self._tables, self.name)

    def with_session(self, spark: "SparkSession") -> "Store":
        """Return the same tables in another session."""
        return Store(spark, self.root, self._form, self._catalog)

    def add_run(self, objects: "DataFrame", run: str, at: datetime) -> Run:
        """Store the rows of a run; they become visible together.

        Raises:
            FleetError: they could not be written.

        """
        attempt = uuid.uuid4().hex
        describe_jobs(self._spark, f"store run {run}")
        try:
            rows = self._tables.add_objects(objects, attempt)
            read = _kinds_of_clusters(self._tables.objects([attempt]))
            began = at.isoformat(timespec="seconds")
            is_sized = {*SIZES} <= {*objects.columns}
            done = Run(run, attempt, began, rows=rows, kinds_read=read, has_sizes=is_sized)
            line = create_dataframe(self._spark, [tuple(asdict(done).values())], RUN_SCHEMA)
            self._tables.add_lines("runs", line, attempt)
        except Exception as failure:
            raise FleetError(
                f"The run could not be stored in {self.name}: {failure_reason(failure)}",
                "Nothing of it counts; the runs before are as they were.",
            ) from failure
        return done

    def runs(self) -> tuple[Run, ...]:
        """List the runs that are whole, oldest first; raises FleetError as `attempts` does."""
        return _latest_attempts(self.attempts())

    def attempts(self) -> tuple[Run, ...]:
        """List the attempts that are whole, also those of which there is a later one, by age.

        Raises:
            FleetError: one of them was written by a later version.

        """
        describe_jobs(self._spark, "list runs")
        rows = read_if_exists(self._spark, lambda: self._tables.lines("runs", RUN_SCHEMA).collect())
        describe_jobs(self._spark, "")
        found = sorted(map(_run_from_row, rows or ()), key=_run_order)
        for each in found:
            if each.format > ROW_FORMAT:
                raise FleetError(
                    f"Run {each.run} in {self.name} has format {each.format}; this version of "
                    f"kplan reads up to {ROW_FORMAT}.",
                    f"Use kplan {each.kplan_version} or later.",
                )
        return tuple(found)

    def run(self, name: str = "") -> Run:
        """Find a run by its name, by default the latest; raises FleetError."""
        return self.choose_run(self.runs(), name)

    def choose_run(self, found: Sequence[Run], name: str = "") -> Run:
        """Choose one of what `runs` gives, by default the latest; raises FleetError."""
        if not found:
            raise FleetError(
                f"There is no run in {self.name} yet.", "Take one with: kplan fleet snapshot"
            )
        chosen = next((each for each in found if each.run == name), None) if name else found[-1]
        if chosen is None:
            known = ", ".join(each.run for each in found[-5:])
            raise FleetError(f"There is no run {name} in {self.name}.", f"The latest: {known}.")
        return chosen

    def objects(self, run: Run) -> "DataFrame":
        """Return the rows of one run."""
        return enable_codegen(self._tables.objects([run.attempt]), run.rows).drop("attempt")

    def objects_of_runs(self, runs: Sequence[Run]) -> "DataFrame":
        """Return the rows of several runs, with `run` and `at` before them."""
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        known = create_dataframe(
            self._spark,
            [(each.attempt, each.run, each.at) for each in runs],
            "attempt string, run string, at string",
        )
        rows = sum(each.rows for each in runs)
        found = enable_codegen(self._tables.objects([each.attempt for each in runs]), rows)
        return found.join(F.broadcast(known), "attempt")

    def usage(self) -> "DataFrame":
        """Return the sums of all logs kept; raises FleetError where there are none."""
        return self.logs.usage()

    def malformed_lines(self) -> "DataFrame":
        """Return the lines of the logs that are none of the authorizer's; raises as `usage`."""
        return self.logs.malformed_lines().orderBy("cluster", "source", "line")

    def optimize(self) -> None:
        """Merge small files of the tables, where they have a way of their own."""
        self._tables.optimize()

    def check_removal(self) -> None:
        """Refuse a store from which nothing can be removed from here, unless it has nothing yet.

        Raises FleetError.
        """
        try:
            self._tables.check_removal()
        except FleetError:
            if self.attempts() or self.logs.parts():
                raise

    def vacuum(self, keep: timedelta, now: datetime) -> int:
        """Remove runs older than `keep`, never the latest, and leftovers of broken runs.

        Returns how many attempts went. Raises FleetError as `check_removal`.
        """
        attempts = self.attempts()
        runs = _latest_attempts(attempts)
        kept = {each.attempt for each in runs[-1:]}
        kept |= {each.attempt for each in runs if now - _run_time(each) <= keep}
        return self._tables.remove_attempts(
            "objects", kept, {each.attempt for each in attempts}, now
        )

    def vacuum_logs(self, keep: timedelta, now: datetime) -> int:
        """Remove requests and malformed lines older than `keep`; returns of how many logs.

        A malformed line is as old as the ingest that read it. Raises FleetError as `vacuum` does.
        """
        old = self.logs.old_rows(now - keep)
        self.logs.compact(old)
        return old.logs


def is_small_store(root: str) -> bool:
    """Whether a store on this machine has few bytes in few files; False where nothing is known."""
    path = local_path(root)
    if path is None or not path.is_dir():
        return False
    size = count = 0
    for folder, _, names in os.walk(path):
        count += len(names)
        with suppress(OSError):  # files that go meanwhile
            size += sum(Path(folder, each).stat().st_size for each in names)
        if count > _SMALL_FILES or size > CODEGEN_MIN_BYTES:
            return False
    return True


def add_run(objects: "DataFrame", run: Run) -> "DataFrame":
    """Add `run` and `at` to the rows of a run, as `objects_of_runs` does."""
    from pyspark.sql import functions as F  # noqa: N812

    return objects.select(F.lit(run.run).alias("run"), F.lit(run.at).alias("at"), "*")


def _run_from_row(row: "Row") -> Run:
    """Read a line; columns that an earlier version did not write have their old meaning."""
    found = {name: value for name, value in row.asDict().items() if value is not None}
    if (groups := found.pop("kinds_read", None)) is not None:
        found["kinds_read"] = tuple(
            KindsRead(tuple(each.kinds), tuple(each.clusters)) for each in groups
        )
    return Run(**found)


def _kinds_of_clusters(objects: "DataFrame") -> tuple[KindsRead, ...]:
    """Group the clusters of a run by the kinds that it read of them in full: mostly by one list."""
    from pyspark.sql import functions as F  # noqa: N812

    clusters = objects.where(F.col("kind") == CLUSTER).select(
        "cluster", kinds_read().alias("kinds")
    )
    groups = clusters.where("kinds is not null").groupBy("kinds")
    found = groups.agg(F.sort_array(F.collect_set("cluster")).alias("clusters")).collect()
    return tuple(sorted(KindsRead(tuple(kinds), tuple(names)) for kinds, names in found))


def _latest_attempts(attempts: Sequence[Run]) -> tuple[Run, ...]:
    """Return the last attempt at each run, by age; in: attempts by age."""
    return tuple(sorted({each.run: each for each in attempts}.values(), key=_run_order))


def _run_order(run: Run) -> tuple[str, str]:
    return run.at, run.attempt


def _run_time(run: Run) -> datetime:
    return datetime.fromisoformat(run.at)
