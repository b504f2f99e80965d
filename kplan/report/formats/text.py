"""Text for terminals, files and logs.

Written without templates: nearly every command writes some, and jinja2 takes 0.1 s to be ready.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from kplan.report.document import (
    Block,
    Document,
    Excerpt,
    Heading,
    Item,
    Line,
    Paragraph,
    Problem,
    Row,
    Rows,
    Snippet,
    Table,
    Tone,
    Totals,
    line,
    strong,
)
from kplan.report.formats.measure import clean, columns, window, wrapped
from kplan.report.formats.paint import lead, line_columns, painted, toned
from kplan.report.look import Look

_GUTTER = 6


def text(document: Document, look: Look) -> str:
    """Write a document; its last line ends with a line break. An empty document is ""."""
    blocks = [each for each in document.blocks if not (look.accessible and _is_legend(each))]
    return "\n".join([_ended(_lines(each, look)) for each in blocks])


def _is_legend(block: Block) -> bool:
    """Whether a block explains symbols, which words do not need."""
    return isinstance(block, Rows) and block.is_legend


def line_text(line: Line, look: Look) -> str:
    """Write a single line, without a line break."""
    return painted(line, look)


def _lines(block: Block, look: Look) -> Iterator[str]:
    match block:
        case Heading():
            yield painted(block.text, look)
        case Paragraph():
            yield from (toned(each, block.tone, look) for each in _prose(block.text, look))
        case Rows():
            yield from (painted(each, look) for each in (block.title,) if each)
            yield from _rows(block.rows, look)
        case Item():
            yield from (f"  {painted(each, look)}" for each in block.comments)
            yield from _rows(block.rows, look)
            yield from _rows(block.remarks, look)
        case Table():
            yield from _rows(block.title, look)
            yield from _grid(block, look)
            yield from _rows(block.foot, look)
        case Totals():
            yield from (painted(each, look) for each in block.lines)
        case Problem():
            yield from _framed(_problem(block, look), block.tone, look)
        case _:
            assert_never(block)


def _rows(rows: Iterable[Row], look: Look) -> Iterator[str]:
    return (_row(each, look) for each in rows)


def _problem(block: Problem, look: Look) -> Iterator[str]:
    """Write a problem: its summary, its places with what was seen there, and the way out."""
    word = toned(f"{block.word}: ", block.tone, look)
    code = toned(f" [{block.code}]", Tone.FAINT, look)
    yield word + toned(block.summary, Tone.STRONG, look) + code
    for number, each in enumerate(block.excerpts):
        yield ""
        yield from _excerpt(each, block.address, look)
        if number == 0:
            yield from _seen(block.values, look)
    if not block.excerpts:
        yield from _seen(block.values, look)
        if block.address:
            yield ""
            yield f"  with {_plain(block.address, look)}"
    for said in (block.detail, f"hint: {block.hint}" if block.hint else ""):
        if said:
            yield ""
            yield from _prose(said.rstrip("\n"), look, room=2)


def _excerpt(excerpt: Excerpt, address: str, look: Look) -> Iterator[str]:
    if excerpt.label:
        yield f"  {_plain(excerpt.label, look)}"
    elif address:
        yield f"  with {_plain(address, look)},"
    yield f"  {_plain(excerpt.place, look)}:"
    if excerpt.snippet:
        yield from _pointed(excerpt.snippet, look)


def _seen(values: Sequence[str], look: Look) -> Iterator[str]:
    """Write what the values in an expression were."""
    rule, bar = ("├" + "─" * 16, "│") if look.unicode else ("+" + "-" * 16, "|")
    if look.accessible:
        rule, bar = "where:", ""
    if values:
        yield f"    {rule}"
        yield from (f"    {bar} {_plain(each, look)}" for each in values)


def _plain(said: str, look: Look) -> str:
    return toned(said, Tone.PLAIN, look)


def _ended(lines: Iterable[str]) -> str:
    return "".join([f"{each}\n" for each in lines])


def _row(row: Row, look: Look) -> str:
    return (lead(row.mark, row.column, look) + painted(row.text, look)).rstrip()


def _prose(said: str, look: Look, *, room: int = 0) -> list[str]:
    return [clean(each, unicode=look.unicode) for each in wrapped(said, look.width - room)]


def _grid(table: Table, look: Look) -> Iterator[str]:
    head = tuple(line(strong(name)) for name in table.columns)
    grid = [each.cells for each in table.rows] + ([head] if head else [])
    widths = [max(line_columns(cell, look) for cell in each) for each in zip(*grid, strict=True)]
    sides = [(width, at in table.numbers) for at, width in enumerate(widths)]
    if head:
        yield " " * table.column + _cells(head, sides, look)
    for row in table.rows:
        yield lead(row.mark, table.column, look) + _cells(row.cells, sides, look)


def _cells(cells: tuple[Line, ...], sides: list[tuple[int, bool]], look: Look) -> str:
    """Write cells in columns of a width each; those of numbers are set to the right."""
    shown = []
    for cell, (width, is_right) in zip(cells, sides, strict=True):
        told, room = painted(cell, look), " " * (width - line_columns(cell, look))
        shown.append(room + told if is_right else told + room)
    return "  ".join(shown).rstrip()


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


def _framed(lines: Iterable[str], tone: Tone, look: Look) -> Iterator[str]:
    """Draw a bar at the left of a problem, where the terminal can show one."""
    if look.accessible or not look.unicode:
        yield from lines
        return
    top, bar, foot = (toned(each, tone, look) for each in "╷│╵")
    yield top
    yield from (f"{bar} {each}".rstrip() for each in lines)
    yield foot
