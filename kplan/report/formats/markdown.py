"""Markdown for the comment on a pull request: what is grave first, what is long folded away.

A comment has a size it must not pass. What is grave is said in full before anything else is said
at all; what has no room is named, and what cannot even be named is counted.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kplan.model.dataclass import dataclass
from kplan.report.document import (
    Block,
    Document,
    Heading,
    Item,
    Mark,
    Paragraph,
    Problem,
    Rows,
    Table,
    Tone,
    Totals,
)
from kplan.report.formats.gravity import is_grave, said
from kplan.report.formats.markdown_pieces import fence_of, piece, prose, tally_grid
from kplan.report.formats.room import BETWEEN, Piece, fitted, size

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
    Mark.NONE: "to move or take over",
}
"""What becomes of those that are not grave, in the order of the sections."""


@dataclass(frozen=True, slots=True)
class _Section:
    """Pieces under one title; a section without a title stands by itself."""

    title: str
    pieces: tuple[Piece, ...]
    is_folded: bool = False
    is_grave: bool = False


def markdown(document: Document, limit: int = LIMITS["github"]) -> str:
    """Write a document of at most `limit` bytes; an empty one is ""."""
    if not document.blocks:
        return ""
    fence = fence_of(document)
    head = "\n\n".join(_head(document))
    sections = tuple(_sections(document.blocks, fence))
    room = limit - _MARGIN - size(head) - _FRAME * len(sections)
    grave = [piece for each in sections if each.is_grave for piece in each.pieces]
    quiet = [piece for each in sections if not each.is_grave for piece in each.pieces]
    first = fitted(grave, room)
    left = room - sum(size(each) + BETWEEN for each in first)
    told = iter((*first, *fitted(quiet, left)))
    bodies = [_section(each, [next(told) for _ in each.pieces], fence) for each in sections]
    return "\n\n".join([head, *bodies]) + "\n"


def _head(document: Document) -> Iterator[str]:
    """Say what must be known whatever else has room: the result, the cluster, the warnings."""
    if document.title:
        yield f"## {prose(document.title)}"
    for each in document.blocks:
        if isinstance(each, Totals):
            first, *rest = [prose(said(line)) for line in each.lines]
            yield "  \n".join([f"**{first}**", *rest])
    if isinstance(document.blocks[0], Heading):
        yield prose(said(document.blocks[0].text))
    yield from (tally_grid(each) for each in document.tallies)
    for each in document.blocks:
        if isinstance(each, Paragraph):
            yield ("" if each.tone is Tone.PLAIN else "> ") + prose(each.text)


def _sections(blocks: Sequence[Block], fence: str) -> Iterator[_Section]:
    """Put what is grave first, then the rest by what becomes of it."""
    if grave := [each for each in blocks if is_grave(each)]:
        pieces = tuple(piece(each, fence) for each in grave)
        yield _Section("Needs attention", pieces, is_grave=True)
    placed = [(place, each) for each in blocks if not is_grave(each) and (place := _place(each))]
    placed.sort(key=lambda each: each[0])
    for (_, title), members in groupby(placed, key=lambda each: each[0]):
        found = tuple(piece(each, fence) for _, each in members)
        lines = sum(each.ways[0].count("\n") for each in found)
        is_folded = bool(title) and lines > _OPEN_LINES
        counted = f"{len(found):,} {title}" if title in _WORDS.values() else title
        yield _Section(counted, found, is_folded)


def _place(block: Block) -> tuple[int, str] | None:
    """Give order and title of the section a block belongs to; None where it is in the head."""
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


def _section(section: _Section, told: Sequence[str], fence: str) -> str:
    body = _joined([each for each in told if each], fence)
    if left_out := sum(1 for each in told if not each):
        body += f"\n\n**and {left_out:,} more, for which there is no room here**"
    if not section.title:
        return body
    if section.is_folded:
        title = html.escape(section.title)
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
    return f"### {prose(section.title)}\n\n{body}"


def _joined(pieces: Sequence[str], fence: str) -> str:
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
