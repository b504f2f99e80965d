"""Text for terminals, files and logs."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.report.document import (
    Block,
    Document,
    Line,
    Row,
    Rows,
    Snippet,
    Table,
    Tone,
    line,
    strong,
)
from kplan.report.formats.measure import clean, columns, window, wrapped
from kplan.report.formats.paint import lead, line_columns, painted, toned
from kplan.report.look import Look

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).parent.parent / "templates"
_GUTTER = 6


def text(document: Document, look: Look) -> str:
    """Write a document; its last line ends with a line break. An empty document is ""."""
    if not document.blocks:
        return ""
    blocks = [each for each in document.blocks if not (look.accessible and _is_legend(each))]
    return _template(look).render(blocks=blocks)


def _is_legend(block: Block) -> bool:
    """Whether a block explains symbols, which words do not need."""
    return isinstance(block, Rows) and block.is_legend


def line_text(line: Line, look: Look) -> str:
    """Write a single line, without a line break."""
    return painted(line, look)


@cache
def _template(look: Look) -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=False,  # noqa: S701 - text, not HTML; `toned` escapes what a terminal obeys
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "shape": lambda block: type(block).__name__,
        "line": lambda each: painted(each, look),
        "tone": lambda each, tone="plain": toned(each, Tone(tone), look),
        "rows": lambda found: _ended(_row(each, look) for each in found),
        "comments": lambda found: _ended(f"  {painted(each, look)}" for each in found),
        "prose": lambda each, room=0: _prose(each, look, look.width - room),
        "grid": lambda each: _ended(_grid(each, look)),
        "pointed": lambda each: _pointed(each, look),
        "framed": lambda each, tone: _framed(each, tone, look),
    }
    rule, bar = ("├" + "─" * 16, "│") if look.unicode else ("+" + "-" * 16, "|")
    if look.accessible:
        rule, bar = "where:", ""
    return environment.get_template("text.j2", globals={"rule": rule, "bar": bar})


def _ended(lines: Iterable[str]) -> str:
    return "".join([f"{each}\n" for each in lines])


def _row(row: Row, look: Look) -> str:
    return (lead(row.mark, row.column, look) + painted(row.text, look)).rstrip()


def _prose(said: str, look: Look, width: int) -> list[str]:
    return [clean(each, unicode=look.unicode) for each in wrapped(said, width)]


def _grid(table: Table, look: Look) -> Iterator[str]:
    head = tuple(line(strong(name)) for name in table.columns)
    grid = [each.cells for each in table.rows] + ([head] if head else [])
    widths = [max(line_columns(cell, look) for cell in each) for each in zip(*grid, strict=True)]
    if head:
        yield _cells(head, widths, table.column, look)
    for row in table.rows:
        yield lead(row.mark, table.column, look) + _cells(row.cells, widths, 0, look)


def _cells(cells: tuple[Line, ...], widths: list[int], column: int, look: Look) -> str:
    shown = (
        painted(cell, look) + " " * (width - line_columns(cell, look))
        for cell, width in zip(cells, widths, strict=True)
    )
    return (" " * column + "  ".join(shown)).rstrip()


def _pointed(snippet: Snippet, look: Look) -> Iterator[str]:
    """Write the line of source with carets under the span."""
    piece, start, end = window(
        snippet.code.replace("\t", " "), snippet.start, snippet.end, max(look.width - 12, 40)
    )
    before, within, after = piece[:start], piece[start:end], piece[end:]
    gutter = f"{snippet.number:>{_GUTTER - 2}}: "
    yield (
        gutter
        + toned(before, Tone.PLAIN, look)
        + toned(within, Tone.MARKED, look)
        + toned(after, Tone.PLAIN, look)
    ).rstrip()
    if look.accessible:
        yield f"{' ' * _GUTTER}here: {clean(within, unicode=look.unicode)}"
        return
    indent = len(gutter) + columns(clean(before, unicode=look.unicode))
    carets = "^" * max(1, columns(clean(within, unicode=look.unicode)))
    yield " " * indent + carets + (" ..." if snippet.has_more else "")


def _framed(said: str, tone: str, look: Look) -> str:
    """Draw a bar at the left of a problem, where the terminal can show one."""
    lines = said.rstrip("\n").split("\n")
    if look.accessible or not look.unicode:
        return "\n".join(lines) + "\n"
    top, bar, foot = (toned(each, Tone(tone), look) for each in "╷│╵")
    return "\n".join([top, *(f"{bar} {each}".rstrip() for each in lines), foot]) + "\n"
