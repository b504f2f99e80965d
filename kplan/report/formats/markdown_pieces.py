"""Each block of a document as Markdown, long and short."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from kplan.report.document import (
    Block,
    Document,
    Heading,
    Item,
    Paragraph,
    Problem,
    Rows,
    Table,
    Tally,
    Totals,
)
from kplan.report.formats.diff import item_lines, row_line, rows_lines, table_lines
from kplan.report.formats.gravity import is_going, said
from kplan.report.formats.measure import clean
from kplan.report.formats.room import Piece

_CUT_LINES = 20
_SNIPPET = "~~~"
"""Another fence than that of diffs, which are put together; a snippet begins with its number."""
_SPECIAL = re.compile(r"([\\`*_<>\[\]|~&#])")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")


def prose(text: str) -> str:
    """Write text that means itself: no markup, no HTML, and nobody is called by an @."""
    lines = [_SPECIAL.sub(r"\\\1", clean(each)) for each in text.split("\n")]
    return _MENTION.sub("@\u200b", "\n".join(lines))


def code(text: str) -> str:
    """Write a name as code, whatever backticks it holds."""
    inner = clean(text)
    ticks = "`" * (_longest_run(inner) + 1)
    room = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{room}{inner}{room}{ticks}"


def grid(rows: Sequence[Sequence[str]], numbers: Collection[int]) -> str:
    """Write a table whose first row is its head; `numbers` are the places of columns of numbers."""
    first, *rest = [f"| {' | '.join(prose(cell) for cell in each)} |" for each in rows]
    rules = ("---:" if place in numbers else "---" for place in range(len(rows[0])))
    return "\n".join([first, f"| {' | '.join(rules)} |", *rest])


def tally_grid(tally: Tally) -> str:
    """Write counts as a table; what is none is left blank."""
    head = (tally.noun, *(each.text for each in tally.columns))
    bars = [(name, *(f"{count:,}" if count else "" for count in of)) for name, of in tally.bars]
    return grid([head, *bars], range(1, len(head)))


def fence_of(document: Document) -> str:
    """Give a fence that no line of the document closes by chance."""
    runs = [_longest_run(each) for block in document.blocks for each in _shaped(block)]
    return "`" * max(3, max(runs, default=0) + 1)


def piece(block: Block, fence: str) -> Piece:
    """Write a block in full, shorter, and by name."""
    match block:
        case Item():
            brief = [*(clean(said(each)) for each in block.comments), *map(row_line, block.remarks)]
            return _piece(fence, _shaped(block), brief, block.key)
        case Table(columns=(_, *_)):
            return Piece((_table(block), ""))
        case Table():
            going = replace(block, rows=tuple(each for each in block.rows if is_going(each.mark)))
            lines = _shaped(block)
            return _piece(fence, lines, _shaped(going), " ".join(lines[0].split()))
        case Rows():
            lines = _shaped(block)
            title = f"**{prose(said(block.title))}**\n\n" if block.title else ""
            cut = [*lines[:_CUT_LINES], f"and {len(lines) - _CUT_LINES:,} more lines"]
            name = f"{title.rstrip() or 'Details'}: {len(lines):,} lines"
            ways = [lines, cut] if len(lines) > _CUT_LINES else [lines]
            return Piece((*(f"{title}{fenced(fence, each, 'diff')}" for each in ways), name))
        case Problem():
            return Piece(("\n\n".join(_problem(block)), f"- {_headline(block)}"))
        case Heading() | Paragraph() | Totals():
            return Piece(("",))
        case _:
            assert_never(block)


def fenced(fence: str, lines: Iterable[str], language: str) -> str:
    """Write lines that keep their shape."""
    return "\n".join([f"{fence}{language}", *lines, fence])


def _piece(fence: str, lines: Sequence[str], brief: Sequence[str], name: str) -> Piece:
    ways = (lines, brief) if brief and len(brief) < len(lines) else (lines,)
    return Piece((*(fenced(fence, each, "diff") for each in ways), f"- {code(name)}"))


def _shaped(block: Block) -> list[str]:
    """Write the lines of a block that keep their shape."""
    match block:
        case Item():
            return list(item_lines(block))
        case Table(columns=()):
            return list(table_lines(block))
        case Rows():
            return list(rows_lines(block))
        case Problem():
            return [each.snippet.code for each in block.excerpts if each.snippet]
        case _:
            return []


def _table(table: Table) -> str:
    rows = [table.columns, *([said(cell) for cell in row.cells] for row in table.rows)]
    drawn = grid([[cell.strip() for cell in row] for row in rows], table.numbers)
    title, foot = (" ".join(said(row.text) for row in found) for found in (table.title, table.foot))
    head = f"**{prose(title)}**" if title else ""
    return "\n\n".join(filter(None, (head, drawn, prose(foot))))


def _problem(block: Problem) -> Iterator[str]:
    yield f"**{_headline(block)}**"
    for each in block.excerpts:
        yield prose(f"{each.label}: {each.place}" if each.label else each.place)
        if each.snippet is not None:
            found = each.snippet
            lead = f"{found.number:>4}: "
            carets = " " * (len(lead) + found.start) + "^" * max(1, found.end - found.start)
            yield fenced(_SNIPPET, [lead + clean(found.code.replace("\t", " ")), carets], "")
    if block.values:
        yield "\n".join(f"- {prose(each)}" for each in block.values)
    if block.detail:
        yield prose(block.detail)
    if block.hint:
        yield f"Hint: {prose(block.hint)}"


def _headline(block: Problem) -> str:
    at = f" with {code(block.address)}" if block.address else ""
    return f"{block.word}: {prose(block.summary)} ({block.code}){at}"


def _longest_run(text: str) -> int:
    return max((len(each) for each in re.findall("`+", text)), default=0)
