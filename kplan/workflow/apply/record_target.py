"""Which records are asked to go: from words of a command line, or from a file."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

_END_WORD = "end"
_HIGH_WATERMARK = -1
_MAX_DIGITS = 19  # of 2^63-1
_TARGET_PATTERN = re.compile(r"(?P<topic>[^:=]+)(:(?P<partition>[^:=]*))?(=(?P<before>[^:=]*))?")
_FORMAT_HINT = "Write it as TOPIC, TOPIC:PARTITION or TOPIC:PARTITION=OFFSET."


@dataclass(frozen=True, slots=True)
class DeletionTarget:
    """Records before the offset are to go.

    Without a partition those of every partition of the topic, without an offset all that exist.
    """

    topic: str
    partition: int | None = None
    before_offset: int | None = None


def parse_targets(
    words: Sequence[str], before: str, file: Path | None
) -> tuple[DeletionTarget, ...]:
    """Read the requested offsets; `before` has those that a keyword does not determine.

    Raises:
        UsageError: nothing is asked for, or what cannot be read, or a partition twice.

    """
    if file is not None and (words or before):
        raise UsageError("-offset-json-file cannot be combined with topics or -before.")
    found = tuple(
        _read_file(file) if file is not None else (_parse_word(each, before) for each in words)
    )
    if not found:
        raise UsageError(
            "Which records?", hint=f"{_FORMAT_HINT} Or name a file: -offset-json-file=FILE"
        )
    _check_unique(found)
    return found


def _check_unique(targets: Iterable[DeletionTarget]) -> None:
    seen: dict[str, set[int | None]] = {}
    for each in targets:
        others = seen.setdefault(each.topic, set())
        if each.partition in others or (others and None in {*others, each.partition}):
            number = "" if each.partition is None else f":{each.partition}"
            raise UsageError(f"{each.topic}{number} is listed twice.")
        others.add(each.partition)


def _parse_word(word: str, before: str) -> DeletionTarget:
    found = _TARGET_PATTERN.fullmatch(word)
    if found is None:
        raise UsageError(f'"{word}" names no records.', hint=_FORMAT_HINT)
    partition, own = found["partition"], found["before"]
    offset = before if own is None else own
    if not offset:
        raise UsageError(
            f"Up to which offset are records of {word} to go?",
            hint="Use -before=OFFSET, or -before=end for all current records.",
        )
    number = None if partition is None else _parse_number(partition, f'The partition in "{word}"')
    return DeletionTarget(found["topic"], number, _parse_offset(offset))


def _parse_offset(text: str) -> int | None:
    return None if text == _END_WORD else _parse_number(text, 'An offset other than "end"')


def _parse_number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise UsageError(f'{what} is a whole number from 0, not "{text}".')
    return int(text)


def _read_file(file: Path) -> Iterator[DeletionTarget]:
    """Read a file as kafka-delete-records.sh takes it; -1 there means the end."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as failure:
        raise UsageError(f"{file} cannot be read as JSON: {failure}") from None
    rows = found.get("partitions") if isinstance(found, dict) else None
    if not isinstance(rows, list) or found.get("version", 1) != 1:
        raise _format_error(file)
    for row in rows:
        match row:
            case {"topic": str(topic), "partition": int(partition), "offset": int(offset)} if (
                not {type(partition), type(offset)} - {int}
                and partition >= 0
                and offset >= _HIGH_WATERMARK
            ):
                yield DeletionTarget(
                    topic, partition, None if offset == _HIGH_WATERMARK else offset
                )
            case _:
                raise _format_error(file, f" But there is {json.dumps(row)[:200]}.")


def _format_error(file: Path, what: str = "") -> UsageError:
    return UsageError(
        f"{file} does not have the shape of a file of offsets.{what}",
        hint='As in {"version": 1, "partitions": [{"topic": "a", "partition": 0, "offset": 7}]}',
    )
