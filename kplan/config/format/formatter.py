"""Format a whole file as `terraform fmt` does."""

from collections.abc import Iterator, Sequence
from typing import Final

from kplan.config.format.layout import render_tokens
from kplan.config.format.token import (
    Kind,
    Token,
    UnclosedTemplateError,
    scan_tokens,
    trailing_space,
)
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from kplan.model.errors import ConfigError, KplanError

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
