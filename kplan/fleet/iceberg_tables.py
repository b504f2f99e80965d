"""Iceberg tables in a catalog: one that fleet.hcl names, else a folder of the store.

ROOT/iceberg/fleet/objects, runs, requests and logs, or these names in a namespace of the catalog.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from kplan.fleet.jars import ICEBERG_RUNTIME, append_setting
from kplan.fleet.tables import (
    ATTEMPT_SCHEMA,
    ICEBERG,
    LINES_OF,
    ORPHAN_AGE,
    retry_on_conflict,
    select_columns,
)
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONFLICT_ERRORS = (
    "CommitFailedException",
    "AlreadyExistsException",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "Missing required files to delete",  # another command has deleted the same rows meanwhile
)
_NAMESPACE = "kplan"
"""Of a catalog that is named without one."""
_EMPTY_FOLDER = re.compile(r"NoSuchNamespaceException(?::|[)]) Namespace does not exist: *(?:\n|$)")
"""What a catalog that is a folder says of itself before there is anything in it: Spark Connect has
the name of the exception in parentheses."""
_PY4J_HEAD = "An error occurred while calling"
_PARTITIONS = {"objects": ("attempt", "kind"), "requests": ("attempt",)}
_PROPERTIES = "'format-version' = '2', 'write.spark.accept-any-schema' = 'true'"


class IcebergTables:
    """The Iceberg tables of a store. Every write is one snapshot of a table.

    What was removed can be read for some days by those who name a snapshot.
    """

    def __init__(self, spark: "SparkSession", root: str, catalog: str = "") -> None:
        """Open the catalog; raises FleetError where it cannot be used."""
        self._spark = spark
        self._catalog, _, namespace = catalog.partition(".")
        self._namespace = namespace or _NAMESPACE
        if not catalog:
            self._catalog, self._namespace = _folder_catalog(spark, f"{root}/{ICEBERG}"), "fleet"
        try:
            spark.sql(f"SHOW NAMESPACES IN `{self._catalog}`").collect()
        except Exception as failure:
            if not _EMPTY_FOLDER.search(str(failure)):
                raise _catalog_error(catalog, failure, spark.version) from failure

    def add_objects(self, objects: "DataFrame", attempt: str) -> int:
        """Append; columns that the table has not are added to it."""
        self._append("objects", objects, attempt)
        return self.objects([attempt]).count()

    def objects(self, attempts: Sequence[str]) -> "DataFrame":
        """Read the partitions of these attempts."""
        found = self.read("objects", ATTEMPT_SCHEMA)
        return found.where(found["attempt"].isin(*attempts))

    def add_requests(self, requests: "DataFrame", attempt: str) -> None:
        """Append."""
        self._append("requests", requests, attempt)

    def requests(self, attempts: Sequence[str], schema: str) -> "DataFrame":
        """Read the partitions of these attempts."""
        found = self.read("requests", f"{schema}, attempt string")
        return found.where(found["attempt"].isin(*attempts))

    def add_lines(self, name: str, lines: "DataFrame", attempt: str) -> None:
        """Append them in one snapshot."""
        self._append(name, lines.coalesce(1), attempt)

    def lines(self, name: str, schema: str) -> "DataFrame":
        """Read all lines."""
        return self.read(name, schema)

    def read(self, name: str, schema: str) -> "DataFrame":
        """Read all of a table; columns that it has not yet are null."""
        return select_columns(self._spark.read.table(self._name(name)), schema)

    def remove_attempts(
        self, name: str, kept: Collection[str], counted: Collection[str], now: datetime
    ) -> int:
        """Delete rows, those of lines first, and expire the snapshots of some days ago."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        changed = F.max(F.col("last_updated_at").cast("timestamp").cast("double"))
        parts = self._spark.read.table(f"{self._name(name)}.partitions")
        ages = parts.groupBy(F.col("partition.attempt").alias("attempt")).agg(changed)
        gone = [
            attempt
            for attempt, at in ages.collect()
            if attempt not in kept
            and (attempt in counted or now.timestamp() - at >= ORPHAN_AGE.total_seconds())
        ]
        names = ", ".join(f"'{each}'" for each in gone)
        both = (LINES_OF[name], name)
        for each in both if gone else ():
            delete = f"DELETE FROM {self._name(each)} WHERE attempt IN ({names})"  # noqa: S608 - names are ours
            retry_on_conflict(lambda delete=delete: self._spark.sql(delete), CONFLICT_ERRORS)  # type: ignore[misc]
        for each in both:
            with suppress(AnalysisException):  # not there yet
                self._call("expire_snapshots", each)
        return len(gone)

    def check_removal(self) -> None:
        """Do nothing: Iceberg removes rows and files wherever they are."""

    def optimize(self) -> None:
        """Rewrite small files as larger ones."""
        from pyspark.errors import AnalysisException

        for name in (*LINES_OF.keys(), *LINES_OF.values()):
            with suppress(AnalysisException):  # not there yet
                self._spark.read.table(self._name(name)).schema  # noqa: B018 - it is looked up
                self._call("rewrite_data_files", name)

    def _append(self, name: str, rows: "DataFrame", attempt: str) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        found = rows.withColumn("attempt", F.lit(attempt))
        columns = ", ".join(
            f"`{each.name}` {each.dataType.simpleString()}" for each in found.schema
        )
        by = ", ".join(_PARTITIONS.get(name, ()))
        create = (
            f"CREATE TABLE IF NOT EXISTS {self._name(name)} ({columns}) USING {ICEBERG} "
            f"{f'PARTITIONED BY ({by}) ' if by else ''}TBLPROPERTIES ({_PROPERTIES})"
        )

        def write() -> None:
            self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS `{self._catalog}`.`{self._namespace}`")
            self._spark.sql(create)
            # By the names of columns: new ones are added, whatever their order.
            by_name = {"mergeSchema": "true", "check-ordering": "false"}
            found.writeTo(self._name(name)).options(**by_name).append()

        retry_on_conflict(write, CONFLICT_ERRORS)

    def _call(self, procedure: str, name: str) -> None:
        table = f"table => '{self._namespace}.{name}'"
        self._spark.sql(f"CALL `{self._catalog}`.system.{procedure}({table})").collect()

    def _name(self, name: str) -> str:
        return f"`{self._catalog}`.`{self._namespace}`.`{name}`"


