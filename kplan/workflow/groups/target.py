"""Which partitions are reset, and where to: from the words of a command line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from kplan.cluster.protocol import INT64_MAX
from kplan.cluster.usage import EARLIEST, LATEST
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.workflow.groups.offset_file import Offsets, read_offsets

_SPAN = re.compile(r"now-(\d+)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_TOPIC = re.compile(r"([^:]+)(?::(\d{1,9}(?:,\d{1,9})*))?")
_TARGET_HINT = (
    "Write earliest, latest, an offset, a time such as 2026-01-31T10:00:00Z or now-2h, or the "
    "name of a file of offsets."
)


class TargetType(StrEnum):
    """What determines the new offset of a partition."""

    TIME = "time"
    OFFSET = "offset"
    SHIFT = "shift"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class OffsetTarget:
    """Where offsets go: since a time in ms (EARLIEST, LATEST too), to or by a number, or rows."""

    type: TargetType
    number: int = 0
    rows: Offsets = field(default_factory=dict)


Selection = Mapping[str, frozenset[int] | None]
"""The partitions of each topic; None is all of them."""


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """What is asked for. `topics` None: those with committed offsets, or the rows of a file."""

    group: str
    target: OffsetTarget
    topics: Selection | None = None
    may_create: bool = False


def parse_request(
    group: str,
    words: tuple[Sequence[str], bool, str, int | None],
    *,
    may_create: bool,
    now: datetime,
) -> ResetRequest:
    """Read the words of a command line: topics, whether all are meant, -to and -shift.

    Raises:
        UsageError: a word has a wrong form.
        ConfigError: a file has mistakes.

    """
    topics, all_topics, to, shift = words
    target = parse_target(to, shift, group, now)
    is_file = target.type is TargetType.FILE
    selection = parse_selection(topics, all_topics=all_topics, is_file=is_file)
    return ResetRequest(group, target, selection, may_create)


def parse_selection(words: Sequence[str], *, all_topics: bool, is_file: bool) -> Selection | None:
    """Read TOPIC and TOPIC:0,1 words.

    Raises:
        UsageError: a word has another form, or none is given and none is needed.

    """
    if all_topics or (is_file and not words):
        if words:
            raise UsageError("-all-topics cannot be combined with -topic.")
        return None
    if not words:
        raise UsageError("Which topics?", hint="Use -topic=TOPIC, -topic=TOPIC:0,1 or -all-topics.")
    found: dict[str, frozenset[int] | None] = {}
    for word in words:
        parts = _TOPIC.fullmatch(word)
        if parts is None:
            raise UsageError(f'"{word}" is not a topic.', hint="Write TOPIC or TOPIC:0,1.")
        if parts[1] in found:
            raise UsageError(f"{parts[1]} is listed twice.")
        numbers = parts[2]
        found[parts[1]] = None if numbers is None else frozenset(map(int, numbers.split(",")))
    return found


def parse_target(to: str, shift: int | None, group: str, now: datetime) -> OffsetTarget:
    """Read -to and -shift; a file is read at once.

    Raises:
        UsageError: neither or both are given, or -to has none of its forms.
        ConfigError: the file has mistakes.

    """
    if bool(to) is (shift is not None):
        raise UsageError("kplan groups reset requires either -to or -shift.", hint=_TARGET_HINT)
    if shift is not None:
        return OffsetTarget(TargetType.SHIFT, shift)
    if to in ("earliest", "latest"):
        return OffsetTarget(TargetType.TIME, EARLIEST if to == "earliest" else LATEST)
    if to.isascii() and to.isdecimal() and int(to) <= INT64_MAX:
        return OffsetTarget(TargetType.OFFSET, int(to))
    if span := _SPAN.fullmatch(to):
        past_s = int(span[1]) * _SECONDS[span[2]]
        return OffsetTarget(TargetType.TIME, max(0, int((now.timestamp() - past_s) * 1000)))
    if (time_ms := _parse_time(to)) is not None:
        return OffsetTarget(TargetType.TIME, time_ms)
    path = Path(to)
    if path.is_file():
        return OffsetTarget(TargetType.FILE, rows=read_offsets(path, group))
    raise UsageError(f'"{to}" is neither an offset nor a time nor a file.', hint=_TARGET_HINT)


def _parse_time(text: str) -> int | None:
    """Read a time with its zone, in ms. Raises UsageError where the zone is missing."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        raise UsageError(f'"{text}" has no time zone.', hint=f"Write it as {text[:19]}Z for UTC.")
    return max(0, int(found.timestamp() * 1000))
