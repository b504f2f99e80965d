"""Parts of logs that were read, and which of them count.

An attempt at reading logs keeps one line for each part: from which byte (of topics: record) to
which, and checksums by which the log is known again when it has grown or has another name. Parts
that two readers kept at once, and logs that were read again as a whole, are sorted out here, so
that no writer has to wait for another or to remove anything.
"""

import hashlib
import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from kplan.fleet.logs.known_end import HEAD_BYTES, UNKNOWN_END
from kplan.model.dataclass import dataclass
from kplan.model.log_layout import KAFKA_SCHEME

READER_VERSION = 5
"""It goes up when logs that were read before would be read otherwise today."""
ZONED_READER_VERSION = 6
"""That of logs with a time zone, which goes up with the other one: since 4 by days in UTC."""
LOG_FORMAT = 1
_COMPRESSED_SUFFIX = re.compile(r"[.](gz|bz2|zst|lz4|snappy|deflate)$")
_LOG_NAME = re.compile(r".*?[.]log(?=[.-][^/]*$|$)", re.DOTALL)
NO_ROWS = -1
UNKNOWN_COUNT = -1


@dataclass(frozen=True, slots=True)
class LogPart:
    """What was read of a log, from `start` up to but not `end`.

    `part` numbers the rows of its attempt that are of it. `end` is UNKNOWN_END where it cannot be
    read on from there; `start` is NO_ROWS where the log is only known, and nothing counts that was
    kept of its `file` before `until`. A last line without its end `is_open`, and counts until there
    is more. `head` and `tail` are checksums of the first `head_length` bytes and of those before
    the end; of a topic `head` is Kafka's id, "" of an earlier version. `damage` says why not all of
    a file could be read, "" where it could; None is that a version of kplan read it that did not
    keep this. `requests` and `malformed` are how many of its lines are kept as such, UNKNOWN_COUNT
    of an earlier version; the times of these requests are ISO 8601 in UTC. Lines of other loggers,
    `others`, are none of its `lines`. What was put together was read at `read_at`, before `at`; ""
    is that they are the same.
    """

    cluster: str
    source: str
    stamp: str = ""
    file: str = ""
    part: int = 0
    start: int = 0
    end: int = UNKNOWN_END
    lines: int = 0
    is_open: bool = False
    head_length: int = 0
    head: str = ""
    tail: str = ""
    attempt: str = ""
    at: str = ""
    format: int = LOG_FORMAT
    damage: str | None = ""
    until: str = ""
    requests: int = UNKNOWN_COUNT
    malformed: int = UNKNOWN_COUNT
    first_at: str = ""
    last_at: str = ""
    others: int = 0
    read_at: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether it is known how many requests and malformed lines are kept of it."""
        return UNKNOWN_COUNT not in (self.requests, self.malformed)

    @property
    def is_topic(self) -> bool:
        """Whether it is of a partition of a topic."""
        return self.source.startswith(KAFKA_SCHEME)

    @property
    def settings(self) -> str:
        """Return the time zone and the reader that it was read with."""
        return self.stamp.split(" ", 2)[-1]

    @property
    def time_zone(self) -> str:
        """Return the time zone of its lines that name none; "" is UTC."""
        return self.settings.split(" ", 1)[0]


LOG_SCHEMA = ", ".join(
    f"{each.name} {'boolean' if each.type is bool else 'long' if each.type is int else 'string'}"
    for each in fields(LogPart)
)


class Log(NamedTuple):
    """A log as its parts make it; `last` is the one that its name, stamp and end are of."""

    parts: tuple[LogPart, ...]
    last: LogPart

    @property
    def lines(self) -> int:
        """Count its lines, all of them."""
        return sum(each.lines for each in self.parts)


def log_stem(source: str) -> str:
    """Return what stays of the name of a log when it is rotated or packed: up to `.log`."""
    name = _COMPRESSED_SUFFIX.sub("", source)
    stem = _LOG_NAME.match(name)
    return stem[0] if stem else name


def log_id(source: str, first: str | None) -> str:
    """Name a log by its name up to `.log` and its first line, by its name alone without a request.

    What `authorizer.log` began with is in `authorizer.log.1.gz` the day after.
    """
    is_named = first is None or source.startswith(KAFKA_SCHEME)
    name = source if is_named else f"{log_stem(source)}\n{first}"
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def live_logs(parts: Iterable[LogPart]) -> list[Log]:
    """List the logs, each with the parts of it that count."""
    parts = list(parts)
    removed = log_removals(parts)
    every = [
        each
        for each in parts
        if not _is_removal(each)
        and ((gone := removed.get((each.cluster, each.file))) is None or each.at >= gone.until)
    ]
    read = _without_older_reads(_without_older_names(every, parts))
    ordered = sorted(read, key=lambda each: (each.cluster, each.file))
    logs = [
        _live_log(list(own), removed.get(place))
        for place, own in groupby(ordered, key=lambda each: (each.cluster, each.file))
    ]
    lines = [p for log in logs for p in log.parts if p.is_open and has_name_of_file(p)]
    copies = {_beginnings(p)[-1]: p for p in sorted(lines, key=_age)}  # of files not truncated yet
    if len(copies) == len(lines):
        return logs
    older = {*lines} - {*copies.values()}
    return [log._replace(parts=tuple(p for p in log.parts if p not in older)) for log in logs]


def _without_older_names(parts: Iterable[LogPart], every: Iterable[LogPart]) -> list[LogPart]:
    """Leave out what was kept of a file before it had a request, where it was read again since.

    Such a log has the name of its file. With a request it has another one, and is read from its
    beginning, also where it was renamed meanwhile: then it begins with the same bytes.
    """
    named = {each: _beginnings(each) for each in parts if has_name_of_file(each)}
    begun: dict[tuple[str, ...], dict[str, str]] = {
        place: {} for places in named.values() for place in places
    }
    for each in sorted(every, key=_age):
        if each.start == 0 and not (each.is_topic or each.damage):
            for place in _beginnings(each):
                if place in begun:
                    begun[place][each.file] = read_time(each)
    return [
        each
        for each in parts
        if not any(
            file != each.file and at > read_time(each)
            for place in named.get(each, ())
            for file, at in begun[place].items()
        )
    ]


def has_name_of_file(part: LogPart) -> bool:
    """Whether it had no request: then its log has the name of its file."""
    return not part.is_topic and part.file == log_id(part.source, None)


def _without_older_reads(parts: Sequence[LogPart]) -> list[LogPart]:
    """Leave out what another reader made of the same bytes of a file.

    A log is named after its first request, which a newer one may read otherwise. Then no earlier
    reading of that file counts as the log that it was, also of when it was shorter.
    """
    begun = {_contents(each): each for each in sorted(parts, key=_age) if _is_whole(each)}
    since: dict[tuple[str, str, str], tuple[str, str, str, int]] = {}
    for each in filter(_is_whole, parts):
        last = begun[_contents(each)]
        if last.file != each.file and last.settings != each.settings:
            place = each.cluster, each.source, each.file
            since[place] = max(_age(last), since.get(place, _age(last)))
    return [
        each
        for each in parts
        if not _is_whole(each)
        or (last_age := since.get((each.cluster, each.source, each.file))) is None
        or _age(each) > last_age
    ]


def _is_whole(part: LogPart) -> bool:
    return part.start == 0 and not part.is_topic and bool(part.stamp)


def _contents(part: LogPart) -> tuple[str, ...]:
    """Return what is the same as long as a file is not changed, whoever reads it."""
    return (part.cluster, part.source, *part.stamp.split(" ", 2)[:2])


def _beginnings(part: LogPart) -> list[tuple[str, ...]]:
    """Return what tells that two files are the same one, before and after it is renamed.

    That is all of its bytes, where these are few: of long ones `StoredLogs` knows more. It is its
    length and time where Spark read it, which others may have that were copied at once.
    """
    renamed = part.cluster, log_stem(part.source)
    found: list[tuple[str, ...]] = [(part.cluster, part.source)]
    if 0 < part.head_length < HEAD_BYTES:
        found.append((*renamed, part.head, str(part.head_length)))
    elif part.stamp and not part.head_length:
        found.append((*renamed, *part.stamp.split(" ", 2)[:2]))
    return found


def known_stamps(parts: Iterable[LogPart]) -> dict[tuple[str, str], str]:
    """Return how each log was when it was read last, by cluster and source.

    Compressed ones of which it is not known whether they are damaged are left out: they are to be
    read again, once, unless they were removed.
    """
    return {
        place: each.stamp
        for place, each in latest_parts(parts).items()
        if each.damage is not None
        or _is_removal(each)
        or not _COMPRESSED_SUFFIX.search(each.source)
    }


def latest_parts(parts: Iterable[LogPart]) -> dict[tuple[str, str], LogPart]:
    """Return what was read last of each log with a stamp, by cluster and source."""
    return {(each.cluster, each.source): each for each in sorted(parts, key=_age) if each.stamp}


def current_logs(logs: Iterable[Log]) -> dict[tuple[str, str], str]:
    """Return the id of the log that each file has now, by cluster and source."""
    found = sorted((each.last for each in logs), key=_age)
    return {(each.cluster, each.source): each.file for each in found}


def remove_log(log: Log, parts: Iterable[LogPart]) -> LogPart:
    """Return what says that a log was removed: those of its parts that are given, and no others.

    Those that are kept meanwhile are later.
    """
    place = log.last.cluster, log.last.file
    last = max(each.at for each in parts if (each.cluster, each.file) == place)
    at = datetime.fromisoformat(last) if last else datetime.min.replace(tzinfo=UTC)
    until = (at + timedelta(microseconds=1)).isoformat(timespec="microseconds")
    return replace(log.last, start=NO_ROWS, lines=0, others=0, until=until, read_at="")


def log_removals(parts: Iterable[LogPart]) -> dict[tuple[str, str], LogPart]:
    """Return what says of logs that they were removed, the last of each, by cluster and id."""
    found = [replace(each, until=each.until or each.at) for each in parts if _is_removal(each)]
    return {(each.cluster, each.file): each for each in sorted(found, key=lambda e: e.until)}


def removed_logs(parts: Sequence[LogPart]) -> list[LogPart]:
    """List what says of logs that they were removed, as long as there is something of them.

    There is one line of each log, however often it was removed: every compaction writes it again.
    """
    files = {(each.cluster, each.file) for each in parts if not _is_removal(each)}
    removed = log_removals(parts)
    return [each for place, each in removed.items() if each.file and place in files]


def _age(part: LogPart) -> tuple[str, str, str, int]:
    return read_time(part), part.at, part.attempt, part.part


def read_time(part: LogPart) -> str:
    """Return when it was read: others may be, while it is put together."""
    return part.read_at or part.at


def _is_removal(part: LogPart) -> bool:
    return part.start == NO_ROWS


def _live_log(own: Sequence[LogPart], removal: LogPart | None) -> Log:
    """Choose, among what was kept of one log, what is longest; of equals the latest.

    What was read again by another reader wins if it goes as far, however few lines that one counts.
    Of a log without a request all is read each time; with the name of its file the latest counts,
    because another file may have that name now.
    What was read on from where a file ended that was removed meanwhile follows its removal.
    """
    own = sorted(own, key=_age)
    closed = [each for each in own if not each.is_open]
    if own[0].is_topic:
        # Of what kplan up to 0.3 kept of a topic it is not known where it ends.
        begins = [_longest_chain(closed[::-1]) or closed[-1:]]
    elif has_name_of_file(own[0]):
        begins = [closed[-1:]] if closed else []
    else:
        firsts = [each for each in closed if each.start == 0 and not _is_packed_name(each)]
        begins = [_longest_chain(closed[::-1], each) for each in firsts]
        rest = [] if removal is None else _longest_chain(closed[::-1], replace(removal, start=0))
        begins += [rest] if len(rest) > 1 else []
    chains = [_whole_log(each, own) for each in begins]
    if not chains:
        return Log((), own[-1])
    found = max(chains, key=lambda each: (each.lines, _age(each.parts[0])))
    again = [each for each in chains if _is_read_again(each, found)]
    return max(again, key=lambda each: _age(each.parts[0]), default=found)


def _is_read_again(log: Log, before: Log) -> bool:
    return (
        log.parts[0].settings != before.parts[0].settings
        and _age(log.parts[0]) > _age(before.parts[0])
        and log.last.end >= before.last.end
        and not log.last.damage
    )


def _whole_log(chain: Sequence[LogPart], own: Sequence[LogPart]) -> Log:
    """Add to parts that follow each other other names of the log, and a last line that is open.

    A part of no length is another name, and one without lines of a packed log.
    """
    first, end = chain[0], chain[-1].end
    names = [
        each
        for each in own
        if (each.start == each.end == end > 0 and not each.is_open)
        or (end == UNKNOWN_END and _is_packed_name(each))
    ]
    still = [
        each
        for each in own
        if each.is_open and each.start == end and each.settings == first.settings
    ]
    parts = [first, *(each for each in chain[1:] if each.lines or each.others), *still[-1:]]
    return Log(tuple(parts), [*chain, *names][-1])


def _is_packed_name(part: LogPart) -> bool:
    return part.end == UNKNOWN_END and not (part.lines or part.others)


class _Chain(NamedTuple):
    """Parts that follow each other, by the last of them, and how much they cover."""

    covered: int
    last: LogPart
    before: "_Chain | None" = None


def _longest_chain(parts: Iterable[LogPart], first: LogPart | None = None) -> list[LogPart]:
    """Return the parts that follow each other, from `first` on if given, and cover most.

    What two readers kept at once overlaps, and counts once: that is taken from which most follows.
    Without a `first`, in topics, records may be gone before they were read. Of equal parts the one
    that is given first counts.
    """
    best: dict[int, _Chain] = {}  # by the end: in the order of starts each is final when it is met
    ends: list[int] = []
    longest: _Chain | None = None  # of those that end where the part at hand starts, or before it
    if first is not None:
        longest = best[first.end] = _Chain(0, first)
    for each in sorted(parts, key=lambda each: (each.start, -each.end)):
        while first is None and ends and ends[0] <= each.start:
            longest = _longer(longest, best[heapq.heappop(ends)])
        before = longest if first is None else best.get(each.start)
        if each.end < each.start or (first is not None and (each.end == each.start or not before)):
            continue
        covered = each.end - each.start + (before.covered if before else 0)
        known = best.get(each.end)
        if known is None:
            heapq.heappush(ends, each.end)
        if known is None or covered > known.covered:
            best[each.end] = _Chain(covered, each, before)
    found = max(best.values(), key=lambda each: (each.covered, each.last.end), default=None)
    chain: list[LogPart] = []
    while found is not None:
        chain.append(found.last)
        found = found.before
    return chain[::-1]


def _longer(one: _Chain | None, other: _Chain) -> _Chain:
    return one if one is not None and one.covered > other.covered else other
