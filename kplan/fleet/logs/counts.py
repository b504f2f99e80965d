"""How many requests and malformed lines there are of each log, by what is kept of its parts."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kplan.fleet.dataframe import utc_text
from kplan.fleet.logs.part import Log, LogPart
from kplan.model.table import Cell, FigureTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MALFORMED_LOGS = 20
"""Logs with malformed lines that one answer names."""
LOG_KEYS = ("cluster", "source", "file")


class LogCount(NamedTuple):
    """The requests and the malformed lines that are kept of a log; `file` is its id.

    The times of the first and the last request are ISO 8601 in UTC, "" without one. `others` counts
    the lines of other loggers, of which nothing is kept.
    """

    cluster: str
    source: str
    file: str
    requests: int
    malformed: int
    first_at: str
    last_at: str
    others: int = 0

    @property
    def lines(self) -> int:
        """Count all lines but those of other loggers."""
        return self.requests + self.malformed

    @property
    def line_count(self) -> "LineCount":
        """Return its lines without what they are about."""
        return LineCount(self.cluster, self.source, self.lines, self.malformed, self.others)


class LineCount(NamedTuple):
    """How many lines were read of a log, and how many of them are malformed.

    `others` are those of other loggers, which are none of its `lines`.
    """

    cluster: str
    source: str
    lines: int
    malformed: int
    others: int = 0

    @property
    def share(self) -> float:
        """Return the part of the lines that is malformed."""
        return self.malformed / self.lines if self.lines else 0.0


def add_counts(cluster: str, source: str, counts: Iterable[LineCount]) -> LineCount:
    """Add up the lines of what is one log."""
    found = [each[2:] for each in counts]
    return LineCount(cluster, source, *map(sum, zip(*found, strict=True)))


def count_rows(rows: "DataFrame", keys: Sequence[str]) -> "DataFrame":
    """Count what rows of logs hold: the keys, then what a `LogCount` has of it."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    is_request, count = F.col("line").isNull(), F.col("count")
    times = (
        utc_text(how(F.when(is_request, F.col(name)))).alias(name)
        for how, name in ((F.min, "first_at"), (F.max, "last_at"))
    )
    return rows.groupBy(*keys).agg(
        F.sum(F.when(is_request, count).otherwise(0)).alias("requests"),
        F.sum(F.when(is_request, 0).otherwise(count)).alias("malformed"),
        *(F.coalesce(each, F.lit("")) for each in times),
    )


def count_log(log: Log) -> LogCount | None:
    """Add up the parts of a log; None where a version of kplan read one that did not count them."""
    parts = [each for each in log.parts if each.lines]
    if not all(each.is_counted for each in parts):
        return None
    return LogCount(
        *(log.last.cluster, log.last.source, log.last.file),
        sum(each.requests for each in parts),
        sum(each.malformed for each in parts),
        min((each.first_at for each in parts if each.first_at), default=""),
        max((each.last_at for each in parts), default=""),
        sum(each.others for each in log.parts),
    )


def count_parts(parts: Iterable[LogPart], counted: Iterable[Sequence[Any]]) -> list[LogPart]:
    """Note on parts of one attempt what `count_rows` gives of them by `part`."""
    found = {number: counts for number, *counts in counted}
    names = ("requests", "malformed", "first_at", "last_at")
    return [
        replace(each, **dict(zip(names, found.get(each.part, (0, 0, "", "")), strict=True)))
        for each in parts
    ]


def count_lineage(counts: Iterable[LogCount]) -> dict[str, str]:
    """Say, for the lineage of figures, of which logs they were made: as `requests.log_lineage`."""
    found = [each for each in counts if each.requests]
    return {
        "logs": str(len({(each.cluster, each.source) for each in found})),
        "logged_requests": str(sum(each.requests for each in found)),
        "requests_from": min((each.first_at for each in found), default=""),
        "requests_to": max((each.last_at for each in found), default=""),
    }


def request_table(counts: Iterable[LogCount], limit: int) -> FigureTable:
    """Tell of each file how many requests it has, and the times of the first and the last."""
    rows = (
        (
            *place,
            sum(each.requests for each in own),
            min(each.first_at for each in own),
            max(each.last_at for each in own),
        )
        for place, own in _by_file(each for each in counts if each.requests)
    )
    return _table("requests", ("requests", "first_at", "last_at"), rows, limit)


def malformed_table(counts: Iterable[LogCount], limit: int) -> FigureTable:
    """Tell of each file how many of its lines are none of the authorizer's."""
    rows = (
        (*place, sum(each.malformed for each in own))
        for place, own in _by_file(each for each in counts if each.malformed)
    )
    return _table("malformed_lines", ("lines",), rows, limit)


def other_table(counts: Iterable[LogCount], limit: int) -> FigureTable:
    """Tell of each file how many of its lines are of other loggers."""
    rows = (
        (*place, sum(each.others for each in own))
        for place, own in _by_file(each for each in counts if each.others)
    )
    return _table("other_lines", ("lines",), rows, limit)


def silent_clusters(counts: Iterable[LogCount]) -> Iterator[tuple[str, int]]:
    """Name the clusters all of whose lines are of other loggers, and count these."""
    found: dict[str, list[LogCount]] = {}
    for each in counts:
        found.setdefault(each.cluster, []).append(each)
    for cluster, own in sorted(found.items()):
        others = sum(each.others for each in own)
        if others and not any(each.lines for each in own):
            yield cluster, others


def malformed_files(
    counts: Iterable[LogCount], files: Collection[tuple[str, str]], share: float
) -> list[LineCount]:
    """List the log files with more than this share of malformed lines, the worst first.

    In: also the logs that are judged, by cluster and id.
    """
    judged = (each for each in counts if (each.cluster, each.file) in files)
    found = [
        add_counts(*place, (each.line_count for each in own)) for place, own in _by_file(judged)
    ]
    worst = sorted(
        (each for each in found if each.share > share), key=lambda each: (-each.share, each)
    )
    return worst[:MALFORMED_LOGS]


def line_examples(malformed: "DataFrame", log: LineCount) -> tuple[str, ...]:
    """Return some of the malformed lines of a log, which may be a topic."""
    from pyspark.sql import functions as F  # noqa: N812

    source = F.col("source")
    is_own = (source == log.source) | source.startswith(f"{log.source}/")
    own = malformed.where((F.col("cluster") == log.cluster) & is_own)
    return tuple(row["line"] for row in own.select("line").limit(3).collect())


def _by_file(counts: Iterable[LogCount]) -> Iterator[tuple[tuple[str, str], list[LogCount]]]:
    """Group by cluster and file: a name may have had several logs."""
    for place, own in groupby(sorted(counts), key=lambda each: (each.cluster, each.source)):
        yield place, list(own)


def _table(
    name: str, columns: Sequence[str], rows: Iterable[tuple[Cell, ...]], limit: int
) -> FigureTable:
    found = tuple(rows)
    place = ("cluster", "source")
    return FigureTable(name, (*place, *columns), found[:limit], is_truncated=len(found) > limit)
