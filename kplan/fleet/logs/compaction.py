"""What is put together of logs: one part for many, and what stays known without rows."""

from collections.abc import Sequence
from dataclasses import replace

from kplan.fleet.logs.part import (
    NO_ROWS,
    Log,
    LogPart,
    latest_parts,
    log_removals,
    read_time,
    remove_log,
    removed_logs,
)


def closed_log(log: Log) -> Log:
    """Leave out a last line that is open: it counts only until there is more."""
    return log._replace(parts=tuple(each for each in log.parts if not each.is_open))


def merge_log(log: Log, part: int) -> LogPart:
    """Return the one part that says what all parts of a log do that is closed."""
    start = min(each.start for each in log.parts)
    start = start if log.last.is_topic else 0
    others = sum(each.others for each in log.parts)
    read_at = max(map(read_time, (*log.parts, log.last)))
    return replace(
        log.last, part=part, start=start, lines=log.lines, others=others, read_at=read_at
    )


def known_logs(
    parts: Sequence[LogPart], logs: Sequence[Log], merged: Sequence[LogPart]
) -> list[LogPart]:
    """Say what stays known of logs without rows: how they were, and that they were removed.

    A file of a removed log tells which one it is, as long as its name is of no other log: it may be
    renamed, and is not read again.
    """
    kept = {(each.cluster, each.file) for each in merged}
    lost = [each for each in logs if (each.last.cluster, each.last.file) not in kept]
    removed, gone = [remove_log(each, parts) for each in lost], [each.last for each in lost]
    ends = [replace(each, start=each.end, lines=0) for each in gone if each.is_topic]
    ends = [replace(each, part=at) for at, each in enumerate(ends, len(merged))]
    known = latest_parts(parts)
    for part in (*merged, *gone):
        known.pop((part.cluster, part.source), None)
    were = log_removals(each for each in parts if each.file)
    stamps = [
        replace(
            were.get((each.cluster, each.file), LogPart(*place, start=NO_ROWS)),
            **{name: getattr(each, name) for name in ("source", "stamp", "damage")},
        )
        for place, each in sorted(known.items())
    ]
    named = {(each.cluster, each.file) for each in (*removed, *stamps)}
    earlier = [each for each in removed_logs(parts) if (each.cluster, each.file) not in named]
    return [*earlier, *removed, *ends, *stamps]
