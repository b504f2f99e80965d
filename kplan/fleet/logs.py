"""The files of authorizer logs: which were not read yet, and which is which after a rotation."""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.engine import first_line
from kplan.fleet.topics import SCHEME
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READING = 1
"""It goes up when logs that were read before would be read otherwise today."""
_PACKED = re.compile(r"[.](gz|bz2|zst|lz4|snappy|deflate)$")
_STEM = re.compile(r".*?[.]log(?=[.-][^/]*$|$)", re.DOTALL)
_SPECIAL = re.compile(r"([\\*?\[\]{}])")
"""What has a meaning in patterns of Hadoop's file systems."""


@dataclass(frozen=True, slots=True)
class Log:
    """One file. `source` is what rows call it; `stamp` differs when it is to be read again."""

    path: str
    source: str
    stamp: str


class Start(NamedTuple):
    """What a log begins with: its first request with its time, None where it has none."""

    cluster: str
    source: str
    first: str | None
    lines: int


def logs_of(
    spark: "SparkSession", cluster: str, patterns: Sequence[str], time_zone: str = ""
) -> list[Log]:
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
        told = f"there is no log {path}" if path else first_line(failure)
        raise FleetError(f"Cluster {cluster}: {told}.") from failure
    except Exception as failure:
        raise FleetError(f"Cluster {cluster}: {first_line(failure)}") from failure
    found = (
        Log(row.path, row.file_path, f"{row.length} {row.changed_ms} {time_zone} {_READING}")
        for row in rows
    )
    return sorted(found, key=lambda each: each.source)


def unread(logs: Sequence[Log], known: Collection[tuple[str, str]]) -> list[Log]:
    """Leave out what was read as it is; `known` are source and stamp of what was."""
    return [each for each in logs if (each.source, each.stamp) not in known]


def lines(spark: "SparkSession", cluster: str, logs: Sequence[Log]) -> "DataFrame":
    """Read log files, plain or packed: cluster, source, line."""
    from pyspark.sql import functions as F  # noqa: N812

    read = spark.read.text([_SPECIAL.sub(r"\\\1", each.path) for each in logs])
    return read.select(
        F.lit(cluster).alias("cluster"),
        F.col("_metadata.file_path").alias("source"),
        F.col("value").alias("line"),
    )


def starts(parsed: "DataFrame") -> list[Start]:
    """Tell of each log what it begins with and how long it is; in: what `audit.parsed` gives."""
    from pyspark.sql import functions as F  # noqa: N812

    first = F.concat_ws("\n", F.col("first_at").cast("string"), "text")
    rows = (
        parsed.groupBy("cluster", "source")
        .agg(F.min(F.when(F.col("is_whole"), first)), F.sum("count"))
        .collect()
    )
    return [Start(*row) for row in rows]


def files(found: Sequence[Start]) -> dict[tuple[str, str], str]:
    """Name each log by what stays when it grows, is rotated or packed: by cluster and source.

    That is its name up to `.log` and its first request: what `authorizer.log` began with is in
    `authorizer.log.1.gz` the day after. Of two that are the same, as while one is packed, only the
    longer one is there.
    """
    longest: dict[tuple[str, str], Start] = {}
    for each in sorted(found, key=lambda each: (each.lines, each.source)):
        longest[each.cluster, _digest(each)] = each
    return {(each.cluster, each.source): file for (_, file), each in longest.items()}


def _digest(start: Start) -> str:
    name = start.source
    if start.first is not None and not name.startswith(SCHEME):
        stem = _STEM.match(_PACKED.sub("", name))
        name = f"{stem[0] if stem else name}\n{start.first}"
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
