"""Where the fleet's snapshots are kept: append-only runs, each seen only when it is whole.

    objects      the rows of attempts at runs
    runs         one line for each attempt that is whole, written last: this one counts
    audit        the sums of each authorizer log, and its lines that are none of the authorizer's
    offsets      how far topics with such lines were read

A run that is taken again is another attempt; the one that ended last is the run. What a broken or
second writer leaves is of no attempt that counts, and `vacuum` removes it. Every path is Spark's to
read, so that a store may lie in HDFS or an object store as well as in a folder.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from kplan.fleet.audit import (
    AUDIT_SCHEMA,
    LogFile,
    line_sums,
    log_file_ids,
    log_starts,
    malformed_lines,
    usage,
)
from kplan.fleet.audit_topic import OFFSET_SCHEMA, OffsetRange
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.session import enable_codegen, failure_reason, unreadable_file
from kplan.fleet.snapshot import ROW_FORMAT
from kplan.fleet.tables import DELTA_VERSION, PARQUET, RUN_SCHEMA, open_tables
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError
from kplan.model.version import VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Run:
    """One snapshot of the fleet. `at` is when it began, ISO 8601 in UTC."""

    run: str
    attempt: str
    at: str
    format: int = ROW_FORMAT
    kplan_version: str = VERSION
    rows: int = 0


class UnreadableLog(FleetError):  # noqa: N818 - what it is of
    """A log cannot be read: it is cut, or packed otherwise than its name says."""

    def __init__(self, source: str, told: str) -> None:
        super().__init__(f"A log cannot be read. {told}")
        self.source = source


class Store:
    """The tables of a fleet below one root, as Spark spells paths, in the form of `form`."""

    def __init__(self, spark: "SparkSession", root: str, form: str = PARQUET) -> None:
        self._spark = spark
        self.root = root.rstrip("/")
        self._tables = open_tables(spark, self.root, form)

    def add_run(self, objects: "DataFrame", run: str, at: datetime) -> Run:
        """Store the rows of a run; they become visible together.

        Raises:
            FleetError: they could not be written.

        """
        attempt = uuid.uuid4().hex
        try:
            rows = self._tables.add_objects(objects, attempt)
            done = Run(run, attempt, at.isoformat(timespec="seconds"), rows=rows)
            line = create_dataframe(self._spark, [tuple(asdict(done).values())], RUN_SCHEMA)
            self._tables.add_run(line, attempt)
        except Exception as failure:
            raise FleetError(
                f"The run could not be stored in {self.root}: {failure_reason(failure)}",
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
        rows = _read_if_exists(lambda: self._tables.runs().collect())
        found = sorted(map(_run_from_row, rows or ()), key=_run_order)
        for each in found:
            if each.format > ROW_FORMAT:
                raise FleetError(
                    f"Run {each.run} in {self.root} has format {each.format}; this version of "
                    f"kplan reads up to {ROW_FORMAT}.",
                    f"Use kplan {each.kplan_version} or later.",
                )
        return tuple(found)

    def run(self, name: str = "") -> Run:
        """Find a run by its name, by default the latest; raises FleetError."""
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

    def append_audit(
        self, data_frame: "DataFrame", logs: Sequence[LogFile] = (), time_zone: str = ""
    ) -> None:
        """Store the content of log lines; a log that was stored before is replaced.

        In: what `audit.parsed` gives, and the files it is of. Raises UnreadLog where one of these
        cannot be read, else FleetError; nothing was kept then.
        """
        from pyspark.sql import functions as F  # noqa: N812

        held = enable_codegen(data_frame).cache()
        stamps = {each.source: each.stamp for each in logs}
        try:
            named = [
                (*place, file, stamps.get(place[1]))
                for place, file in log_file_ids(log_starts(held)).items()
            ]
            known = create_dataframe(
                self._spark, named, "cluster string, source string, file string, stamp string"
            )
            rows = line_sums(held, time_zone).join(F.broadcast(known), ["cluster", "source"])
            self._tables.replace_rows("audit", rows)
        except Exception as failure:
            if source := unreadable_file(failure):
                raise UnreadableLog(source, failure_reason(failure)) from failure
            raise FleetError(
                f"The logs could not be stored in {self.root}: {failure_reason(failure)}"
            ) from failure
        finally:
            held.unpersist()

    def log_stamps(self, cluster: str) -> frozenset[tuple[str, str]]:
        """Return which logs of a cluster were read, and how they were then: source and stamp."""
        from pyspark.sql import functions as F  # noqa: N812

        own, columns = F.col("cluster") == cluster, ("source", "stamp")
        rows = _read_if_exists(
            lambda: (
                self._tables.read("audit", AUDIT_SCHEMA)
                .where(own)
                .select(*columns)
                .distinct()
                .collect()
            )
        )
        return frozenset((row["source"], row["stamp"]) for row in rows or ())

    def append_records(
        self, cluster: str, data_frame: "DataFrame", spans: Sequence[OffsetRange]
    ) -> None:
        """Add up the records of topics, and note how far these were read; raises FleetError.

        The note comes last: what breaks off before is read again, and takes its own place.
        """
        from pyspark.sql import functions as F  # noqa: N812

        self.append_audit(data_frame)
        ends = [(cluster, each.source, each.end) for each in spans]
        rows = create_dataframe(self._spark, ends, OFFSET_SCHEMA)
        self._tables.replace_rows("offsets", rows.withColumn("file", F.md5("source")))

    def topic_offsets(self, cluster: str) -> dict[str, int]:
        """Return how far the topics of a cluster were read, by partition (`Span.source`)."""
        from pyspark.sql import functions as F  # noqa: N812

        own, columns = F.col("cluster") == cluster, ("source", "end")
        kept = f"{OFFSET_SCHEMA}, file string"
        rows = _read_if_exists(
            lambda: self._tables.read("offsets", kept).where(own).select(*columns).collect()
        )
        return {row["source"]: row["end"] for row in rows or ()}

    def usage(self) -> "DataFrame":
        """Return the sums of all logs kept; raises FleetError where there are none."""
        return usage(enable_codegen(self._logs()))

    def malformed_lines(self) -> "DataFrame":
        """Return the lines of the logs that are none of the authorizer's; raises as `audit`."""
        return malformed_lines(self._logs()).orderBy("cluster", "source", "line")

    def _logs(self) -> "DataFrame":
        def read() -> "DataFrame":
            found = self._tables.read("audit", AUDIT_SCHEMA)
            _ = found.schema  # Spark Connect looks no sooner than it must
            return found

        found = _read_if_exists(read)
        if found is None:
            raise FleetError(
                f"No authorizer log is stored in {self.root} yet.",
                'Name logs in fleet.hcl (audit = ["..."]), then: kplan fleet audit ingest',
            )
        return found

    def vacuum(self, keep: timedelta, now: datetime) -> int:
        """Remove runs older than `keep`, never the latest, and leftovers of broken runs.

        Returns how many attempts went. Parquet must lie in a folder of this machine for it.
        Raises FleetError where it does not.
        """
        attempts = self.attempts()
        runs = _latest_attempts(attempts)
        kept = {each.attempt for each in runs[-1:]}
        kept |= {each.attempt for each in runs if now - _run_time(each) <= keep}
        return self._tables.remove_attempts(kept, {each.attempt for each in attempts}, now)

    def vacuum_logs(self, keep: timedelta, now: datetime) -> int:
        """Remove the logs whose last request is older than `keep`; returns how many.

        Raises FleetError as `vacuum` does.
        """
        from pyspark.sql import functions as F  # noqa: N812

        def old() -> "list[Row]":
            logs = self._tables.read("audit", AUDIT_SCHEMA).groupBy("cluster", "file")
            last = logs.agg(F.max("last_at").alias("last_at"))
            return last.where(F.col("last_at") < F.lit(now - keep)).collect()

        rows = _read_if_exists(old) or ()
        self._tables.remove_logs([(row["cluster"], row["file"]) for row in rows])
        return len(rows)


