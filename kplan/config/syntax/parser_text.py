"""The text of one top-level item rewritten for the parser, offsets unchanged."""

from typing import NamedTuple


class TemplatePiece(NamedTuple):
    """One part of a template in the order of the text.

    `kind` is one of text, value, if, else, endif, for, endfor. Offsets count from the item's start.
    A value, if or for stands for one expression, which the parser sees as an element of a list.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    key_name: str | None = None
    value_name: str = ""


class QuotedText(NamedTuple):
    """A string that the parser does not see: plain text, or the pieces of a template."""

    end: int
    text: str | None
    pieces: tuple[TemplatePiece, ...] = ()
    is_heredoc: bool = False


class SyntaxProblem(Exception):  # noqa: N818 - not an error of the program
    """An item cannot be read. Offsets are those of the file."""

    def __init__(self, code: str, start: int, end: int, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.start = start
        self.end = end
        self.detail = detail
        self.hint = hint
        self.related: tuple[tuple[str, int, int], ...] = ()


class ParserText:
    """What the parser gets to see of `text[base:...]`, and what was taken out of it."""

    def __init__(self, text: str, base: int, limit: int) -> None:
        self.text = text
        self.base = base
        self.limit = limit
        self.quoted: dict[int, QuotedText] = {}
        self.signs: dict[int, str] = {}
        self._pieces: list[str] = []
        self._copied = max(base, 0)

    def put(self, start: int, end: int, instead: str) -> None:
        """Show the parser `instead`, filled up with blanks, for the text from start to end."""
        self._pieces.append(self.text[self._copied : start])
        self._pieces.append(instead.ljust(end - start))
        self._copied = end

    def rewritten(self, end: int) -> str:
        """Return the parser's text of the item, which ends at `end`."""
        return "".join(self._pieces) + self.text[self._copied : end]
