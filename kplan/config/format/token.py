"""All tokens of a file, with comments and templates, for the formatter."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from kplan.config.syntax.source import HEREDOC, TOKEN


class Kind(Enum):
    """What a token is, as far as the space around it depends on it."""

    NAME = "name"
    NUMBER = "number"
    NEWLINE = "newline"
    COMMENT = "comment"
    OPEN = "( [ or {"
    CLOSE = ") ] or }"
    TEMPLATE_OPEN = "${ or %{"
    TEMPLATE_CLOSE = "} of a template"
    QUOTE_OPEN = "opening quote"
    QUOTE_CLOSE = "closing quote"
    HEREDOC_OPEN = "<<MARKER and the line end"
    HEREDOC_CLOSE = "MARKER on a line of its own"
    LITERAL = "text of a template"
    EQUALS = "="
    OPERATOR = "any other sign"


class Token(NamedTuple):
    """A token and its text. Joined with nothing but white space between them they are the file."""

    kind: Kind
    text: str

    @property
    def ends_line(self) -> bool:
        """Whether the next token is on another line; comments to the end of a line do too."""
        return self.kind is Kind.NEWLINE or (self.kind is Kind.COMMENT and self.text.endswith("\n"))

    @property
    def depth(self) -> int:
        """By how much it deepens the nesting of brackets: 1, 0 or -1."""
        return _DEPTHS.get(self.kind, 0)


class UnclosedTemplateError(Exception):
    """The text ends within a template, which a file that parses does not."""


_DEPTHS: Final = {Kind.OPEN: 1, Kind.TEMPLATE_OPEN: 1, Kind.CLOSE: -1, Kind.TEMPLATE_CLOSE: -1}
_KINDS: Final = {
    "word": Kind.NAME,
    "foreign": Kind.NAME,
    "number": Kind.NUMBER,
    "open": Kind.OPEN,
    "close": Kind.CLOSE,
    "comment": Kind.COMMENT,
    "equals": Kind.EQUALS,
}
_QUOTED_TEXT: Final = re.compile(r'(?:[^"\\$%]++|\\.|([$%])\1\{|[$%](?!\{))++', re.DOTALL)
_HEREDOC_LINE: Final = re.compile(r"(?:[^\n$%]++|([$%])\1\{|[$%](?!\{))*+\n?")
_SEQUENCE: Final = re.compile(r"[$%]\{~?")
_END_OF_SEQUENCE: Final = re.compile(r"[ \t\r]*+(~?\})")


def scan_tokens(text: str) -> list[Token]:
    """Read the tokens of a text that parses.

    Raises:
        UnreadableError: it does not, in a way that leaves a template open.

    """
    return list(_Scanner(text).scan())


def trailing_space(text: str, found: Sequence[Token]) -> str:
    """White space behind the last token, which may itself end in some."""
    count = len(text) - len(text.rstrip(" \t"))
    last = found[-1].text if found else ""
    return "" if last.endswith((" ", "\t")) else " " * count


def _split_token(kind: str, text: str) -> Iterator[Token]:
    """Split tokens that the scanner returns as one: `a.b`, `.0`, `.*` and `[*]`."""
    if kind == "splat":
        yield Token(Kind.OPEN, "[")
        yield Token(Kind.OPERATOR, "*")
        yield Token(Kind.CLOSE, "]")
    elif kind == "dotsplat":
        yield Token(Kind.OPERATOR, ".")
        yield Token(Kind.OPERATOR, "*")
    elif kind == "legacy":
        yield Token(Kind.OPERATOR, ".")
        yield Token(Kind.NUMBER, text[1:])
    elif kind == "chain":
        first, *others = text.split(".")
        yield Token(Kind.NAME, first)
        for each in others:
            yield Token(Kind.OPERATOR, ".")
            yield Token(Kind.NAME, each)
    else:
        yield Token(_KINDS.get(kind, Kind.OPERATOR), text)


class _Scanner:
    """Reads from a position on; each method continues where the previous one stopped."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def scan(self) -> Iterator[Token]:
        """Read to the end of the text."""
        while (found := self._next()) is not None:
            yield from found

    def _next(self) -> list[Token] | None:
        """Read the next token or a whole template. None at the end."""
        match = TOKEN(self._text, self._at, len(self._text))
        kind = match.lastgroup if match else None
        if match is None or kind is None or kind == "end":
            return None
        self._at = match.end()
        if kind in ("text", "quote"):
            self._at = match.start(kind) + 1
            return list(self._scan_quoted())
        if kind == "heredoc":
            self._at = match.start(kind)
            return list(self._heredoc())
        if kind == "line":
            return [Token(Kind.COMMENT, match[kind] + self._take("\n"))]
        if kind == "newline":
            has_return = self._text.startswith("\r", match.start(kind) - 1)
            return [Token(Kind.NEWLINE, "\r\n" if has_return else "\n")]
        return list(_split_token(kind, match[kind]))

    def _take(self, text: str) -> str:
        if not self._text.startswith(text, self._at):
            return ""
        self._at += len(text)
        return text

    def _scan_quoted(self) -> Iterator[Token]:
        yield Token(Kind.QUOTE_OPEN, '"')
        while not self._take('"'):
            match = _QUOTED_TEXT.match(self._text, self._at)
            if match is not None:
                self._at = match.end()
                yield Token(Kind.LITERAL, match[0])
            else:
                yield from self._sequence()
        yield Token(Kind.QUOTE_CLOSE, '"')

    def _heredoc(self) -> Iterator[Token]:
        opening = HEREDOC(self._text, self._at)
        if opening is None:
            raise UnclosedTemplateError
        yield Token(Kind.HEREDOC_OPEN, opening[0])
        self._at = opening.end()
        close = re.compile(rf"[ \t]*{re.escape(opening[2])}[ \t]*(?=\r?(?:\n|\Z))")
        while (match := close.match(self._text, self._at)) is None:
            yield from self._heredoc_line()
        self._at = match.end()
        yield Token(Kind.HEREDOC_CLOSE, match[0])

    def _heredoc_line(self) -> Iterator[Token]:
        """Read up to the end of the line, with the contents of its sequences."""
        while True:
            match = _HEREDOC_LINE.match(self._text, self._at)
            if match is not None and match[0]:
                self._at = match.end()
                yield Token(Kind.LITERAL, match[0])
                if match[0].endswith("\n"):
                    return
            yield from self._sequence()

    def _sequence(self) -> Iterator[Token]:
        opening = _SEQUENCE.match(self._text, self._at)
        if opening is None:
            raise UnclosedTemplateError
        self._at = opening.end()
        yield Token(Kind.TEMPLATE_OPEN, opening[0])
        depth = 0
        while depth or (close := _END_OF_SEQUENCE.match(self._text, self._at)) is None:
            found = self._next()
            if found is None:
                raise UnclosedTemplateError
            depth += sum(each.depth for each in found)
            yield from found
        self._at = close.end()
        yield Token(Kind.TEMPLATE_CLOSE, close[1])
