"""Text for terminals, files and logs."""

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import assert_never

from kplan.report.document import (
    Block,
    Document,
    Excerpt,
    Heading,
    Item,
    Line,
    Mark,
    Paragraph,
    Problem,
    Row,
    Rows,
    Snippet,
    Table,
    Tone,
    Totals,
    line,
    strong_span,
)
from kplan.report.format import TextStyle
from kplan.report.links import code_address


def clean_text(text: str, *, unicode: bool = True) -> str:
    """Write control characters and bidi marks as escapes (backslash, u001b).

    Without `unicode` everything beyond ASCII is escaped too.
    """
    if text.isprintable() and (unicode or text.isascii()):
        return text
    return "".join(
        each if each.isprintable() and (unicode or each.isascii()) else _escape_character(each)
        for each in text
    )


def _escape_character(character: str) -> str:
    number = ord(character)
    match character:
        case "\n":
            return "\\n"
        case "\t":
            return "\\t"
        case _:
            return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - the width decides the notation


def text_width(text: str) -> int:
    """Count the terminal columns of a printable text (UAX 11)."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def wrap_text(text: str, width: int) -> list[str]:
    """Break prose into lines of at most `width` columns; its own line breaks stay.

    Indented lines (commands) and words too long for a line are left whole.
    """
    lines: list[str] = []
    for each in text.split("\n"):
        if each.startswith(" ") or text_width(each) <= width:
            lines.append(each.rstrip())
        else:
            lines += textwrap.wrap(
                each, max(width, 20), break_long_words=False, break_on_hyphens=False
            )
    return lines


def crop_line(code: str, start: int, end: int, width: int) -> tuple[str, int, int]:
    """Cut a long line around a span: the piece, and the span within it."""
    end = max(end, start + 1)
    if len(code) <= width:
        return code, start, end
    left = max(0, min(start - width // 3, len(code) - width))
    piece = code[left : left + width]
    if left:
        piece = "..." + piece[3:]
    if left + width < len(code):
        piece = piece[:-3] + "..."
    return piece, start - left, min(end - left, width)


_RESET = "\x1b[0m"
_ANSI: Mapping[Tone, str] = {
    Tone.PLAIN: "",
    Tone.STRONG: "\x1b[1m",
    Tone.FAINT: "\x1b[90m",
    Tone.MARKED: "\x1b[4m",
    Tone.ADD: "\x1b[32m",
    Tone.CHANGE: "\x1b[33m",
    Tone.REMOVE: "\x1b[31m",
    Tone.DANGER: "\x1b[1;31m",
    Tone.ERROR: "\x1b[31m",
    Tone.WARNING: "\x1b[33m",
}
_MARK_TONES: Mapping[Mark, Tone] = {
    Mark.NONE: Tone.PLAIN,
    Mark.ADD: Tone.ADD,
    Mark.CHANGE: Tone.CHANGE,
    Mark.REMOVE: Tone.REMOVE,
    Mark.REPLACE: Tone.REMOVE,
    Mark.SWAP: Tone.ADD,
    Mark.FORGET: Tone.FAINT,
    Mark.ALARM: Tone.DANGER,
}
MARK_WORDS: Mapping[Mark, str] = {
    Mark.NONE: "",
    Mark.ADD: "add:",
    Mark.CHANGE: "change:",
    Mark.REMOVE: "remove:",
    Mark.REPLACE: "replace:",
    Mark.SWAP: "add, then remove:",
    Mark.FORGET: "forget:",
    Mark.ALARM: "caution:",
}
"""What means a mark where symbols are not to be relied on."""


def paint_text(text: str, tone: Tone, look: TextStyle) -> str:
    """Write one stretch of text, with nothing in it that could steer the terminal."""
    shown = clean_text(text, unicode=look.unicode)
    ansi = _ANSI[tone] if look.colour else ""
    return f"{ansi}{shown}{_RESET}" if ansi else shown


def paint_line(text: Line, look: TextStyle) -> str:
    """Write a line."""
    if not look.colour:
        return clean_text("".join([span.text for span in text]), unicode=look.unicode)
    return "".join(paint_text(span.text, span.tone, look) for span in text)


def line_columns(text: Line, look: TextStyle) -> int:
    """Count the columns of a line as a terminal shows it."""
    said = "".join([span.text for span in text])
    return text_width(clean_text(said, unicode=look.unicode))


@cache
def row_prefix(mark: Mark, column: int, look: TextStyle) -> str:
    """Write the part of a line before `column`: its symbol, or the word for it."""
    if look.accessible:
        word = MARK_WORDS[mark]
        return " " * column + (f"{word} " if word else "")
    if mark is Mark.NONE:
        return " " * column
    room = " " * max(0, column - 1 - len(mark.value))
    if mark in {Mark.REPLACE, Mark.SWAP} and look.colour:
        signs = (f"\x1b[31m-{_RESET}", f"\x1b[32m+{_RESET}")
        first, second = signs if mark is Mark.REPLACE else signs[::-1]
        return f"{room}{first}/{second} "
    return f"{room}{paint_text(mark.value, _MARK_TONES[mark], look)} "


_GUTTER = 6


def render_text(document: Document, look: TextStyle) -> str:
    """Write a document; its last line ends with a line break. An empty document is ""."""
    blocks = [each for each in document.blocks if not (look.accessible and _is_legend(each))]
    return "\n".join([_join_lines(_lines(each, look)) for each in blocks])


def _is_legend(block: Block) -> bool:
    """Whether a block explains symbols, which words do not need."""
    return isinstance(block, Rows) and block.is_legend


def render_line(line: Line, look: TextStyle) -> str:
    """Write a single line, without a line break."""
    return paint_line(line, look)


def _lines(block: Block, look: TextStyle) -> Iterator[str]:
    match block:
        case Heading():
            yield paint_line(block.text, look)
        case Paragraph():
            yield from (
                paint_text(each, block.tone, look) for each in _prose_lines(block.text, look)
            )
        case Rows():
            yield from (paint_line(each, look) for each in (block.title,) if each)
            yield from _rows(block.rows, look)
        case Item():
            yield from (f"  {paint_line(each, look)}" for each in block.comments)
            yield from _rows(block.rows, look)
            yield from _rows(block.remarks, look)
        case Table():
            yield from _rows(block.title, look)
            yield from _table_lines(block, look)
            yield from _rows(block.footer, look)
        case Totals():
            yield from (paint_line(each, look) for each in block.lines)
        case Problem():
            yield from _frame_problem(_problem(block, look), block.tone, look)
        case _:
            assert_never(block)


def _rows(rows: Iterable[Row], look: TextStyle) -> Iterator[str]:
    return (_row(each, look) for each in rows)


def _problem(block: Problem, look: TextStyle) -> Iterator[str]:
    """Write a problem: its summary, its places with values, and the hint."""
    word = paint_text(f"{block.severity}: ", block.tone, look)
    code = paint_text(f" [{block.code}]", Tone.FAINT, look)
    yield word + paint_text(block.summary, Tone.STRONG, look) + code
    for number, each in enumerate(block.excerpts):
        yield ""
        yield from _excerpt(each, block.address, look)
        if number == 0:
            yield from _value_lines(block.values, look)
    if not block.excerpts:
        yield from _value_lines(block.values, look)
        if block.address:
            yield ""
            yield f"  with {_plain_span(block.address, look)}"
    for said in (block.detail, f"hint: {block.hint}" if block.hint else ""):
        if said:
            yield ""
            yield from _prose_lines(said.rstrip("\n"), look, room=2)
    if address := code_address(look.docs_url, block.code):
        yield from ("", f"docs: {address}")


def _excerpt(excerpt: Excerpt, address: str, look: TextStyle) -> Iterator[str]:
    if excerpt.label:
        yield f"  {_plain_span(excerpt.label, look)}"
    elif address:
        yield f"  with {_plain_span(address, look)},"
    yield f"  {_plain_span(excerpt.place, look)}:"
    if excerpt.snippet:
        yield from _snippet_lines(excerpt.snippet, look)


def _value_lines(values: Sequence[str], look: TextStyle) -> Iterator[str]:
    """Write the values in an expression."""
    rule, bar = ("├" + "─" * 16, "│") if look.unicode else ("+" + "-" * 16, "|")
    if look.accessible:
        rule, bar = "where:", ""
    if values:
        yield f"    {rule}"
        yield from (f"    {bar} {_plain_span(each, look)}" for each in values)


def _plain_span(said: str, look: TextStyle) -> str:
    return paint_text(said, Tone.PLAIN, look)


def _join_lines(lines: Iterable[str]) -> str:
    return "".join([f"{each}\n" for each in lines])


def _row(row: Row, look: TextStyle) -> str:
    return (row_prefix(row.mark, row.column, look) + paint_line(row.text, look)).rstrip()


def _prose_lines(said: str, look: TextStyle, *, room: int = 0) -> list[str]:
    return [clean_text(each, unicode=look.unicode) for each in wrap_text(said, look.width - room)]


def _table_lines(table: Table, look: TextStyle) -> Iterator[str]:
    head = tuple(line(strong_span(name)) for name in table.columns)
    grid = [each.cells for each in table.rows] + ([head] if head else [])
    widths = [max(line_columns(cell, look) for cell in each) for each in zip(*grid, strict=True)]
    sides = [(width, at in table.numbers) for at, width in enumerate(widths)]
    if head:
        yield " " * table.column + _cells(head, sides, look)
    for row in table.rows:
        yield row_prefix(row.mark, table.column, look) + _cells(row.cells, sides, look)


def _cells(cells: tuple[Line, ...], sides: list[tuple[int, bool]], look: TextStyle) -> str:
    """Write cells in columns of fixed widths; numbers are right-aligned."""
    shown = []
    for cell, (width, is_right) in zip(cells, sides, strict=True):
        each, room = paint_line(cell, look), " " * (width - line_columns(cell, look))
        shown.append(room + each if is_right else each + room)
    return "  ".join(shown).rstrip()


def _snippet_lines(snippet: Snippet, look: TextStyle) -> Iterator[str]:
    """Write the line of source with carets under the span."""
    piece, start, end = crop_line(
        snippet.code.replace("\t", " "), snippet.start, snippet.end, max(look.width - 12, 40)
    )
    before, within, after = piece[:start], piece[start:end], piece[end:]
    gutter = f"{snippet.number:>{_GUTTER - 2}}: "
    yield (
        gutter
        + paint_text(before, Tone.PLAIN, look)
        + paint_text(within, Tone.MARKED, look)
        + paint_text(after, Tone.PLAIN, look)
    ).rstrip()
    if look.accessible:
        yield f"{' ' * _GUTTER}here: {clean_text(within, unicode=look.unicode)}"
        return
    indent = len(gutter) + text_width(clean_text(before, unicode=look.unicode))
    carets = "^" * max(1, text_width(clean_text(within, unicode=look.unicode)))
    yield " " * indent + carets + (" ..." if snippet.has_more else "")


def _frame_problem(lines: Iterable[str], tone: Tone, look: TextStyle) -> Iterator[str]:
    """Draw a bar at the left of a problem, where the terminal can show one."""
    if look.accessible or not look.unicode:
        yield from lines
        return
    top, bar, foot = (paint_text(each, tone, look) for each in "╷│╵")
    yield top
    yield from (f"{bar} {each}".rstrip() for each in lines)
    yield foot
