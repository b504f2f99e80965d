"""Markdown for the comment on a pull request, within a size limit."""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import assert_never

from kplan.model.dataclass import dataclass
from kplan.report.document import (
    Block,
    Document,
    Heading,
    Item,
    Mark,
    Paragraph,
    Problem,
    Row,
    Rows,
    Table,
    Tally,
    Tone,
    Totals,
    is_deletion,
    needs_attention,
    plain_text,
)
from kplan.report.formats.fit import SEPARATOR_SIZE, TextPiece, fit_pieces, piece_size
from kplan.report.formats.text import clean_text, text_width
from kplan.report.links import NO_LINKS, Links

_SIGNS: Mapping[Mark, str] = {each: each.value for each in Mark} | {Mark.CHANGE: "!"}
"""A diff knows no `~`; its `!` stands out as that does."""


def item_lines(item: Item) -> Iterator[str]:
    """Write one change."""
    for each in item.comments:
        yield clean_text(plain_text(each))
    yield from map(row_line, (*item.rows, *item.remarks))


def rows_lines(block: Rows) -> Iterator[str]:
    """Write rows, without their title."""
    yield from map(row_line, block.rows)


def table_lines(table: Table) -> Iterator[str]:
    """Write a table with its title and foot, cells aligned."""
    yield from map(row_line, table.title)
    grid = [[clean_text(plain_text(cell)) for cell in row.cells] for row in table.rows]
    widths = [max(text_width(cell) for cell in each) for each in zip(*grid, strict=True)]
    for row, cells in zip(table.rows, grid, strict=True):
        padded = [
            cell + " " * (width - text_width(cell))
            for cell, width in zip(cells, widths, strict=True)
        ]
        yield _diff_line("  ".join(padded), row.mark, table.column)
    yield from map(row_line, table.footer)


def row_line(row: Row) -> str:
    """Write one row: its mark first, its text as far in as it is."""
    return _diff_line(clean_text(plain_text(row.text)), row.mark, row.column)


def _diff_line(text: str, mark: Mark, column: int) -> str:
    sign = _SIGNS[mark]
    room = " " * max(column - 2 - len(sign), 1 if sign else 0)
    return f"{sign}{room}{text}".rstrip()


_CUT_LINES = 20
_SNIPPET = "~~~"
"""Another fence than that of diffs, which are put together; a snippet begins with its number."""
_SPECIAL = re.compile(r"([\\`*_<>\[\]|~&#])")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")


def prose_markdown(text: str) -> str:
    """Escape text: no markup, no HTML, and no mentions by @."""
    lines = [_SPECIAL.sub(r"\\\1", clean_text(each)) for each in text.split("\n")]
    return _MENTION.sub("@\u200b", "\n".join(lines))


def code_markdown(text: str) -> str:
    """Write a name as code, with any backticks."""
    inner = clean_text(text)
    ticks = "`" * (_longest_run(inner) + 1)
    room = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{room}{inner}{room}{ticks}"


def table_markdown(rows: Sequence[Sequence[str]], numbers: Collection[int]) -> str:
    """Write a table whose first row is its head; `numbers` are the positions of numeric columns."""
    first, *rest = [f"| {' | '.join(prose_markdown(cell) for cell in each)} |" for each in rows]
    rules = ("---:" if place in numbers else "---" for place in range(len(rows[0])))
    return "\n".join([first, f"| {' | '.join(rules)} |", *rest])


def tally_markdown(tally: Tally) -> str:
    """Write counts as a table; zero is left blank."""
    head = (tally.noun, *(each.text for each in tally.columns))
    bars = [(name, *(f"{count:,}" if count else "" for count in of)) for name, of in tally.bars]
    return table_markdown([head, *bars], range(1, len(head)))


def code_fence(document: Document) -> str:
    """Return a fence that no line of the document closes by chance."""
    runs = [_longest_run(each) for block in document.blocks for each in _preformatted_lines(block)]
    return "`" * max(3, max(runs, default=0) + 1)


def link_markdown(text: str, address: str) -> str:
    """Write a link, or the text alone where there is no address."""
    return f"[{text}](<{address}>)" if address else text


