"""Files of committed offsets: the CSV of kafka-consumer-groups.sh, read and written."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kplan.cluster.usage import TopicPartition
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.errors import ConfigError, StateError
from kplan.state.atomic_file import write_atomically

_FIELD = re.compile(r'("(?:[^"]|"")*"|[^,\r\n]*)(,|\r\n|\r|\n|\Z)')
_BREAK = re.compile(r"\r\n|\r|\n")
_PLAIN = re.compile(r"[\w.:/-]*", re.ASCII)
_FIELDS_OF_ONE_GROUP, _FIELDS_OF_SEVERAL = 3, 4
_MAX_DIGITS = 19  # of 2^63-1
_HINT = "Write topic,partition,offset or group,topic,partition,offset in each line."

Offsets = Mapping[TopicPartition, int | None]
"""An offset for each partition; None is no committed offset."""


@dataclass(frozen=True, slots=True)
class _Field:
    text: str
    column: int


def read_offsets(path: Path, group: str) -> Offsets:
    """Read the offsets of a group; lines of other groups are skipped.

    A line has topic, partition and offset, as `kafka-consumer-groups.sh --export` writes them, or
    the group before these. An empty offset is kplan's own: the partition has none committed.

    Raises:
        ConfigError: the file cannot be read; it names every wrong line (KP543).

    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # spreadsheets begin a CSV file with a mark
    except (OSError, ValueError) as failure:
        raise ConfigError([_problem(path, 1, 1, f"It cannot be read: {failure}")]) from None
    rows = [(number, _read_row(path, number, fields)) for number, fields in _split_rows(text)]
    problems = [row for _, row in rows if isinstance(row, Diagnostic)]
    found: dict[TopicPartition, int | None] = {}
    for number, row in rows:
        if isinstance(row, Diagnostic) or row[0] not in ("", group):
            continue
        if row[1] in found:
            problems.append(_problem(path, number, 1, "The partition is listed twice."))
        found[row[1]] = row[2]
    if not problems and not found:
        problems.append(_problem(path, 1, 1, f"It has no offsets of group {group}."))
    if problems:
        raise ConfigError(problems, {str(path): text})
    return found


def _read_row(
    path: Path, number: int, fields: Sequence[_Field]
) -> tuple[str, TopicPartition, int | None] | Diagnostic:
    if len(fields) not in (_FIELDS_OF_ONE_GROUP, _FIELDS_OF_SEVERAL):
        return _problem(path, number, 1, f"The line has {len(fields)} fields.")
    *named, topic, partition, offset = fields
    if not topic.text:
        return _problem(path, number, topic.column, "The topic has no name.")
    if not _is_number(partition.text):
        what = f'The partition is "{partition.text}", not a number from 0.'
        return _problem(path, number, partition.column, what)
    if offset.text and not _is_number(offset.text):
        what = f'The offset is "{offset.text}", not a number from 0.'
        return _problem(path, number, offset.column, what)
    group = named[0].text if named else ""
    return group, (topic.text, int(partition.text)), int(offset.text) if offset.text else None


def _split_rows(text: str) -> Iterator[tuple[int, Sequence[_Field]]]:
    """Give the first line and the fields of each row; a name in quotes may contain line breaks."""
    number = first = 1
    start = 0
    row: list[_Field] = []
    for found in _FIELD.finditer(text):
        raw = found[1].strip()
        value = raw[1:-1].replace('""', '"') if raw[:1] == '"' else raw
        row.append(_Field(value, found.start() - start + 1))
        for each in _BREAK.finditer(found[0]):
            number, start = number + 1, found.start() + each.end()
        if found[2] == ",":
            continue
        if len(row) > 1 or value:
            yield first, row
        first, row = number, []


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


def _problem(path: Path, line: int, column: int, what: str) -> Diagnostic:
    subject = SourceRange(str(path), line, column, line, column + 1)
    return Diagnostic(
        "KP543", Severity.ERROR, SUMMARIES["KP543"], what, hint=_HINT, subject=subject
    )


def write_offsets(path: Path, groups: Mapping[str, Offsets]) -> None:
    """Write the offsets of one group, or of several with their names.

    Raises:
        StateError: the file cannot be written; what was there is untouched.

    """
    text = "".join(f"{','.join(map(_quoted, row))}\n" for row in _rows(groups))
    try:
        write_atomically(path, text.encode())
    except OSError as failure:
        raise StateError(
            f"The undo file {path} cannot be written: {failure}. Nothing was changed.",
            hint="Choose another place with -undo-file=FILE.",
        ) from failure


def _rows(groups: Mapping[str, Offsets]) -> Iterator[Sequence[object]]:
    for group, offsets in sorted(groups.items()):
        named: Iterable[object] = (group,) if len(groups) > 1 else ()
        for (topic, partition), offset in sorted(offsets.items()):
            yield [*named, topic, partition, "" if offset is None else offset]


def _quoted(value: object) -> str:
    """Quote what a reader would split or strip: a group may have any name, also with spaces."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else '"' + text.replace('"', '""') + '"'
