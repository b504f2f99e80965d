"""What is put together of logs: one part for many, and what stays known without rows."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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

SMALL_LINES = 1_000_000
"""Attempts with as many lines are put together whatever there is beside them: some MB."""


def closed_log(log: Log) -> Log:
    """Leave out a last line that is open: it counts only until there is more."""
    return log._replace(parts=tuple(each for each in log.parts if not each.is_open))


def small_attempts(logs: Iterable[Log], old: Collection[tuple[str, str]] = ()) -> frozenset[str]:
    """Choose the attempts to be put together: those that are small beside what is smaller still.

    One with many lines stays as it is until there are half as many beside it: what is put together
    every day is then not the whole history. Those with `old` logs, by cluster and id, are always
    put together, and those between two of one log.
    """
    logs = list(logs)
    sizes: Counter[str] = Counter()
    chosen: set[str] = set()
    for log in logs:
        for part in log.parts:
            sizes[part.attempt] += part.lines
            if (log.last.cluster, log.last.file) in old:
                chosen.add(part.attempt)
    smaller = 0
    order = sorted(sizes, key=lambda each: (sizes[each], each))
    for at, attempt in enumerate(order):
        if sizes[attempt] <= max(SMALL_LINES, 2 * smaller):
            chosen.update(order[: at + 1])
        smaller += sizes[attempt]
    count = 0
    while count < len(chosen):
        count = len(chosen)
        for log in logs:
            run = chosen_run(log, chosen)
            chosen.update(part.attempt for part in (run.parts if run else ()))
    return frozenset(chosen)


def chosen_run(log: Log, attempts: Collection[str]) -> Log | None:
    """Return the parts of a log from the first to the last of some attempts; None is that none is.

    What has no lines before them, as what was removed, goes with them.
    """
    places = [at for at, part in enumerate(log.parts) if part.attempt in attempts]
    if not places:
        return None
    begin, end = places[0], places[-1] + 1
    if not any(part.lines or part.others for part in log.parts[:begin]):
        begin = 0
    return Log(log.parts[begin:end], log.last if end == len(log.parts) else log.parts[end - 1])


def merge_log(log: Log, part: int) -> LogPart:
    """Return the one part that says what all parts of a log do that is closed."""
    start = min(each.start for each in log.parts)
    others = sum(each.others for each in log.parts)
    read_at = max(map(read_time, (*log.parts, log.last)))
    return replace(
        log.last, part=part, start=start, lines=log.lines, others=others, read_at=read_at
    )


def known_logs(
    parts: Sequence[LogPart],
    logs: Sequence[Log],
    merged: Sequence[LogPart],
    staying: Sequence[Log] = (),
) -> list[LogPart]:
    """Say what stays known of logs without rows: how they were, and that they were removed.

    In: the logs that are put together, and what of them is; those of which nothing is. A file of a
    removed log tells which one it is, as long as its name is of no other log: it may be renamed,
    and is not read again.
    """
    kept = {(each.cluster, each.file) for each in merged}
    lost = [each for each in logs if (each.last.cluster, each.last.file) not in kept]
    removed, gone = [remove_log(each, parts) for each in lost], [each.last for each in lost]
    ends = [replace(each, start=each.end, lines=0) for each in gone if each.is_topic]
    names = [each.last for each in staying if each.last not in each.parts]
    ends = [replace(each, part=at) for at, each in enumerate([*ends, *names], len(merged))]
    known = latest_parts(parts)
    for part in (*merged, *gone, *(each.last for each in staying)):
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
