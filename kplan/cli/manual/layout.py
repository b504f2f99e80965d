"""Pages of the manual on a terminal: prose in lines, tables in columns or lists."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

_MAX_WIDTH = 100
"""Lines longer than this are hard to read, however wide the terminal is."""
_MIN_WIDTH = 16
"""Columns that a text takes beside others; where there are fewer it is below."""
_INDENT = " " * 8
_GAP = re.compile(r"(?<=\S)\s{2,}(?=\S)")
_BULLET = re.compile(r"(- |\d+\. )")


def format_page(text: str, width: int) -> str:
    """Break prose into lines of at most `width` columns; code stays as it is.

    Indented lines in two columns are broken in the second one. Tables of Markdown become lists
    where one of them is too wide.
    """
    room = min(width, _MAX_WIDTH)
    classified = list(_line_kinds(text))
    has_lists = any(sort == "table" and len(line) > room for sort, line in classified)
    written: list[str] = []
    for sort, pairs in groupby(classified, key=itemgetter(0)):
        lines = [line for _, line in pairs]
        written += (
            _format_rows(lines, room)
            if sort == "table" and has_lists
            else _format_lines(sort, lines, room)
        )
    return "\n".join(written) + "\n"


def _line_kinds(text: str) -> Iterator[tuple[str, str]]:
    """Give each line with what it is a part of."""
    is_fenced = False
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("```"):
            is_fenced = not is_fenced
            yield "code", line
        elif is_fenced:
            yield "code", line
        else:
            yield _line_kind(line), line


def _line_kind(line: str) -> str:
    match line[:1]:
        case "" | "#":
            return "code"
        case " ":
            return "columns"
        case "|":
            return "table"
        case _:
            return "prose"


def _format_lines(sort: str, lines: Sequence[str], room: int) -> Iterable[str]:
    match sort:
        case "prose":
            return _format_prose(lines, room)
        case "columns":
            return _format_columns(lines, room)
        case _:
            return lines


def _format_prose(lines: Sequence[str], room: int) -> Iterator[str]:
    paragraphs: list[str] = []
    for line in lines:
        if paragraphs and not _BULLET.match(line):
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line.strip())
    for each in paragraphs:
        bullet = _BULLET.match(each)
        yield from _wrap_text(each, "", " " * len(bullet[0]) if bullet else "", room)


def _format_columns(lines: Sequence[str], room: int) -> Iterator[str]:
    """Break the second column, where all lines have one at the same place; else it is code."""
    at = second_column(lines)
    if not at or all(len(each) <= room for each in lines):
        yield from lines
        return
    margin = " " * (len(lines[0]) - len(lines[0].lstrip()))
    for head, text in column_rows(lines, at):
        shown = f"{margin}{head}"
        if len(shown) + 2 > at or at + _MIN_WIDTH > room:
            indent = " " * at if at + _MIN_WIDTH <= room else _INDENT
            yield shown
            yield from _wrap_text(text, indent, indent, room)
        else:
            yield from _wrap_text(text, shown.ljust(at), " " * at, room)


def column_rows(lines: Sequence[str], at: int) -> list[tuple[str, str]]:
    """Return the rows of lines in two columns, of which the second begins at `at`."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        has_text = line[at - 2 : at] == "  "
        head, text = (line[:at].strip(), line[at:].strip()) if has_text else (line.strip(), "")
        if head or not rows:
            rows.append((head, text))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {text}".strip())
    return rows


def second_column(lines: Sequence[str]) -> int:
    """Return where the second column of indented lines begins, 0 where there is none."""
    if len(lines) == 1:
        return 0
    found = _GAP.finditer(lines[0])
    return next((each.end() for each in found if _fits_column(lines, each.end())), 0)


def _fits_column(lines: Sequence[str], at: int) -> bool:
    """Whether each line has text there behind a gap, or is a first column alone."""
    return all(
        (each[at - 2 : at] == "  " and each[at : at + 1].strip()) or not _GAP.search(each)
        for each in lines
    )


def _format_rows(lines: Sequence[str], room: int) -> Iterator[str]:
    """Write each row as a line of its short cells, and its last cell below."""
    for line in lines[2:]:
        *short, said = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        yield from _wrap_text("  ".join(each for each in short if each), "    ", "    ", room)
        yield from _wrap_text(said, _INDENT, _INDENT, room)


def _wrap_text(text: str, first: str, others: str, room: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(room, len(others) + _MIN_WIDTH),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]