def _read_if_exists(read: Callable[[], Found]) -> Found | None:
    """Read a table; None is that it does not exist yet.

    Raises:
        FleetError: the Spark at work does not know its form, and would see none.

    """
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - heavy
    from pyspark.errors import AnalysisException, PySparkException

    try:
        return read()
    except (PySparkException, Py4JJavaError) as failure:  # Spark Connect has another for it
        if "DATA_SOURCE_NOT_FOUND" in str(failure):
            raise FleetError(
                "The Spark at work knows no Delta tables.",
                "A Connect server is started with them: --packages io.delta:delta-spark_4.2_2.13:"
                f"{DELTA_VERSION} and its settings; see https://docs.delta.io.",
            ) from failure
        if not isinstance(failure, AnalysisException):
            raise
        return None


def _run_from_row(row: "Row") -> Run:
    """Read a line; columns that an earlier version did not write have their old meaning."""
    return Run(**{name: value for name, value in row.asDict().items() if value is not None})


def _latest_attempts(attempts: Sequence[Run]) -> tuple[Run, ...]:
    """Return the last attempt at each run, by age; in: attempts by age."""
    return tuple(sorted({each.run: each for each in attempts}.values(), key=_run_order))


def _run_order(run: Run) -> tuple[str, str]:
    return run.at, run.attempt


def _run_time(run: Run) -> datetime:
    return datetime.fromisoformat(run.at)
