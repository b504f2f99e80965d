"""Files of authorizer logs: which are new, and which is which after a rotation."""

import hashlib
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.audit_topic import KAFKA_SCHEME
from kplan.fleet.session import failure_reason
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READER_VERSION = 1
"""It goes up when logs that were read before would be read otherwise today."""
_COMPRESSED_SUFFIX = re.compile(r"[.](gz|bz2|zst|lz4|snappy|deflate)$")
_LOG_NAME = re.compile(r".*?[.]log(?=[.-][^/]*$|$)", re.DOTALL)
_GLOB_CHARACTERS = re.compile(r"([\\*?\[\]{}])")
"""What has a meaning in patterns of Hadoop's file systems."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file. `source` is what rows call it; `stamp` differs when it is to be read again."""

    path: str
    source: str
    stamp: str


class LogStart(NamedTuple):
    """What a log begins with: its first request with its time, None where it has none."""

    cluster: str
    source: str
    first: str | None
    lines: int


def list_log_files(
    spark: "SparkSession", cluster: str, patterns: Sequence[str], time_zone: str = ""
) -> list[LogFile]:
    """List the files that patterns fit, as Spark sees them, by name.

    Raises:
        FleetError: one fits nothing, or a folder cannot be read.

    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    changed = F.unix_millis("modificationTime")
    try:
        rows = (
            spark.read.format("binaryFile")
            .load(list(patterns))
            .select("path", "_metadata.file_path", "length", changed.alias("changed_ms"))
            .collect()
        )
    except AnalysisException as failure:
        path = (failure.getMessageParameters() or {}).get("path", "")
        told = f"there is no log {path}" if path else failure_reason(failure)
        raise FleetError(f"Cluster {cluster}: {told}.") from failure
    except Exception as failure:
        raise FleetError(f"Cluster {cluster}: {failure_reason(failure)}") from failure
    found = (
        LogFile(
            row.path, row.file_path, f"{row.length} {row.changed_ms} {time_zone} {_READER_VERSION}"
        )
        for row in rows
    )
    return sorted(found, key=lambda each: each.source)


def new_log_files(logs: Sequence[LogFile], known: Collection[tuple[str, str]]) -> list[LogFile]:
    """Leave out what was read as it is; `known` are source and stamp of what was."""
    return [each for each in logs if (each.source, each.stamp) not in known]


def read_lines(spark: "SparkSession", cluster: str, logs: Sequence[LogFile]) -> "DataFrame":
    """Read log files, plain or packed: cluster, source, line."""
    from pyspark.sql import functions as F  # noqa: N812

    read = spark.read.text([_GLOB_CHARACTERS.sub(r"\\\1", each.path) for each in logs])
    return read.select(
        F.lit(cluster).alias("cluster"),
        F.col("_metadata.file_path").alias("source"),
        F.col("value").alias("line"),
    )


def log_starts(parsed: "DataFrame") -> list[LogStart]:
    """Return of each log what it begins with and how long it is; in: what `audit.parsed` gives."""
    from pyspark.sql import functions as F  # noqa: N812

    first = F.concat_ws("\n", F.col("first_at").cast("string"), "text")
    rows = (
        parsed.groupBy("cluster", "source")
        .agg(F.min(F.when(F.col("is_whole"), first)), F.sum("count"))
        .collect()
    )
    return [LogStart(*row) for row in rows]


def log_file_ids(found: Sequence[LogStart]) -> dict[tuple[str, str], str]:
    """Name each log by what stays when it grows, is rotated or packed: by cluster and source.

    That is its name up to `.log` and its first request: what `authorizer.log` began with is in
    `authorizer.log.1.gz` the day after. Of two that are the same, as while one is packed, only the
    longer one is there.
    """
    longest: dict[tuple[str, str], LogStart] = {}
    for each in sorted(found, key=lambda each: (each.lines, each.source)):
        longest[each.cluster, _log_id(each)] = each
    return {(each.cluster, each.source): file for (_, file), each in longest.items()}


def _log_id(start: LogStart) -> str:
    name = start.source
    if start.first is not None and not name.startswith(KAFKA_SCHEME):
        stem = _LOG_NAME.match(_COMPRESSED_SUFFIX.sub("", name))
        name = f"{stem[0] if stem else name}\n{start.first}"
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
