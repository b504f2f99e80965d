"""The wall to python-hcl2: all that kplan knows of it, and of lark under it."""

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from hcl2 import parser as _hcl2_parser  # noqa: TID253 - this module is itself imported lazily
from hcl2.api import parses_to_tree  # noqa: TID253
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from kplan.config.syntax.source import TOKEN


class TemplatePiece(NamedTuple):
    """One part of a template in the order of the text.

    `kind` is one of text, value, if, else, endif, for, endfor. Offsets count from the item's start.
    A value, if or for means one expression, which the parser sees as an element of a list.
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
    """An item cannot be read. Offsets are those of the file.

    `summary` is that of this use of the code, where it is not the code's title.
    """

    def __init__(
        self, code: str, start: int, end: int, detail: str, hint: str = "", *, summary: str = ""
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.start = start
        self.end = end
        self.detail = detail
        self.hint = hint
        self.summary = summary
        self.related: tuple[tuple[str, int, int], ...] = ()


class ParserText:
    """The text that the parser gets of `text[base:...]`, and the parts taken out of it."""

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

    def rewrite(self, end: int) -> str:
        """Return the parser's text of the item, which ends at `end`."""
        return "".join(self._pieces) + self.text[self._copied : end]


# The first of these terminals that the parser could have gone on with says what is missing.
_WANTED = (
    ("LPAR", "A value is expected"),
    ("$END", "A line break is expected"),
    ("IN", 'The word "in" is expected'),
    ("FOR_OBJECT_ARROW", "=> and a value are expected"),
    ("EQ", "= or : and a value are expected"),
    ("COLON", ": and a value are expected"),
    ("RSQB", "] is expected"),
    ("RPAR", ") is expected"),
    ("NAME", "A name is expected"),
)


def _keep_grammar_cache() -> None:
    """Let python-hcl2 keep its grammar cache in the user's folder if its own cannot be written.

    It writes into its installed package and, where that fails, builds the grammar again at each
    start, which takes 1.7 s (python-hcl2 8.1.4, hcl2/parser.py).
    """
    own: Path = _hcl2_parser.PARSER_FILE
    if own.exists() or os.access(own.parent, os.W_OK) or os.environ.get("CI"):
        return
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kplan"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            grammar = own.with_name("hcl2.lark").stat()
            stamp = f"{grammar.st_size:x}-{grammar.st_mtime_ns:x}"
            _hcl2_parser.PARSER_FILE = folder / f"hcl2-grammar-{stamp}.bin"


_keep_grammar_cache()


def parse_text(text: str, draft: ParserText) -> Any:  # noqa: ANN401 - lark's tree is untyped here
    """Parse the rewritten text of one item to lark's tree.

    Raises:
        SyntaxProblem: the text is no HCL.

    """
    try:
        return parses_to_tree(text)
    except UnexpectedToken as unexpected:
        token = unexpected.token
        start = len(text) if token.type == "$END" else token.start_pos
        expected: Collection[str] = unexpected.expected
    except UnexpectedCharacters as unexpected:
        start = cast("int", unexpected.pos_in_stream)
        expected = unexpected.allowed
    raise _parser_problem(text, draft, start, expected)


def _parser_problem(
    text: str, draft: ParserText, start: int, expected: Collection[str]
) -> SyntaxProblem:
    """Return the token at which the parser stopped, and the tokens it expected."""
    start += len(text[start:]) - len(text[start:].lstrip(" \t"))
    before = text[:start].rstrip(" \t")
    if before.endswith("\n") or start >= len(text) or text[start] == "\n":
        start = len(before.rstrip())
        end, found = start + 1, "the end of the line"
    else:
        end = _token_end(draft, start)
        found = draft.text[draft.base + start : draft.base + end].strip() or "the end of the line"
    result = next((each for terminal, each in _WANTED if terminal in expected), "")
    detail = f"{result}, found {found}." if result else f"{found} is not expected here."
    return SyntaxProblem("KP101", draft.base + start, draft.base + end, detail)


def _token_end(draft: ParserText, start: int) -> int:
    if start in draft.quoted:
        return draft.quoted[start].end
    match = TOKEN(draft.text, draft.base + start, draft.limit)
    return max(match.end() - draft.base if match else 0, start + 1)