def markdown_piece(block: Block, fence: str, links: Links = NO_LINKS) -> TextPiece:
    """Write a block in full, shorter, and by name."""
    match block:
        case Item():
            brief = [
                *(clean_text(plain_text(each)) for each in block.comments),
                *map(row_line, block.remarks),
            ]
            return _piece(fence, _preformatted_lines(block), brief, block.address)
        case Table(columns=(_, *_)):
            return TextPiece((_table(block), ""))
        case Table():
            going = replace(
                block, rows=tuple(each for each in block.rows if is_deletion(each.mark))
            )
            lines = _preformatted_lines(block)
            return _piece(fence, lines, _preformatted_lines(going), " ".join(lines[0].split()))
        case Rows():
            lines = _preformatted_lines(block)
            title = f"**{prose_markdown(plain_text(block.title))}**\n\n" if block.title else ""
            cut = [*lines[:_CUT_LINES], f"and {len(lines) - _CUT_LINES:,} more lines"]
            name = f"{title.rstrip() or 'Details'}: {len(lines):,} lines"
            ways = [lines, cut] if len(lines) > _CUT_LINES else [lines]
            return TextPiece(
                (*(f"{title}{fence_text(fence, each, 'diff')}" for each in ways), name)
            )
        case Problem():
            return TextPiece(("\n\n".join(_problem(block, links)), f"- {_headline(block, links)}"))
        case Heading() | Paragraph() | Totals():
            return TextPiece(("",))
        case _:
            assert_never(block)


def fence_text(fence: str, lines: Iterable[str], language: str) -> str:
    """Write lines that keep their shape."""
    return "\n".join([f"{fence}{language}", *lines, fence])


def _piece(fence: str, lines: Sequence[str], brief: Sequence[str], name: str) -> TextPiece:
    ways = (lines, brief) if brief and len(brief) < len(lines) else (lines,)
    return TextPiece(
        (*(fence_text(fence, each, "diff") for each in ways), f"- {code_markdown(name)}")
    )


def _preformatted_lines(block: Block) -> list[str]:
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
    rows = [table.columns, *([plain_text(cell) for cell in row.cells] for row in table.rows)]
    drawn = table_markdown([[cell.strip() for cell in row] for row in rows], table.numbers)
    title, foot = (
        " ".join(plain_text(row.text) for row in found) for found in (table.title, table.footer)
    )
    head = f"**{prose_markdown(title)}**" if title else ""
    return "\n\n".join(filter(None, (head, drawn, prose_markdown(foot))))


def _problem(block: Problem, links: Links) -> Iterator[str]:
    yield f"**{_headline(block, links)}**"
    for each in block.excerpts:
        place = prose_markdown(f"{each.label}: {each.place}" if each.label else each.place)
        yield link_markdown(place, links.line_address(each.source_range))
        if each.snippet is not None:
            found = each.snippet
            lead = f"{found.number:>4}: "
            carets = " " * (len(lead) + found.start) + "^" * max(1, found.end - found.start)
            yield fence_text(
                _SNIPPET, [lead + clean_text(found.code.replace("\t", " ")), carets], ""
            )
    if block.values:
        yield "\n".join(f"- {prose_markdown(each)}" for each in block.values)
    if block.detail:
        yield prose_markdown(block.detail)
    if block.hint:
        yield f"Hint: {prose_markdown(block.hint)}"


def _headline(block: Problem, links: Links) -> str:
    code = link_markdown(block.code, links.code_address(block.code))
    at = f" with {code_markdown(block.address)}" if block.address else ""
    return f"{block.severity}: {prose_markdown(block.summary)} ({code}){at}"


def _longest_run(text: str) -> int:
    return max((len(each) for each in re.findall("`+", text)), default=0)


LIMITS: Mapping[str, int] = {
    "github": 65_536,
    "gitlab": 1_000_000,
    "bitbucket": 32_768,
    "azure": 150_000,
    "summary": 1_048_576,
}
"""How long a comment may be (as Atlantis has it), and the summary of a job on GitHub."""

_MARGIN = 512
"""Left free for what others put around the text, as the mark that finds the comment again."""
_FRAME = 160
"""What a heading, a fold and the count of what is left out take."""
_OPEN_LINES = 12
_WORDS: Mapping[Mark, str] = {
    Mark.CHANGE: "to update in place",
    Mark.ADD: "to create",
    Mark.FORGET: "to forget",
    Mark.NONE: "to move or import",
}
"""What becomes of those that are not grave, in the order of the sections."""


@dataclass(frozen=True, slots=True)
class _Section:
    """Pieces under one title; a section without a title is by itself."""

    title: str
    pieces: tuple[TextPiece, ...]
    is_folded: bool = False
    needs_attention: bool = False


def render_markdown(
    document: Document, limit: int = LIMITS["github"], links: Links = NO_LINKS
) -> str:
    """Write a document of at most `limit` bytes; an empty one is ""."""
    if not document.blocks:
        return ""
    fence = code_fence(document)
    head = "\n\n".join(_header(document, links))
    sections = tuple(_sections(document.blocks, fence, links))
    room = limit - _MARGIN - piece_size(head) - _FRAME * len(sections)
    grave = [piece for each in sections if each.needs_attention for piece in each.pieces]
    quiet = [piece for each in sections if not each.needs_attention for piece in each.pieces]
    first = fit_pieces(grave, room)
    left = room - sum(piece_size(each) + SEPARATOR_SIZE for each in first)
    found = iter((*first, *fit_pieces(quiet, left)))
    bodies = [_section(each, [next(found) for _ in each.pieces], fence) for each in sections]
    return "\n\n".join([head, *bodies]) + "\n"