def _folder_catalog(spark: "SparkSession", folder: str) -> str:
    """Have this session know a folder as a catalog; returns its name."""
    name = f"kplan_{hashlib.sha256(folder.encode()).hexdigest()[:12]}"
    for key, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "hadoop",
        ".warehouse": folder,
    }.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    return name


def _catalog_error(catalog: str, failure: Exception, spark: str) -> FleetError:
    lines = [each.strip(": ") for each in str(failure).splitlines() if each.strip()]
    reason = next((each for each in lines if not each.startswith(_PY4J_HEAD)), "")
    if "plugin class" in reason:
        return FleetError(
            "The Spark at work knows no Iceberg tables.", ICEBERG_RUNTIME.start_hint(spark)
        )
    name = catalog.partition(".")[0]
    return FleetError(
        f"The catalog {name or 'of the store'} cannot be used: {reason}",
        f'Configure it in fleet.hcl: spark {{ conf = {{ "spark.sql.catalog.{name or "NAME"}" = '
        '"org.apache.iceberg.spark.SparkCatalog", ... } }; see kplan help fleet-platforms.',
    )


def iceberg_settings(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark for Iceberg tables, beside those in `conf`.

    Raises FleetError where no Iceberg runs on this Spark.
    """
    extensions = "spark.sql.extensions"
    own = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    found = {extensions: append_setting(conf, extensions, own)}
    return {**found, **ICEBERG_RUNTIME.settings(conf, environ)}
