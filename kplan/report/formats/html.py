"""One HTML page that needs no network and no second file."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.model.dataclass import dataclass
from kplan.model.version import VERSION
from kplan.report.document import (
    Block,
    Document,
    Heading,
    Item,
    Line,
    Mark,
    Paragraph,
    Problem,
    Row,
    Rows,
    Table,
    Tally,
    Tone,
    Totals,
    needs_attention,
)
from kplan.report.formats.text import MARK_WORDS, clean_text
from kplan.report.links import NO_LINKS, Links

WIDTH, LEFT, RIGHT, BAR, GAP = 640, 150, 90, 22, 10
_MIN_SEGMENT_WIDTH = 4.0


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a bar: how many of what, from `x` on, `width` wide."""

    x: float
    width: float
    count: int
    name: str
    tone: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its name, `y` from the top; `end` is the position of its number."""

    name: str
    y: int
    segments: tuple[Segment, ...]
    total: int
    end: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars of one tally in a box `WIDTH` wide and `height` high."""

    tally: Tally
    bars: tuple[Bar, ...]
    height: int


def chart_layout(tally: Tally) -> Chart:
    """Lay out a tally. Every number that is not 0 is seen, however small beside the others."""
    most = max((sum(counts) for _, counts in tally.bars), default=0) or 1
    bars = tuple(
        _bar(tally, name, counts, GAP + at * (BAR + GAP), most)
        for at, (name, counts) in enumerate(tally.bars)
    )
    return Chart(tally, bars, GAP + len(bars) * (BAR + GAP))


def _bar(tally: Tally, name: str, counts: tuple[int, ...], y: int, most: int) -> Bar:
    segments = tuple(_segments(tally, counts, most))
    end = segments[-1].x + segments[-1].width if segments else float(LEFT)
    return Bar(name, y, segments, sum(counts), end)


def _segments(tally: Tally, counts: tuple[int, ...], most: int) -> Iterator[Segment]:
    x = float(LEFT)
    room = WIDTH - LEFT - RIGHT - _MIN_SEGMENT_WIDTH * len(counts)
    for column, count in zip(tally.columns, counts, strict=True):
        if count:
            width = round(_MIN_SEGMENT_WIDTH + room * count / most, 1)
            yield Segment(x, width, count, column.text, column.tone.value)
            x = round(x + width, 1)


if TYPE_CHECKING:
    from jinja2 import Environment, Template

_TEMPLATES = Path(__file__).parent.parent / "templates"
_OPEN_ITEMS = 20
_FEW_ITEMS = 500
"""Up to so many changes every line is marked up; more take a browser too many elements."""
MAX_ITEMS = 1_000
"""Changes that one part of a page shows, and rows of one table; all of a destroy took 17 MB."""
_MARKS: tuple[tuple[Mark, str], ...] = (
    (Mark.REMOVE, "Destroy"),
    (Mark.REPLACE, "Replace"),
    (Mark.SWAP, "Replace (new first)"),
    (Mark.CHANGE, "Update in place"),
    (Mark.ADD, "Create"),
    (Mark.FORGET, "Forget"),
    (Mark.NONE, "Move or import"),
)
_MARK_PREFIX = re.compile(f" *({'|'.join(re.escape(mark) for mark in Mark if mark)}) ")
PageSection = tuple[str, Sequence[Block]]


def render_html(document: Document, links: Links = NO_LINKS) -> str:
    """Write a document as a page; an empty one is ""."""
    if not document.blocks:
        return ""
    items = sum(isinstance(each, Item) for each in document.blocks)
    used = {mark for each in document.blocks for mark in _filter_marks(each)}
    return _template().render(
        document=document,
        heading=next((each for each in document.blocks[:1] if isinstance(each, Heading)), None),
        totals=[each for each in document.blocks if isinstance(each, Totals)],
        notes=[each for each in document.blocks if isinstance(each, Paragraph)],
        charts=[chart_layout(each) for each in document.tallies],
        parts=[
            (title, sum(map(_object_count, blocks)), *_truncate(blocks))
            for title, blocks in _page_sections(document.blocks)
        ],
        marks=[(mark, word) for mark, word in _MARKS if mark in used],
        is_short=items <= _OPEN_ITEMS,
        is_few=items <= _FEW_ITEMS,
        links=links,
    )


