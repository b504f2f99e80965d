"""Pages of the manual, laid out for a terminal."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

_WIDEST = 100
"""Lines longer than this are hard to read, however wide the terminal is."""
_NARROWEST = 16
"""Columns that a text takes beside others; where there are fewer it stands below."""
_BELOW = " " * 8
_BULLET = re.compile(r"(- |\d+\. )")


def laid_out(text: str, width: int) -> str:
    """Break prose into lines of at most `width` columns; code stays as it is.

    Indented lines in two columns are broken in the second one. Tables of Markdown become lists
    where one of them is too wide.
    """
    room = min(width, _WIDEST)
    told = list(_told(text))
    has_lists = any(sort == "table" and len(line) > room for sort, line in told)
    written: list[str] = []
    for sort, pairs in groupby(told, key=itemgetter(0)):
        lines = [line for _, line in pairs]
        written += _list(lines, room) if sort == "table" and has_lists else _part(sort, lines, room)
    return "\n".join(written) + "\n"


def _told(text: str) -> Iterator[tuple[str, str]]:
    """Give each line with what it is a part of."""
    is_fenced = False
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("```"):
            is_fenced = not is_fenced
            yield "code", line
        elif is_fenced:
            yield "code", line
        else:
            yield _sort(line), line


def _sort(line: str) -> str:
    match line[:1]:
        case "" | "#":
            return "code"
        case " ":
            return "columns"
        case "|":
            return "table"
        case _:
            return "prose"


def _part(sort: str, lines: Sequence[str], room: int) -> Iterable[str]:
    match sort:
        case "prose":
            return _prose(lines, room)
        case "columns":
            return _columns(lines, room)
        case _:
            return lines


def _prose(lines: Sequence[str], room: int) -> Iterator[str]:
    paragraphs: list[str] = []
    for line in lines:
        if paragraphs and not _BULLET.match(line):
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line.strip())
    for each in paragraphs:
        bullet = _BULLET.match(each)
        yield from _wrapped(each, "", " " * len(bullet[0]) if bullet else "", room)


def _columns(lines: Sequence[str], room: int) -> Iterator[str]:
    """Break the second column, where all lines have one at the same place; else it is code."""
    at = _second(lines)
    if not at or all(len(each) <= room for each in lines):
        yield from lines
        return
    rows: list[tuple[str, str]] = []
    for line in lines:
        head, said = line[:at], line[at:]
        if head.isspace() and rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {said}")
        else:
            rows.append((head, said))
    for head, said in rows:
        if at + _NARROWEST <= room:
            yield from _wrapped(said, head, " " * at, room)
        else:
            yield head.rstrip()
            yield from _wrapped(said, _BELOW, _BELOW, room)


def _second(lines: Sequence[str]) -> int:
    """Find where the second column begins, 0 where there is none."""
    if len(lines) == 1:
        return 0
    found = re.finditer(r"(?<=\S)\s{2,}(?=\S)", lines[0])
    return next((each.end() for each in found if _fit(lines, each.end())), 0)


def _fit(lines: Sequence[str], at: int) -> bool:
    return all(each[at - 2 : at] == "  " and each[at : at + 1].strip() for each in lines)


def _list(lines: Sequence[str], room: int) -> Iterator[str]:
    """Write each row as a line of its short cells, and its last cell below."""
    for line in lines[2:]:
        *short, said = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        yield from _wrapped("  ".join(each for each in short if each), "    ", "    ", room)
        yield from _wrapped(said, _BELOW, _BELOW, room)


def _wrapped(text: str, first: str, others: str, room: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(room, len(others) + _NARROWEST),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]