def _header(document: Document, links: Links) -> Iterator[str]:
    """Write the parts that are never cut: the result, the cluster, the warnings."""
    if document.title:
        yield f"## {prose_markdown(document.title)}"
    for each in document.blocks:
        if isinstance(each, Totals):
            first, *rest = [prose_markdown(plain_text(line)) for line in each.lines]
            yield "  \n".join([f"**{first}**", *rest])
    if isinstance(document.blocks[0], Heading):
        yield prose_markdown(plain_text(document.blocks[0].text))
    yield from _links(document, links)
    yield from (tally_markdown(each) for each in document.tallies)
    for each in document.blocks:
        if isinstance(each, Paragraph):
            yield ("" if each.tone is Tone.PLAIN else "> ") + prose_markdown(each.text)


def _links(document: Document, links: Links) -> Iterator[str]:
    if named := [link_markdown(name, address) for name, address in links.addresses()]:
        yield " | ".join(named)
    if links.apply_hint and document.tallies:
        yield prose_markdown(links.apply_hint)


def _sections(blocks: Sequence[Block], fence: str, links: Links) -> Iterator[_Section]:
    """Sort severe changes first, then the rest by action."""
    if grave := [each for each in blocks if needs_attention(each)]:
        pieces = [markdown_piece(each, fence, links) for each in grave]
        pieces += _places_piece(grave, links)
        yield _Section("Needs attention", tuple(pieces), needs_attention=True)
    placed = [
        (place, each)
        for each in blocks
        if not needs_attention(each) and (place := _section_key(each))
    ]
    placed.sort(key=lambda each: each[0])
    for (_, title), members in groupby(placed, key=lambda each: each[0]):
        shown = [each for _, each in members]
        found = [markdown_piece(each, fence, links) for each in shown]
        lines = sum(each.variants[0].count("\n") for each in found)
        is_folded = bool(title) and lines > _OPEN_LINES
        count = sum(each.count for each in shown if isinstance(each, Item))
        counted = f"{count:,} {title}" if title in _WORDS.values() else title
        yield _Section(counted, (*found, *_places_piece(shown, links)), is_folded)


_MAX_PLACES = 20


def _places_piece(blocks: Iterable[Block], links: Links) -> Sequence[TextPiece]:
    """Link to where changes are declared: no link works inside of a diff."""
    places = [
        link_markdown(code_markdown(each.address), address)
        for each in blocks
        if isinstance(each, Item) and (address := links.line_address(each.declared_at))
    ]
    if not places:
        return ()
    more = f" and {len(places) - _MAX_PLACES:,} more" if len(places) > _MAX_PLACES else ""
    text = f"Declared: {', '.join(places[:_MAX_PLACES])}{more}"
    return (TextPiece((text, ""), is_counted=False),)


def _section_key(block: Block) -> tuple[int, str] | None:
    """Return order and title of the section a block belongs to; None where it is in the head."""
    match block:
        case Table(columns=(_, *_)) | Rows(is_legend=False):
            return 0, ""
        case Problem():
            return 1, "Warnings"
        case Table():
            return 2, "Groups of changes"
        case Item():
            mark = block.mark if block.mark in _WORDS else Mark.NONE
            return 3 + list(_WORDS).index(mark), _WORDS[mark]
        case _:
            return None


def _section(section: _Section, items: Sequence[str], fence: str) -> str:
    body = _join_pieces([each for each in items if each], fence)
    pairs = zip(section.pieces, items, strict=True)
    if left_out := sum(1 for piece, each in pairs if piece.is_counted and not each):
        body += f"\n\n**and {left_out:,} more, left out for size**"
    if not section.title:
        return body
    if section.is_folded:
        title = html.escape(section.title)
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
    return f"### {prose_markdown(section.title)}\n\n{body}"


def _join_pieces(pieces: Sequence[str], fence: str) -> str:
    """Put pieces below each other; neighbouring diffs become one, neighbouring names a list."""
    whole = "\n\n".join(pieces).replace(f"\n{fence}\n\n{fence}diff\n", "\n\n")
    lines = whole.split("\n")
    return "\n".join(
        each
        for at, each in enumerate(lines)
        if each or not (_is_name(lines[at - 1]) and _is_name(lines[at + 1]))
    )


def _is_name(line: str) -> bool:
    return line.startswith("- `")
