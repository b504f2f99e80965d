"""What was read of the parts of logs: how each begins, how long it is, and what was unreadable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.compat import names_unreadable_files
from kplan.fleet.dataframe import utc_text
from kplan.fleet.logs.content import CUT, FAILED, LINE_LIMIT
from kplan.fleet.logs.counts import LineCount
from kplan.fleet.logs.file_names import escape_pattern
from kplan.fleet.logs.files import NewLines
from kplan.fleet.logs.layout import utc_time
from kplan.fleet.logs.part import LogPart, log_id
from kplan.fleet.spark.errors import is_failed_task, unreadable_file
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class UnreadableLog(FleetError):  # noqa: N818 - what it is of
    """A log cannot be read by Spark: it is cut, or packed otherwise than its name says."""

    def __init__(self, source: str, text: str) -> None:
        super().__init__(f"A log cannot be read. {text}")
        self.source = source


class Added(NamedTuple):
    """What was kept of logs: their parts that were read.

    `reasons` tells, by `CLUSTER: SOURCE`, what could not be read, or not to its end.
    """

    parts: Sequence[LogPart] = ()
    reasons: Mapping[str, str] = MappingProxyType({})

    @property
    def lines(self) -> int:
        """Count the lines."""
        return sum(each.lines for each in self.parts)

    @property
    def malformed(self) -> int:
        """Count the lines that are none of the authorizer's."""
        return sum(each.malformed for each in self.parts)

    @property
    def others(self) -> int:
        """Count the lines of other loggers, which are none of `lines`."""
        return sum(each.others for each in self.parts)

    @property
    def counts(self) -> list[LineCount]:
        """Count the lines of each part."""
        return [
            LineCount(each.cluster, each.source, each.lines, each.malformed, each.others)
            for each in self.parts
        ]


class PartStart(NamedTuple):
    """What a part begins with: its first request with its time, None where it has none.

    `lines` counts all of it but the lines of other loggers (`others`), `malformed` those of them
    that are none of the authorizer's. The times of its requests are as those of a `LogPart`.
    """

    part: int
    first: str | None
    lines: int
    malformed: int
    others: int
    first_at: str
    last_at: str
    reason: str | None


def part_starts(parsed: "DataFrame", zone: "Column | None") -> list[PartStart]:
    """Return of each part what it begins with and how long it is; in: as for `line_sums`."""
    from pyspark.sql import functions as F  # noqa: N812

    is_whole, is_other = F.col("is_whole"), F.col("is_other_logger")
    first = F.concat_ws("\n", F.col("first_at").cast("string"), "text")
    times = (
        how(F.when(is_whole, F.col(name) if zone is None else utc_time(name, zone)))
        for how, name in ((F.min, "first_at"), (F.max, "last_at"))
    )
    rows = (
        parsed.groupBy("part")
        .agg(
            F.min(F.when(is_whole, first)),
            *(
                F.sum(F.when(which, F.col("count")).otherwise(0))
                for which in (~is_other, ~is_other & ~is_whole, is_other)
            ),
            *(F.coalesce(utc_text(each), F.lit("")) for each in times),
            F.min(F.when(F.col("part") < 0, F.col("text"))),
        )
        .collect()
    )
    return [PartStart(*row) for row in rows]


def read_parts(new: NewLines, starts: Iterable[PartStart]) -> tuple[list[LogPart], dict[str, str]]:
    """Say what was read of each part, and by `CLUSTER: SOURCE` what was not, or not all of it."""
    found = {each.part: each for each in starts}
    kept: list[LogPart] = []
    reasons: dict[str, str] = {}
    for part in (*new.parts, *new.native):
        own = [found.get(-1 - n) for n in (part.part, part.part + 1)]
        result = next((each.reason for each in own if each is not None and each.reason), "")
        name = f"{part.cluster}: {part.source}"
        if result.startswith(FAILED):
            reasons[name] = result.removeprefix(FAILED)
            continue
        if result:
            damage = f"it is damaged ({result.removeprefix(CUT)}); what is before is counted"
            part = replace(part, damage=damage)  # noqa: PLW2901
        if part.damage:
            reasons[name] = part.damage
        kept += _with_open_line(part, found, new)
    return kept, reasons


def _with_open_line(
    part: LogPart, found: Mapping[int, PartStart], new: NewLines
) -> Iterator[LogPart]:
    closed, last = found.get(part.part), found.get(part.part + 1)
    # A last line that is open may have another text, and so name another log, when it is whole.
    first = None if closed is None else closed.first
    # Once a log was known by its earliest request, which is not there yet where lines come late.
    file = part.file or log_id(part.source, first)
    if first is not None and not part.file and file not in new.known:
        file = new.names.get(part.part, file)
    whole = replace(part, file=file)
    yield _with_counts(whole, closed)
    if last is not None:
        open_line = replace(whole, part=part.part + 1, start=whole.end, is_open=True)
        yield _with_counts(open_line, last)


def _with_counts(part: LogPart, start: PartStart | None) -> LogPart:
    if start is None:
        return replace(part, lines=0, requests=0, malformed=0, others=0)
    return replace(
        part,
        lines=start.lines,
        requests=start.lines - start.malformed,
        malformed=start.malformed,
        others=start.others,
        first_at=start.first_at,
        last_at=start.last_at,
    )


def unreadable_source(spark: "SparkSession", failure: Exception, parts: Sequence[LogPart]) -> str:
    """Name the file that Spark's own reader could not read, "" where another thing failed.

    Where Spark does not name it, all of `parts` are read again, and halves of them until it is
    found.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy
    from pyspark.errors import PySparkException

    if names_unreadable_files() or not (parts and is_failed_task(failure)):
        return unreadable_file(failure)
    with suppress(PySparkException, Py4JError, OSError):  # what failed first is told
        return _find_unreadable(spark, [each.source for each in parts])
    return ""


def _find_unreadable(spark: "SparkSession", sources: Sequence[str]) -> str:
    if _is_readable(spark, sources):
        return ""
    while len(sources) > 1:
        middle = len(sources) // 2
        half = sources[:middle]
        sources = sources[middle:] if _is_readable(spark, half) else half
    return sources[0]


def _is_readable(spark: "SparkSession", sources: Sequence[str]) -> bool:
    """Whether Spark reads all lines of files; raises what it does where it ends, too."""
    try:
        spark.read.options(**LINE_LIMIT).text([*map(escape_pattern, sources)]).count()
    except Exception as failure:
        if is_failed_task(failure):
            return False
        raise
    return True
