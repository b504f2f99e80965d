"""The logs that were read before, and how their files are known again under any name."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from kplan.fleet.logs.known_end import UNKNOWN_END, KnownEnd
from kplan.fleet.logs.packed import is_packed
from kplan.fleet.logs.part import (
    NO_ROWS,
    Log,
    LogPart,
    has_name_of_file,
    live_logs,
    log_removals,
    log_stem,
    remove_log,
)


class StoredLogs:
    """The logs that were read before, and how their files are known again."""

    def __init__(self, parts: Sequence[LogPart]) -> None:
        self._parts = parts
        self._logs = live_logs(parts)
        live = {(each.last.cluster, each.last.file) for each in self._logs}
        removals = log_removals(parts)
        self._removed = {k: v for k, v in removals.items() if k[1] and k not in live}
        self._nameless = {
            (each.last.cluster, each.last.file): each
            for each in self._logs
            if has_name_of_file(each.last) and each.parts
        }
        self._unchanged = {_whole_file(each.last): each for each in self._nameless.values()}
        ended = [*self._logs, *(Log((), each) for each in self._removed.values())]
        self._ends = _ends_by_stem(ended)
        self._packed = {
            _renamed_file(each): each
            for each in parts
            if (each.cluster, each.file) in live and is_packed(each.source)
        }

    @property
    def ids(self) -> frozenset[str]:
        """Return the ids of the logs of which something counts."""
        return frozenset(each.last.file for each in self._logs)

    def ends(self, cluster: str, stem: str, asked: str) -> list[tuple[KnownEnd, str]]:
        """List the ends that files may go on from, and the ids of these logs.

        In: what stays of the names, and the settings of the files. With other settings a log is
        read from its beginning again, and is still the same one.
        """
        return [
            (end if settings in {asked, ""} else end._replace(is_read_again=True), own)
            for end, own, settings in self._ends.get((cluster, stem), ())
        ]

    def name_part(
        self, part: LogPart, unchanged: Collection[tuple[str, str]]
    ) -> tuple[LogPart, LogPart | None]:
        """Say of which log a part is if that is known, and the removal of one that it replaces.

        A log that had no request is read from its beginning, and its id is to come. Under another
        name it is another log. Of several that begin with the same settings it is the one that is
        as long and as old: there may be a request in its open last line.
        """
        same = self._packed.get(_renamed_file(part))
        log = part.file if same is None else same.file
        before = self._nameless.get((part.cluster, log))
        if before is not None:
            before = self._unchanged.get(_whole_file(part), before)
        part = replace(part, file="" if before is not None else log)
        place = before and (before.last.cluster, before.last.source)
        if before is None or place in {(part.cluster, part.source), *unchanged}:
            return part, None
        return part, replace(remove_log(before, self._parts), stamp="", part=NO_ROWS)

    def packed_part(self, part: LogPart, name: str) -> LogPart | None:
        """Say what a compressed file is that is not to be read again; `name` is its id if new.

        Of a removed log there is no more, and one that was only renamed was read.
        """
        removed = self._removed.get((part.cluster, part.file or name))
        if removed is not None and removed.end == part.end == UNKNOWN_END:
            return replace(removed, source=part.source, stamp=part.stamp, part=part.part)
        same = self._packed.get(_renamed_file(part))
        is_read = same is not None and same.file == part.file
        if same is None or not is_read or same.settings != part.settings or same.damage is None:
            return None
        return replace(part, damage=same.damage)


def _renamed_file(part: LogPart) -> tuple[str, ...]:
    """Return what stays the same of a file when it is renamed, and is of no other one."""
    place = part.cluster, log_stem(part.source)
    return *place, *part.stamp.split(" ", 2)[:2], str(part.head_length), part.head


def _whole_file(part: LogPart) -> tuple[str, ...]:
    """Return what stays the same of a plain file when it is renamed, also of a long one."""
    return *_renamed_file(part), str(part.end), part.tail


class _LogEnd(NamedTuple):
    """Where a log ended; without `settings` nothing is kept of it that could be read otherwise."""

    end: KnownEnd
    file: str
    settings: str


def _ends_by_stem(logs: Iterable[Log]) -> dict[tuple[str, str], list[_LogEnd]]:
    """Say, by cluster and what stays of a name, where logs ended and their ids.

    One without a request is read from its beginning: its id is to come. Of one that is packed no
    end is known: what only begins like it may be another log.
    """
    found: dict[tuple[str, str], list[_LogEnd]] = {}
    for log in logs:
        last = log.last
        is_nameless = has_name_of_file(last)
        is_known = last.head_length > 0 and last.end != UNKNOWN_END
        if is_known and not last.is_topic and (log.parts or not is_nameless):
            end = KnownEnd(last.end, last.head_length, last.head, last.tail, is_nameless)
            key = last.cluster, log_stem(last.source)
            found.setdefault(key, []).append(
                _LogEnd(end, last.file, last.settings if log.parts else "")
            )
    return found