def _filter_marks(block: Block) -> Iterator[Mark]:
    match block:
        case Item():
            yield block.mark
        case Table(columns=()):
            yield from (each.mark for each in block.rows)
        case _:
            return


def _page_sections(blocks: Sequence[Block]) -> Iterator[PageSection]:
    """Sort severe changes first, then the rest by action."""
    rest = [each for each in blocks if not needs_attention(each)]
    found: list[PageSection] = [
        ("Needs attention", [each for each in blocks if needs_attention(each)]),
        ("Warnings", [each for each in rest if isinstance(each, Problem)]),
        ("", [each for each in rest if _is_standalone(each)]),
        ("Groups of changes", [each for each in rest if _is_group(each)]),
        *(
            (word, [each for each in rest if isinstance(each, Item) and each.mark is mark])
            for mark, word in _MARKS
        ),
    ]
    yield from (part for part in found if part[1])


def _object_count(block: Block) -> int:
    return block.count if isinstance(block, Item) else 1


def _truncate(blocks: Sequence[Block]) -> tuple[Sequence[Block], int]:
    """Return as many blocks as a page shows, and how many objects of them it leaves out."""
    shown = [
        replace(each, rows=each.rows[:MAX_ITEMS]) if isinstance(each, Table) else each
        for each in blocks[:MAX_ITEMS]
    ]
    hidden_rows = sum(
        max(0, len(each.rows) - MAX_ITEMS) for each in blocks if isinstance(each, Table)
    )
    return shown, len(blocks) - len(shown) + hidden_rows


def _is_standalone(block: Block) -> bool:
    match block:
        case Rows():
            return not block.is_legend
        case Table():
            return bool(block.columns)
        case _:
            return False


def _is_group(block: Block) -> bool:
    return isinstance(block, Table) and not block.columns


@cache
def page_environment() -> "Environment":
    """Return what every page is written with; text is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "shape": lambda block: type(block).__name__,
        "clean": clean_text,
        "word": lambda mark: MARK_WORDS[mark],
        "room": _indentation,
        "bare": _plain_lines,
        "kind": lambda mark: mark.name.lower(),
        "calm": lambda tone: "" if tone is Tone.PLAIN else tone.value,
        "layout": chart_layout,
    }
    environment.globals["chart"] = {"width": WIDTH, "left": LEFT, "bar": BAR}
    return environment


def page_template(name: str, styles: Sequence[str], scripts: Sequence[str]) -> "Template":
    """Return a template with its style sheets and scripts, which alone may be used in its page."""
    style, script = (
        "\n".join((_TEMPLATES / each).read_text(encoding="utf-8") for each in files)
        for files in (styles, scripts)
    )
    return page_environment().get_template(
        name,
        globals={
            "style": style,
            "script": script,
            "style_hash": _hash(style),
            "script_hash": _hash(script),
            "version": VERSION,
        },
    )


@cache
def _template() -> "Template":
    found = page_template("page.html.j2", ["page.css"], ["theme.js", "page.js"])
    found.globals["signs"] = json.dumps(
        {each: (each.name.lower(), MARK_WORDS[each]) for each in Mark}
    )
    return found


def _indentation(row: Row) -> str:
    """Return the blanks before the mark of a row, so that its text starts at its column."""
    width = len(row.mark.value) + 1 if row.mark is not Mark.NONE else 0
    return " " * max(0, row.column - width)


def _plain_lines(item: Item) -> str:
    """Return the lines of a change as plain text; the script adds markup when they are visible.

    "" where a line would be taken for marked that is not.
    """
    rows = (*(Row(each, column=0) for each in item.comments), *item.rows, *item.remarks)
    if any(row.mark is Mark.NONE and _MARK_PREFIX.match(_line_text(row.text)) for row in rows):
        return ""
    lines = [
        _indentation(row) + f"{row.mark} " * bool(row.mark) + _line_text(row.text) for row in rows
    ]
    return "\n".join([*lines, ""])


def _line_text(line: Line) -> str:
    return clean_text("".join(each.text for each in line))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"sha256-{digest}"
