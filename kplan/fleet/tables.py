"""How the tables of a store lie on the disk: folders of Parquet, or Delta tables.

Which rows count is not for them to say: that is what `kplan/fleet/store.py` keeps `runs` for.
"""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from kplan.fleet.snapshot import OBJECT_SCHEMA
from kplan.model.errors import FleetError
from kplan.sandbox.artifact import file_lock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET, DELTA = "parquet", "delta"
RUN_SCHEMA = "run string, attempt string, at string, format int, kplan_version string, rows long"
_ATTEMPT_SCHEMA = f"{OBJECT_SCHEMA}, attempt string"
_ORPHAN_AGE = timedelta(days=1)
_TABLE_NAMES = ("runs", "objects", "audit", "offsets")
_MAX_ATTEMPTS = 3
_CONFLICT_ERRORS = ("DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_CONCURRENT")


class Tables(Protocol):
    """The tables of a store. What does not exist yet raises PySpark's AnalysisException."""

    def add_objects(self, objects: "DataFrame", attempt: str) -> int:
        """Write the rows of one attempt at a run; returns how many there are."""
        ...

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Return the rows of some attempts, and `attempt`."""
        ...

    def add_run(self, line: "DataFrame", attempt: str) -> None:
        """Write the one line that makes an attempt count."""
        ...

    def runs(self) -> "DataFrame":
        """Return these lines."""
        ...

    def replace_rows(self, name: str, rows: "DataFrame") -> None:
        """Put rows in the place of those of the same `cluster` and `file`."""
        ...

    def read(self, name: str, schema: str) -> "DataFrame":
        """Return the rows that `replace` stored."""
        ...

    def remove_attempts(
        self, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Remove all attempts that are not to be kept; returns how many went.

        One that does not count may still be at work: it goes when it is a day old.
        """
        ...

    def remove_logs(self, logs: Collection[tuple[str, str]]) -> None:
        """Remove the rows that `replace` stored in `audit` under these `cluster` and `file`."""
        ...


def open_tables(spark: "SparkSession", root: str, form: str) -> Tables:
    """Open the tables below a root, of the form that the fleet file names."""
    return DeltaTables(spark, root) if form == DELTA else ParquetTables(spark, root)


