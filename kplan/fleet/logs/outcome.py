"""What was read of the parts of logs: how each begins, how long it is, and what was unreadable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.compat import names_unreadable_files
from kplan.fleet.logs.content import CUT, FAILED
from kplan.fleet.logs.files import NewLines
from kplan.fleet.logs.part import LogPart, escape_pattern, log_id
from kplan.fleet.spark.errors import is_failed_task, unreadable_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PartStart(NamedTuple):
    """What a part begins with: its first request with its time, None where it has none.

    `lines` counts all of it, `malformed` those of them that are none of the authorizer's.
    """

    part: int
    first: str | None
    lines: int
    malformed: int
    reason: str | None


def part_starts(parsed: "DataFrame") -> list[PartStart]:
    """Return of each part what it begins with and how long it is; in: what `parse_lines` gives."""
    from pyspark.sql import functions as F  # noqa: N812

    first = F.concat_ws("\n", F.col("first_at").cast("string"), "text")
    rows = (
        parsed.groupBy("part")
        .agg(
            F.min(F.when(F.col("is_whole"), first)),
            F.sum("count"),
            F.sum(F.when(F.col("is_whole"), 0).otherwise(F.col("count"))),
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
    firsts = [each.first for each in (closed, last) if each is not None and each.first is not None]
    # Once a log was known by its earliest request, which is not there yet where lines come late.
    file = part.file or log_id(part.source, min(firsts, default=None))
    if firsts and not part.file and file not in new.known:
        file = new.names.get(part.part, file)
    whole = replace(part, file=file, lines=closed.lines if closed else 0)
    yield whole
    if last is not None:
        yield replace(whole, part=part.part + 1, start=whole.end, lines=last.lines, is_open=True)


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
        spark.read.text([*map(escape_pattern, sources)]).count()
    except Exception as failure:
        if is_failed_task(failure):
            return False
        raise
    return True
