"""The space between tokens: around each of them, before each line, and in columns.

A line has up to three cells: what leads, an assignment that ends on the line, a comment. Lines
that follow each other and have the same cell form a column.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kplan.config.format.spacing import is_apart
from kplan.config.format.tokens import Kind, Token
from kplan.config.functions.graphemes import graphemes

_STEP: Final = 2


@dataclass(slots=True)
class _Line:
    """One line: the places of its tokens, and where its second and third cell begin."""

    start: int
    assign: int
    comment: int
    end: int

    @property
    def has_assign(self) -> bool:
        return self.assign < self.comment

    @property
    def has_comment(self) -> bool:
        return self.comment < self.end


def laid_out(found: Sequence[Token]) -> str:
    """Write the tokens in their layout."""
    lines = list(_lines(found))
    spaces = [0] * len(found)
    _space(found, lines, spaces)
    _indent(found, lines, spaces)
    _align(found, lines, spaces)
    return "".join(" " * space + token.text for space, token in zip(spaces, found, strict=True))


def _lines(found: Sequence[Token]) -> Iterator[_Line]:
    start = 0
    for place, token in enumerate(found):
        if token.ends_line or place == len(found) - 1:
            yield _cells(found, start, place + 1)
            start = place + 1


def _cells(found: Sequence[Token], start: int, end: int) -> _Line:
    has_comment = end - start > 1 and found[end - 1].kind is Kind.COMMENT
    comment = end - 1 if has_comment else end
    return _Line(start, _assignment(found, start, comment), comment, end)


def _assignment(found: Sequence[Token], start: int, end: int) -> int:
    """Find the first `=` of a line, unless what it assigns goes on behind the line."""
    for place in range(start + 1, end):
        if found[place].kind is Kind.EQUALS:
            is_whole = sum(token.depth for token in found[place:end]) == 0
            return place if is_whole else end
    return end


def _space(found: Sequence[Token], lines: Sequence[_Line], spaces: list[int]) -> None:
    for line in lines:
        for start, end in ((line.start, line.assign), (line.assign, line.comment)):
            for place in range(start + 1, end):
                before = found[place - 2] if place - 2 >= start else None
                spaces[place] = int(is_apart(before, found[place - 1], found[place]))
        if line.has_assign:
            spaces[line.assign] = 1


def _indent(found: Sequence[Token], lines: Sequence[_Line], spaces: list[int]) -> None:
    """Indent each line by the lines above it that open more brackets than they close."""
    levels: list[int] = []
    for line in lines:
        net = _net_depth(found, line)
        if found[line.start].kind is Kind.NEWLINE:
            continue
        if net < 0:
            _close(levels, -net)
        spaces[line.start] = _STEP * len(levels)
        if net > 0:
            levels.append(net)


def _net_depth(found: Sequence[Token], line: _Line) -> int:
    net = 0
    for token in found[line.start : line.comment]:
        net += token.depth
        if token.kind is Kind.HEREDOC_OPEN:
            break
    return net


def _close(levels: list[int], count: int) -> None:
    """Leave as many levels as the closed brackets had opened."""
    while count and levels:
        last = levels[-1]
        if count < last:
            levels[-1] = last - count
            return
        levels.pop()
        count -= last


def _align(found: Sequence[Token], lines: Sequence[_Line], spaces: list[int]) -> None:
    def width(start: int, end: int) -> int:
        return sum(spaces[at] + _columns(found[at].text) for at in range(start, end))

    for column in _runs(lines, lambda line: line.has_assign):
        widths = [width(line.start, line.assign) for line in column]
        for line, own in zip(column, widths, strict=True):
            spaces[line.assign] = max(widths) - own + 1
    for column in _runs(lines, lambda line: line.has_comment):
        widths = [width(line.start, line.comment) for line in column]
        for line, own in zip(column, widths, strict=True):
            spaces[line.comment] = max(widths) - own + 1


def _columns(text: str) -> int:
    return len(text) if text.isascii() else len(graphemes(text))


def _runs(lines: Sequence[_Line], belongs: Callable[[_Line], bool]) -> Iterator[list[_Line]]:
    run: list[_Line] = []
    for line in lines:
        if belongs(line):
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run
