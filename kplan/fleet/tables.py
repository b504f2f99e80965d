"""How the tables of a store lie on the disk: folders of Parquet, Delta or Iceberg tables.

Which rows count is not for them to say: that is what `kplan/fleet/store.py` keeps `runs` for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

from kplan.fleet.attempt_folders import open_folders
from kplan.fleet.compat import can_observe, rebalance
from kplan.fleet.jars import DELTA_LAKE, append_setting
from kplan.fleet.snapshot import STORED_SCHEMA
from kplan.model.errors import FleetError
from kplan.model.file_url import escape_glob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Found = TypeVar("Found")

PARQUET, DELTA, ICEBERG = "parquet", "delta", "iceberg"
RUN_SCHEMA = (
    "run string, attempt string, at string, format int, kplan_version string, rows long, "
    "kinds_read array<struct<kinds:array<string>,clusters:array<string>>>, has_sizes boolean"
)
ATTEMPT_SCHEMA = f"{STORED_SCHEMA}, attempt string"
ORPHAN_AGE = timedelta(days=1)
FILE_ROWS = 100_000
"""Rows of a run in one file: Spark reads a small file in one task, however many rows it has."""
LINES_OF = {"objects": "runs", "requests": "logs"}
_MAX_ATTEMPTS = 3
_CONFLICT_ERRORS = ("DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_CONCURRENT")


class Tables(Protocol):
    """The tables of a store. What does not exist yet raises an AnalysisException of PySpark.

    Rows are of attempts, and only added: which count is in lines, `runs` for `objects` and `logs`
    for `requests`.
    """

    def add_objects(self, objects: "DataFrame", attempt: str) -> int:
        """Write the rows of one attempt at a run; returns how many there are."""
        ...

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Return the rows of some attempts, and `attempt`."""
        ...

    def add_requests(self, requests: "DataFrame", attempt: str) -> None:
        """Write the rows of one attempt at reading logs."""
        ...

    def requests(self, attempts: Sequence[str], schema: str) -> "DataFrame":
        """Return the rows of some attempts, and `attempt`."""
        ...

    def add_lines(self, name: str, lines: "DataFrame", attempt: str) -> None:
        """Write the lines that make an attempt count, all at once."""
        ...

    def lines(self, name: str, schema: str) -> "DataFrame":
        """Return these lines."""
        ...

    def read(self, name: str, schema: str) -> "DataFrame":
        """Return what earlier versions of kplan kept by `cluster` and `file`."""
        ...

    def remove_attempts(
        self, name: str, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Remove all attempts of a table that are not to be kept; returns how many went.

        One that does not count may still be at work: it goes when it is a day old.
        """
        ...

    def check_removal(self) -> None:
        """Refuse a place from which attempts cannot be removed from here; raises FleetError."""
        ...

    def optimize(self) -> None:
        """Merge small files, where the form of the tables has a way of its own."""
        ...


class ParquetTables:
    """Folders. Spark takes their names for patterns where it reads, not where it writes.

    ROOT/objects/attempt=ID/kind=KIND/*.parquet
    ROOT/runs/attempt=ID/*.json
    ROOT/requests/attempt=ID/*.parquet
    ROOT/logs/attempt=ID/*.json
    """

    def __init__(self, spark: "SparkSession", root: str) -> None:
        self._spark = spark
        self._root = root

    def add_objects(self, objects: "DataFrame", attempt: str) -> int:
        """Write a folder of its own, in few files: each cluster would have one of each kind.

        Files are of FILE_ROWS at most: half a million ACLs that are alike take 5 MB, and one file
        of that size is read by one task. Rows are counted by the tasks that write them: a task that
        is done again counts once.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        seen, found = Observation(), rebalance(objects, "kind")
        if is_seen := can_observe(objects):
            found = found.observe(seen, F.count(F.lit(1)).alias("rows"))
        write = found.write.partitionBy("kind").option("maxRecordsPerFile", FILE_ROWS)
        write.parquet(self._path("objects", attempt))
        return int(seen.get["rows"]) if is_seen else self.objects([attempt]).count()

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Read these folders and no others."""
        return self._read_attempts("objects", ATTEMPT_SCHEMA, attempts)

    def add_requests(self, requests: "DataFrame", attempt: str) -> None:
        """Write a folder of its own."""
        requests.write.parquet(self._path("requests", attempt))

    def requests(self, attempts: Sequence[str], schema: str) -> "DataFrame":
        """Read these folders and no others."""
        return self._read_attempts("requests", f"{schema}, attempt string", attempts)

    def add_lines(self, name: str, lines: "DataFrame", attempt: str) -> None:
        """Write one file: it is there in whole, or not at all."""
        lines.drop("attempt").coalesce(1).write.json(self._path(name, attempt))

    def lines(self, name: str, schema: str) -> "DataFrame":
        """Read all of these files.

        Those that go meanwhile count no more, or `remove_attempts` would not remove them.
        """
        read = self._spark.read.schema(schema).option("ignoreMissingFiles", value=True)
        return read.json(escape_glob(f"{self._root}/{name}"))

    def read(self, name: str, schema: str) -> "DataFrame":
        """Read all of a table."""
        return self._spark.read.schema(schema).parquet(escape_glob(f"{self._root}/{name}"))

    def remove_attempts(
        self, name: str, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Remove their folders, those of lines first."""
        folders = open_folders(self._spark, self._root)
        gone = 0
        for folder in folders.names(name):
            prefix, _, attempt = folder.partition("=")
            if prefix != "attempt" or attempt in kept:
                continue
            place = f"{name}/{folder}"
            if attempt not in counted:
                age_s = now.timestamp() - folders.changed_at(place)
                if age_s < ORPHAN_AGE.total_seconds():
                    continue
            folders.remove(f"{LINES_OF[name]}/{folder}")
            folders.remove(place)
            gone += 1
        return gone

    def check_removal(self) -> None:
        """Refuse a client of Spark Connect where the folders are not of its machine."""
        open_folders(self._spark, self._root)

    def optimize(self) -> None:
        """Do nothing: what is read often is merged by attempts."""

    def _read_attempts(self, name: str, schema: str, attempts: Sequence[str]) -> "DataFrame":
        read = self._spark.read.schema(schema).option("basePath", f"{self._root}/{name}")
        return read.parquet(*(escape_glob(self._path(name, each)) for each in attempts))

    def _path(self, name: str, attempt: str) -> str:
        return f"{self._root}/{name}/attempt={attempt}"


class DeltaTables:
    """The Delta tables below ROOT/delta.

    Every write is a transaction: writers do not wait for each other, and readers see all of a write
    or nothing. What was removed can be seen for another week by those who name a version.
    """

    def __init__(self, spark: "SparkSession", root: str) -> None:
        self._spark = spark
        self._root = f"{root}/delta"

    def add_objects(self, objects: "DataFrame", attempt: str) -> int:
        """Append; columns that the table has not are added to it."""
        self._append("objects", objects, attempt, ("attempt", "kind"))
        return self.objects([attempt]).count()

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Read the partitions of these attempts."""
        found = self._read_table("objects", ATTEMPT_SCHEMA)
        return found.where(found["attempt"].isin(*attempts))

    def add_requests(self, requests: "DataFrame", attempt: str) -> None:
        """Append."""
        self._append("requests", requests, attempt, ("attempt",))

    def requests(self, attempts: Sequence[str], schema: str) -> "DataFrame":
        """Read the partitions of these attempts."""
        found = self._read_table("requests", f"{schema}, attempt string")
        return found.where(found["attempt"].isin(*attempts))

    def add_lines(self, name: str, lines: "DataFrame", attempt: str) -> None:
        """Append them in one transaction."""
        self._append(name, lines.coalesce(1), attempt, ())

    def lines(self, name: str, schema: str) -> "DataFrame":
        """Read all lines."""
        return self._read_table(name, schema)

    def read(self, name: str, schema: str) -> "DataFrame":
        """Read all of a table."""
        return self._read_table(name, schema)

    def remove_attempts(
        self, name: str, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Delete rows, those of lines first, then the files of what was deleted long ago."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        found = self._spark.read.format(DELTA).load(self._path(name))
        age = F.max("_metadata.file_modification_time").cast("double").alias("at")
        gone = [
            attempt
            for attempt, at in found.groupBy("attempt").agg(age).collect()
            if attempt not in kept
            and (attempt in counted or now.timestamp() - at >= ORPHAN_AGE.total_seconds())
        ]
        names = ", ".join(f"'{each}'" for each in gone)  # Delta binds no parameters
        both = (LINES_OF[name], name)
        for each in both if gone else ():
            self._change(f"DELETE FROM {self._table_name(each)} WHERE attempt IN ({names})")  # noqa: S608 - names are ours
        for each in both:
            with suppress(AnalysisException):  # not there yet
                self._spark.sql(f"VACUUM {self._table_name(each)}")
        return len(gone)

    def check_removal(self) -> None:
        """Do nothing: Delta Lake removes rows and files wherever they are."""

    def optimize(self) -> None:
        """Merge small files within partitions."""
        from pyspark.errors import AnalysisException

        for name in (*LINES_OF.keys(), *LINES_OF.values()):
            with suppress(AnalysisException):  # not there yet
                self._change(f"OPTIMIZE {self._table_name(name)}")

    def _change(self, statement: str) -> None:
        """Delete or merge rows, also where another command does so meanwhile."""
        retry_on_conflict(lambda: self._spark.sql(statement))

    def _append(
        self, name: str, rows: "DataFrame", attempt: str, partitions: Sequence[str]
    ) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        found = rows.withColumn("attempt", F.lit(attempt))
        write = found.write.format(DELTA).mode("append").option("mergeSchema", value=True)
        retry_on_conflict(lambda: write.partitionBy(*partitions).save(self._path(name)))

    def _read_table(self, name: str, schema: str) -> "DataFrame":
        """Read a table; columns that it has not yet are null."""
        return select_columns(self._spark.read.format(DELTA).load(self._path(name)), schema)

    def _table_name(self, name: str) -> str:
        return f"delta.`{self._path(name).replace('`', '``')}`"

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def select_columns(found: "DataFrame", schema: str) -> "DataFrame":
    """Select the columns of a schema; those that a table has not yet are null."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted = (each.split(maxsplit=1) for each in schema.split(", "))
    return found.select(
        *(
            F.col(column) if column in found.columns else F.lit(None).cast(kind).alias(column)
            for column, kind in wanted
        )
    )


def retry_on_conflict(
    write: Callable[[], object], conflicts: Sequence[str] = _CONFLICT_ERRORS
) -> None:
    """Write again when another writer made or changed the table meanwhile."""
    for left in reversed(range(_MAX_ATTEMPTS)):
        try:
            write()
        except Exception as failure:
            if not left or not any(each in str(failure) for each in conflicts):
                raise
        else:
            return


_EXTENSIONS_SETTING = "spark.sql.extensions"
_DELTA_TASKS = "8"


def delta_settings(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark for Delta tables, beside those in `conf`.

    Raises FleetError where no Delta Lake runs on this Spark.
    """
    found = {
        _EXTENSIONS_SETTING: append_setting(
            conf, _EXTENSIONS_SETTING, "io.delta.sql.DeltaSparkSessionExtension"
        ),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The tables are small beside what these are meant for: 50 and 10,000 tasks.
        "spark.databricks.delta.snapshotPartitions": _DELTA_TASKS,
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": _DELTA_TASKS,
    }
    found |= {
        name: conf[name] for name in found.keys() & conf.keys() if name != _EXTENSIONS_SETTING
    }
    return {**found, **DELTA_LAKE.settings(conf, environ)}


def read_if_exists(spark: "SparkSession", read: Callable[[], Found]) -> Found | None:
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
                "The Spark at work knows no Delta tables.", DELTA_LAKE.start_hint(spark.version)
            ) from failure
        if not isinstance(failure, AnalysisException):
            raise
        return None
