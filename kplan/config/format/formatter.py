"""Format a whole file as `terraform fmt` does."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kplan.config.format.token import (
    Kind,
    Token,
    UnclosedTemplateError,
    scan_tokens,
    trailing_space,
)
from kplan.config.functions.string import graphemes
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError

_TEMPLATE_INSIDE_AFTER: Final = frozenset({Kind.LITERAL, Kind.QUOTE_OPEN, Kind.HEREDOC_OPEN})
_TEMPLATE_INSIDE_BEFORE: Final = frozenset({Kind.LITERAL, Kind.QUOTE_CLOSE, Kind.HEREDOC_CLOSE})
_CLOSING: Final = frozenset({Kind.CLOSE, Kind.TEMPLATE_CLOSE})
_OPENING: Final = frozenset({Kind.OPEN, Kind.TEMPLATE_OPEN})
_BEFORE_NEGATION: Final = frozenset(
    {"(", "{", "[", "=", ":", ",", "?", "+", "*", "/", "%", "-", "!"}
    | {"==", "!=", ">", ">=", "<", "<=", "&&", "||"}
)


def has_space_between(before: Token | None, left: Token, right: Token) -> bool:
    """Return whether a space separates `left` and `right`; `before` is the token before both."""
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
    """Attach an index to its operand; `in` before a tuple is a keyword and not a name."""
    if left.text == "in" and before is not None and before.kind is Kind.NAME:
        return True
    if right.kind is not Kind.OPEN or right.text != "[":
        return None
    is_operand = left.kind in (Kind.NAME, Kind.NUMBER) or left.kind in _CLOSING
    return False if is_operand else None


def _unary_operators(before: Token | None, left: Token, _: Token) -> bool | None:
    """Attach `!` and a negating `-` to their operand."""
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
    """Find the first `=` of a line, unless the assigned value continues on the next line."""
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


_OPEN: Final = Token(Kind.OPEN, "(")
_CLOSE: Final = Token(Kind.CLOSE, ")")
_COLLECTION_TYPES: Final = frozenset({"list", "map", "set"})
_QUOTED_TYPES: Final = {"string": ("string",), "list": ("list", "string"), "map": ("map", "string")}
_MIN_TEMPLATE_TOKENS: Final = 5
_QUOTED_TYPE: Final = (Kind.QUOTE_OPEN, Kind.LITERAL, Kind.QUOTE_CLOSE)


def normalize_tokens(found: Sequence[Token]) -> list[Token]:
    """Put labels in quotes, take values out of needless `"${...}"`, write types as types."""
    return list(_Normalizer(found).body(()))


class _Normalizer:
    """Goes over the tokens once, body by body."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._found = found
        self._at = 0

    def body(self, blocks: tuple[str, ...]) -> Iterator[Token]:
        """Take the items of a body up to its brace or the end; `blocks` are the types around it."""
        while self._at < len(self._found) and self._here().text != "}":
            token = self._take()
            yield token
            if token.kind is not Kind.NAME:
                continue
            if self._at < len(self._found) and self._here().kind is Kind.EQUALS:
                yield self._take()
                yield from self._value(token.text, blocks)
            else:
                yield from self._block(token.text, blocks)

    def _here(self) -> Token:
        return self._found[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._found[self._at - 1]

    def _block(self, name: str, blocks: tuple[str, ...]) -> Iterator[Token]:
        yield from self._labels()
        if self._at < len(self._found):
            yield self._take()
            yield from self.body((*blocks, name))
        if self._at < len(self._found):
            yield self._take()

    def _labels(self) -> Iterator[Token]:
        while self._at < len(self._found) and self._here().text != "{":
            token = self._take()
            if token.kind is Kind.NAME:
                yield Token(Kind.QUOTE_OPEN, '"')
                yield Token(Kind.LITERAL, token.text)
                yield Token(Kind.QUOTE_CLOSE, '"')
            elif token.kind is not Kind.COMMENT:
                yield token

    def _value(self, name: str, blocks: tuple[str, ...]) -> Iterator[Token]:
        start, depth = self._at, 0
        while self._at < len(self._found):
            token = self._here()
            if depth == 0 and (token.ends_line or token.kind is Kind.CLOSE):
                break
            depth += token.depth
            self._at += 1
        value = self._found[start : self._at]
        rest = _skip_comments(value)
        tidy = _normalize_type if blocks == ("variable",) and name == "type" else _unwrap_template
        yield from value[: len(value) - len(rest)]
        core = _skip_comments(rest[::-1])[::-1]
        yield from tidy(core)
        yield from rest[len(core) :]


def _skip_comments(value: Sequence[Token]) -> Sequence[Token]:
    """Leave out the comments before a value."""
    place = 0
    while place < len(value) and value[place].kind is Kind.COMMENT:
        place += 1
    return value[place:]


def _normalize_type(value: Sequence[Token]) -> Sequence[Token]:
    if len(value) == 1 and value[0].text in _COLLECTION_TYPES:
        return [value[0], _OPEN, Token(Kind.NAME, "any"), _CLOSE]
    if tuple(each.kind for each in value) != _QUOTED_TYPE or value[1].text not in _QUOTED_TYPES:
        return value
    name, *element = (Token(Kind.NAME, word) for word in _QUOTED_TYPES[value[1].text])
    return [name, _OPEN, *element, _CLOSE] if element else [name]


def _unwrap_template(value: Sequence[Token]) -> Sequence[Token]:
    """Take `x` out of `"${x}"`, in parentheses if it has several lines."""
    if len(value) < _MIN_TEMPLATE_TOKENS or not _is_single_template(value):
        return value
    inner = list(value[2:-2])
    while inner and inner[0].kind is Kind.NEWLINE:
        inner.pop(0)
    while inner and inner[-1].kind is Kind.NEWLINE:
        inner.pop()
    is_long = any(each.kind is Kind.NEWLINE for each in inner)
    has_parentheses = inner[0].text == "(" and inner[-1].text == ")"
    return [_OPEN, *inner, _CLOSE] if is_long and not has_parentheses else inner


def _is_single_template(value: Sequence[Token]) -> bool:
    ends = (value[0].kind, value[-1].kind) == (Kind.QUOTE_OPEN, Kind.QUOTE_CLOSE)
    if not ends or not value[1].text.startswith("${") or value[-2].kind is not Kind.TEMPLATE_CLOSE:
        return False
    quotes = 0
    for token in value[2:-2]:
        if token.kind in (Kind.QUOTE_OPEN, Kind.QUOTE_CLOSE):
            quotes += 1 if token.kind is Kind.QUOTE_OPEN else -1
        elif quotes == 0 and token.kind in (
            Kind.TEMPLATE_OPEN,
            Kind.TEMPLATE_CLOSE,
            Kind.LITERAL,
        ):
            return False
    return True


def format_text(text: str, file: str) -> str:
    """Lay out the text of an HCL file as `terraform fmt` does; `file` names it in problems.

    Raises:
        ConfigError: the text has a syntax error.
        KplanError: the result would not have the same tokens, which is a defect of the formatter.

    """
    problems = parse_file(Source(file, text), is_body=True).diagnostics
    if problems:
        raise ConfigError(problems)
    try:
        given = scan_tokens(text)
        wanted = normalize_tokens(given)
        result = render_tokens(wanted) + trailing_space(text, given)
        found = scan_tokens(result)
    except UnclosedTemplateError:
        raise KplanError(f"{file} cannot be formatted") from None
    if found != wanted:
        raise KplanError(f"{file} would not say the same if it were formatted")
    return result