class ParquetTables:
    """Folders.

    ROOT/objects/attempt=ID/kind=KIND/*.parquet
    ROOT/runs/attempt=ID/*.json
    ROOT/audit/cluster=C/file=F/*.parquet
    """

    def __init__(self, spark: "SparkSession", root: str) -> None:
        self._spark = spark
        self._root = root

    def add_objects(self, objects: "DataFrame", attempt: str) -> int:
        """Write a folder of its own, in few files: each cluster would have one of each kind.

        Rows are counted by the tasks that write them: a task that is done again counts once.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        seen = Observation()
        together = objects.hint("rebalance", F.col("kind"))
        counted = together.observe(seen, F.count(F.lit(1)).alias("rows"))
        counted.write.partitionBy("kind").parquet(self._attempt_path(attempt))
        return int(seen.get["rows"])

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Read these folders and no others."""
        read = self._spark.read.schema(_ATTEMPT_SCHEMA).option("basePath", f"{self._root}/objects")
        return read.parquet(*(self._attempt_path(each) for each in attempts))

    def add_run(self, line: "DataFrame", attempt: str) -> None:
        """Write one file of one line."""
        line.coalesce(1).write.json(f"{self._root}/runs/attempt={attempt}")

    def runs(self) -> "DataFrame":
        """Read all of these files."""
        return self._spark.read.schema(RUN_SCHEMA).json(f"{self._root}/runs")

    def replace_rows(self, name: str, rows: "DataFrame") -> None:
        """Overwrite the folders of the logs that the rows are of, one writer at a time."""
        write = rows.write.mode("overwrite").partitionBy("cluster", "file")
        with _lock_writers(self._root):
            write.parquet(f"{self._root}/{name}")

    def read(self, name: str, schema: str) -> "DataFrame":
        """Read all logs."""
        return self._spark.read.schema(schema).parquet(f"{self._root}/{name}")

    def remove_attempts(
        self, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Remove folders of this machine; raises FleetError where they are elsewhere."""
        root = self._local_folder("attempt=... folders with the tools of that store, `runs` first.")
        gone = 0
        for folder in sorted(root.glob("objects/attempt=*")):
            attempt = folder.name.partition("=")[2]
            is_young = now.timestamp() - folder.stat().st_mtime < _ORPHAN_AGE.total_seconds()
            if attempt in kept or (attempt not in counted and is_young):
                continue
            shutil.rmtree(root / "runs" / folder.name, ignore_errors=True)
            shutil.rmtree(folder)
            gone += 1
        return gone

    def remove_logs(self, logs: Collection[tuple[str, str]]) -> None:
        """Remove folders of this machine; raises FleetError where they are elsewhere."""
        if logs:
            root = self._local_folder(
                "file=... folders below `audit` with the tools of that store."
            )
            for folder in sorted(root.glob("audit/cluster=*/file=*")):
                cluster, file = (each.partition("=")[2] for each in folder.parts[-2:])
                if (unquote(cluster), file) in logs:
                    shutil.rmtree(folder)

    def _local_folder(self, else_remove: str) -> Path:
        root = Path(self._root.removeprefix("file://"))
        if "://" in str(root) or not root.is_dir():
            detail = f"{self._root} is not a folder of this machine."
            raise FleetError(detail, f"Remove old {else_remove}")
        return root

    def _attempt_path(self, attempt: str) -> str:
        return f"{self._root}/objects/attempt={attempt}"


@contextmanager
def _lock_writers(root: str) -> Iterator[None]:
    """Keep other writers of this machine out: Spark would put the folder of one into the other's.

    What is elsewhere cannot be locked so; Delta tables need no lock.
    """
    place = root.removeprefix("file://")
    with ExitStack() as stack:
        if "://" not in place:
            with suppress(OSError):  # a folder that only the machine of a Connect server has
                stack.enter_context(file_lock(Path(place, ".lock")))
        yield


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
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        rows = objects.withColumn("attempt", F.lit(attempt)).write.format(DELTA).mode("append")
        wider = rows.option("mergeSchema", value=True).partitionBy("attempt", "kind")
        _retry_on_conflict(lambda: wider.save(self._path("objects")))
        return self.objects([attempt]).count()

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Read the partitions of these attempts."""
        found = self._read_table("objects", _ATTEMPT_SCHEMA)
        return found.where(found["attempt"].isin(*attempts))

    def add_run(self, line: "DataFrame", attempt: str) -> None:
        """Append one line."""
        del attempt  # the line has it
        rows = line.coalesce(1).write.format(DELTA).mode("append")
        _retry_on_conflict(lambda: rows.option("mergeSchema", value=True).save(self._path("runs")))

    def runs(self) -> "DataFrame":
        """Read all lines."""
        return self._read_table("runs", RUN_SCHEMA)

    def replace_rows(self, name: str, rows: "DataFrame") -> None:
        """Overwrite the partitions that the rows are of."""
        over = rows.write.format(DELTA).mode("overwrite").partitionBy("cluster", "file")
        only = over.option("partitionOverwriteMode", "dynamic")
        _retry_on_conflict(lambda: only.save(self._path(name)))

    def read(self, name: str, schema: str) -> "DataFrame":
        """Read all logs."""
        return self._read_table(name, schema)

    def remove_attempts(
        self, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Delete rows, those of `runs` first, then files that were deleted or replaced long ago."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F  # noqa: N812

        found = self._spark.read.format(DELTA).load(self._path("objects"))
        age = F.max("_metadata.file_modification_time").cast("double").alias("at")
        gone = [
            attempt
            for attempt, at in found.groupBy("attempt").agg(age).collect()
            if attempt not in kept
            and (attempt in counted or now.timestamp() - at >= _ORPHAN_AGE.total_seconds())
        ]
        names = ", ".join(f"'{each}'" for each in gone)  # Delta binds no parameters
        for name in ("runs", "objects") if gone else ():
            self._spark.sql(f"DELETE FROM {self._table_name(name)} WHERE attempt IN ({names})")  # noqa: S608 - names are uuid4 of ours
        for name in _TABLE_NAMES:
            with suppress(AnalysisException):  # not there yet
                self._spark.sql(f"VACUUM {self._table_name(name)}")
        return len(gone)

    def remove_logs(self, logs: Collection[tuple[str, str]]) -> None:
        """Delete rows; their files are removed as `remove` describes."""
        for cluster, files in groupby(sorted(logs), key=lambda each: each[0]):
            name = cluster.replace("\\", "\\\\").replace("'", "\\'")
            named = ", ".join(f"'{file}'" for _, file in files)
            self._spark.sql(
                f"DELETE FROM {self._table_name('audit')} "  # noqa: S608 - escaped; Delta binds none
                f"WHERE cluster = '{name}' AND file IN ({named})"
            )

    def _read_table(self, name: str, schema: str) -> "DataFrame":
        """Read a table; columns that it has not yet are null."""
        from pyspark.sql import functions as F  # noqa: N812

        found = self._spark.read.format(DELTA).load(self._path(name))
        wanted = (each.split(maxsplit=1) for each in schema.split(", "))
        return found.select(
            *(
                F.col(column) if column in found.columns else F.lit(None).cast(kind).alias(column)
                for column, kind in wanted
            )
        )

    def _table_name(self, name: str) -> str:
        return f"delta.`{self._path(name).replace('`', '``')}`"

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _retry_on_conflict(write: Callable[[], None]) -> None:
    """Write again when another writer made or changed the table meanwhile."""
    for left in reversed(range(_MAX_ATTEMPTS)):
        try:
            return write()
        except Exception as failure:
            if not left or not any(each in str(failure) for each in _CONFLICT_ERRORS):
                raise
    return None


DELTA_VERSION = "4.4.0"
DELTA_SPARK_VERSIONS = ("4.0", "4.1", "4.2")
"""The Sparks this Delta Lake is built for. On 4.3 its writes pass and its reads do not."""

_EXTENSIONS_SETTING = "spark.sql.extensions"
_PACKAGES_SETTING = "spark.jars.packages"
_DELTA_TASKS = "8"


def is_delta_supported(spark: str) -> bool:
    """Whether Delta Lake runs on a version of Spark."""
    return ".".join(spark.split(".")[:2]) in DELTA_SPARK_VERSIONS


def delta_settings(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark for Delta tables, beside those in `conf`.

    Whoever names a jar of Delta in `conf` is taken to know which one. Raises FleetError where no
    Delta Lake runs on this Spark.
    """
    found = {
        _EXTENSIONS_SETTING: _append_setting(
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
    if any("delta" in conf.get(name, "") for name in (_PACKAGES_SETTING, "spark.jars")):
        return found
    spark = version("pyspark")
    if not is_delta_supported(spark):
        raise FleetError(
            f"Delta Lake {DELTA_VERSION} does not run on Spark {spark}, but on "
            f"{', '.join(DELTA_SPARK_VERSIONS)}.",
            "Install one of these with: pip install 'kplan[fleet,delta]'",
        )
    minor = ".".join(spark.split(".")[:2])
    jar = f"io.delta:delta-spark_{minor}_2.13:{DELTA_VERSION}"
    found[_PACKAGES_SETTING] = _append_setting(conf, _PACKAGES_SETTING, jar)
    if repository := environ.get("KPLAN_MAVEN_REPOSITORY"):
        found["spark.jars.repositories"] = _append_setting(
            conf, "spark.jars.repositories", repository
        )
    return found


def _append_setting(conf: Mapping[str, str], name: str, more: str) -> str:
    return ",".join(filter(None, (conf.get(name, ""), more)))
