"""Spaces between tokens, indentation and column alignment."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kplan.config.format.token import Kind, Token
from kplan.config.functions.grapheme import graphemes
from kplan.model.dataclass import dataclass

_TEMPLATE_INSIDE_AFTER: Final = frozenset({Kind.LITERAL, Kind.QUOTE_OPEN, Kind.HEREDOC_OPEN})
_TEMPLATE_INSIDE_BEFORE: Final = frozenset({Kind.LITERAL, Kind.QUOTE_CLOSE, Kind.HEREDOC_CLOSE})
_CLOSING: Final = frozenset({Kind.CLOSE, Kind.TEMPLATE_CLOSE})
_OPENING: Final = frozenset({Kind.OPEN, Kind.TEMPLATE_OPEN})
_BEFORE_NEGATION: Final = frozenset(
    {"(", "{", "[", "=", ":", ",", "?", "+", "*", "/", "%", "-", "!"}
    | {"==", "!=", ">", ">=", "<", "<=", "&&", "||"}
)


def has_space_between(before: Token | None, left: Token, right: Token) -> bool:
    """Give whether `left` and `right` have a space between them; `before` is what precedes both."""
    for rule in (
        _tight_operators,
        _commas,
        _templates,
        _brackets_after_names,
        _unary_operators,
        _braces,
    ):
        decided = rule(before, left, right)
        if decided is not None:
            return decided
    return left.kind not in _OPENING and right.kind not in _CLOSING


def _tight_operators(_: Token | None, left: Token, right: Token) -> bool | None:
    """Nothing before a line's end, around points, or between a function and its arguments."""
    if right.kind is Kind.NEWLINE:
        return False
    if left.kind is Kind.NAME and right.text in ("(", "::"):
        return False
    if left.text == "::" and right.kind is Kind.NAME:
        return False
    return False if "." in (left.text, right.text) and _is_point(left, right) else None


def _is_point(left: Token, right: Token) -> bool:
    return any(each.text == "." and each.kind is Kind.OPERATOR for each in (left, right))


def _commas(_: Token | None, left: Token, right: Token) -> bool | None:
    if right.kind is Kind.OPERATOR and right.text in (",", "..."):
        return False
    return True if left.kind is Kind.OPERATOR and left.text == "," else None


def _templates(_: Token | None, left: Token, right: Token) -> bool | None:
    """Nothing is added to the text of a template."""
    inside = left.kind in _TEMPLATE_INSIDE_AFTER or right.kind in _TEMPLATE_INSIDE_BEFORE
    return False if inside else None


def _brackets_after_names(before: Token | None, left: Token, right: Token) -> bool | None:
    """Put an index close to what it indexes; `in` is a word and no name before a tuple."""
    if left.text == "in" and before is not None and before.kind is Kind.NAME:
        return True
    if right.kind is not Kind.OPEN or right.text != "[":
        return None
    is_operand = left.kind in (Kind.NAME, Kind.NUMBER) or left.kind in _CLOSING
    return False if is_operand else None


def _unary_operators(before: Token | None, left: Token, _: Token) -> bool | None:
    """`!` and a `-` that negates stand close to their operand."""
    if left.kind is not Kind.OPERATOR:
        return None
    if left.text == "!":
        return False
    if left.text == "-":
        return before is not None and before.text not in _BEFORE_NEGATION
    return None


def _braces(_: Token | None, left: Token, right: Token) -> bool | None:
    """Braces have space inside, unless they are empty; templates only around braces."""
    opens, closes = left.text == "{", right.text == "}" and right.kind is Kind.CLOSE
    if opens or closes:
        return not (opens and closes)
    if left.kind is Kind.TEMPLATE_OPEN and right.text == "{":
        return True
    if left.kind is Kind.CLOSE and left.text == "}" and right.kind is Kind.TEMPLATE_CLOSE:
        return True
    if left.kind is Kind.TEMPLATE_CLOSE and right.kind is Kind.TEMPLATE_OPEN:
        return False
    return None


_INDENT_WIDTH: Final = 2


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


def render_tokens(found: Sequence[Token]) -> str:
    """Write the tokens in their layout."""
    lines = list(_lines(found))
    spaces = [0] * len(found)
    _set_spaces(found, lines, spaces)
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


def _set_spaces(found: Sequence[Token], lines: Sequence[_Line], spaces: list[int]) -> None:
    for line in lines:
        for start, end in ((line.start, line.assign), (line.assign, line.comment)):
            for place in range(start + 1, end):
                before = found[place - 2] if place - 2 >= start else None
                spaces[place] = int(has_space_between(before, found[place - 1], found[place]))
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
            _close_levels(levels, -net)
        spaces[line.start] = _INDENT_WIDTH * len(levels)
        if net > 0:
            levels.append(net)


def _net_depth(found: Sequence[Token], line: _Line) -> int:
    net = 0
    for token in found[line.start : line.comment]:
        net += token.depth
        if token.kind is Kind.HEREDOC_OPEN:
            break
    return net


def _close_levels(levels: list[int], count: int) -> None:
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
        return sum(spaces[at] + _text_width(found[at].text) for at in range(start, end))

    for column in _consecutive_lines(lines, lambda line: line.has_assign):
        widths = [width(line.start, line.assign) for line in column]
        for line, own in zip(column, widths, strict=True):
            spaces[line.assign] = max(widths) - own + 1
    for column in _consecutive_lines(lines, lambda line: line.has_comment):
        widths = [width(line.start, line.comment) for line in column]
        for line, own in zip(column, widths, strict=True):
            spaces[line.comment] = max(widths) - own + 1


def _text_width(text: str) -> int:
    return len(text) if text.isascii() else len(graphemes(text))


def _consecutive_lines(
    lines: Sequence[_Line], belongs: Callable[[_Line], bool]
) -> Iterator[list[_Line]]:
    run: list[_Line] = []
    for line in lines:
        if belongs(line):
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run
