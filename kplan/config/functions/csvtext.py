"""CSV by RFC 4180, read strictly."""

import re
from collections.abc import Iterator
from typing import Final

_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"(?=,|\n|\Z)')
_PLAIN: Final = re.compile(r'[^",\n]*(?=,|\n|\Z)')


class CsvError(Exception):
    """Text that is not CSV."""


def read(text: str) -> tuple[list[str], list[list[str]]]:
    """Read the names of the header line and the rows below it; empty lines do not count.

    Raises:
        CsvError: a stray quote, a row of another width, two columns of one name, or no header.

    """
    lines = list(_records(text.replace("\r\n", "\n")))
    if not lines:
        raise CsvError("missing header line")
    names = lines[0][1]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise CsvError(f'duplicate column name "{name}"')
    for number, row in lines[1:]:
        if len(row) != len(names):
            raise CsvError(f"CSV parse error on line {number}: wrong number of fields")
    return names, [row for _, row in lines[1:]]


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    position, number = 0, 1
    while position < len(text):
        if text[position] == "\n":
            position, number = position + 1, number + 1
            continue
        row, end = _record(text, position, number)
        yield number, row
        number += text.count("\n", position, end)
        position = end


def _record(text: str, start: int, number: int) -> tuple[list[str], int]:
    row: list[str] = []
    position = start
    while True:
        pattern = _QUOTED if text.startswith('"', position) else _PLAIN
        match = pattern.match(text, position)
        if match is None:
            fault = (
                'extraneous or missing " in quoted-field'
                if pattern is _QUOTED
                else 'bare " in non-quoted-field'
            )
            line = number + text.count("\n", start, position)
            raise CsvError(f"CSV parse error on line {line}: {fault}")
        row.append(match[1].replace('""', '"') if pattern is _QUOTED else match[0])
        position = match.end()
        if not text.startswith(",", position):
            return row, position + 1
        position += 1
