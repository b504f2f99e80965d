"""What was read of the parts of logs: how each begins, how long it is, and what was unreadable."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.logs.content import CUT, FAILED
from kplan.fleet.logs.files import NewLines
from kplan.fleet.logs.part import LogPart, log_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
