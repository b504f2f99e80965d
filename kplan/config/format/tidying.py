"""What the formatter changes besides space: old ways to write labels, values and types."""

from collections.abc import Iterator, Sequence
from typing import Final

from kplan.config.format.tokens import Kind, Token

_OPEN: Final = Token(Kind.OPEN, "(")
_CLOSE: Final = Token(Kind.CLOSE, ")")
_BARE_COLLECTIONS: Final = frozenset({"list", "map", "set"})
_QUOTED_TYPES: Final = {"string": ("string",), "list": ("list", "string"), "map": ("map", "string")}
_SHORTEST_WRAPPED: Final = 5
_OLD_TYPE: Final = (Kind.QUOTE_OPEN, Kind.LITERAL, Kind.QUOTE_CLOSE)


def tidied(found: Sequence[Token]) -> list[Token]:
    """Put labels in quotes, take values out of needless `"${...}"`, write types as types."""
    return list(_Tidier(found).body(()))


class _Tidier:
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
        rest = _without_comments(value)
        tidy = _type if blocks == ("variable",) and name == "type" else _unwrapped
        yield from value[: len(value) - len(rest)]
        core = _without_comments(rest[::-1])[::-1]
        yield from tidy(core)
        yield from rest[len(core) :]


def _without_comments(value: Sequence[Token]) -> Sequence[Token]:
    """Leave out the comments before a value."""
    place = 0
    while place < len(value) and value[place].kind is Kind.COMMENT:
        place += 1
    return value[place:]


def _type(value: Sequence[Token]) -> Sequence[Token]:
    if len(value) == 1 and value[0].text in _BARE_COLLECTIONS:
        return [value[0], _OPEN, Token(Kind.NAME, "any"), _CLOSE]
    if tuple(each.kind for each in value) != _OLD_TYPE or value[1].text not in _QUOTED_TYPES:
        return value
    name, *element = (Token(Kind.NAME, word) for word in _QUOTED_TYPES[value[1].text])
    return [name, _OPEN, *element, _CLOSE] if element else [name]


def _unwrapped(value: Sequence[Token]) -> Sequence[Token]:
    """Take `x` out of `"${x}"`, in parentheses if it has several lines."""
    if len(value) < _SHORTEST_WRAPPED or not _is_one_sequence(value):
        return value
    inner = list(value[2:-2])
    while inner and inner[0].kind is Kind.NEWLINE:
        inner.pop(0)
    while inner and inner[-1].kind is Kind.NEWLINE:
        inner.pop()
    is_long = any(each.kind is Kind.NEWLINE for each in inner)
    has_parentheses = inner[0].text == "(" and inner[-1].text == ")"
    return [_OPEN, *inner, _CLOSE] if is_long and not has_parentheses else inner


def _is_one_sequence(value: Sequence[Token]) -> bool:
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
