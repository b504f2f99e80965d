"""Scanning of one top-level item: structure found exactly, defects of the parser kept away from it.

While it goes over the tokens the scanner rewrites the item for the parser (see `draft`): comments
become blanks; names joined by dots become one name; line breaks inside brackets become blanks, or
commas where they separate the elements of an object; strings become names of the same length; a `-`
that subtracts becomes `+`, and of several signs in a row only the last one is left. What stood
there is kept in the draft.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from kplan.config.syntax.draft import Broken, Draft, Quoted
from kplan.config.syntax.escapes import unescaped
from kplan.config.syntax.quoting import ScanExpression, scan_bare, scan_heredoc, scan_quoted
from kplan.config.syntax.tokens import (
    CLOSERS,
    MAX_DEPTH,
    OPERAND_ENDS,
    OPERAND_STARTS,
    PLAIN,
    TOKEN,
)
from kplan.config.syntax.tree import Label

_FOR = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+|//[^\n]*+|/\*.*?\*/)*+for(?![\w-])", re.DOTALL).match

_FOR_KEYWORDS = frozenset({"in", "if"})  # a sign behind them negates

_ScanTemplate: TypeAlias = Callable[[Draft, int, ScanExpression], int]


class _Mode(Enum):
    """What a line break means, and what ends the expression."""

    ARGUMENT = "ends it"
    LIST = "nothing"
    OBJECT = "separates"
    TEMPLATE = "nothing, and } or ~} ends it"


class _Level:
    """Where one bracket, template or argument stands while it is scanned."""

    __slots__ = ("closer", "is_for", "last", "mode", "signed", "start", "strips")

    def __init__(self, mode: _Mode, closer: str, start: int, *, is_for: bool = False) -> None:
        self.mode = mode
        self.closer = closer
        self.start = start  # offset behind the opening bracket
        self.is_for = is_for  # whether words stand beside each other: for x in y : z if w
        self.last = "open"  # kind of the last token that means something
        self.signed = -1  # offset of the last sign that negates
        self.strips = False  # whether ~ stands before the closer


class Header:
    """The first line of a top-level item, known even where the rest is broken."""

    __slots__ = ("end", "labels", "start", "type", "type_end")

    def __init__(self, start: int, word: str) -> None:
        self.start = start
        self.type = word
        self.type_end = start + len(word)
        self.labels: tuple[Label, ...] = ()
        self.end = self.type_end


class Scanner:
    """Scans the item that begins at `draft.base`; `header` is filled as far as it got."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.header: Header | None = None
        self._text = draft.text
        self._limit = draft.limit
        self._depth = 0

    def item(self) -> int:
        """Scan the block or argument, give the offset behind it.

        Raises:
            Broken: the item cannot be read.

        """
        return self._statement(self._token(self.draft.base), is_top=True)

    def expression(self) -> int:
        """Scan a lone expression up to the limit, line breaks being nothing.

        Raises:
            Broken: the expression cannot be read.

        """
        at, _ = self._expression(max(self.draft.base, 0), _Mode.LIST, "")
        return at

    def template(self) -> None:
        """Scan the whole text as a template.

        Raises:
            Broken: the template cannot be read.

        """
        scan_bare(self.draft, self._interpolated)

    # ---- statements

    def _token(self, at: int) -> re.Match[str]:
        match = TOKEN(self._text, at, self._limit)
        if match is None:  # the last alternative takes any character
            raise AssertionError(at)
        return match

    def _statement(self, word: re.Match[str], *, is_top: bool = False) -> int:
        kind = word.lastgroup or ""
        if kind not in {"word", "foreign"}:
            raise self._statement_refusal(word)
        if kind == "foreign":
            self._ascii(word)
        header = Header(word.start(kind), word[kind])
        if is_top:
            self.header = header
        return self._after_word(header, word.end())

    def _after_word(self, header: Header, at: int) -> int:
        labels: list[Label] = []
        while True:
            match = self._token(at)
            kind = match.lastgroup
            at = match.end()
            if kind in {"word", "foreign", "text"}:
                labels.append(self._label(match))
                header.labels, header.end = tuple(labels), at
            elif kind == "comment":
                self._blank(match)
            elif kind == "equals" and not labels:
                return self._argument(at)
            elif match[0][-1:] == "{":
                return self._block(header, at)
            else:
                raise self._header_refusal(header, match)

    def _label(self, match: re.Match[str]) -> Label:
        start, end, base = match.start(match.lastgroup or 0), match.end(), self.draft.base
        if match.lastgroup == "foreign":
            self._ascii(match)
        if match.lastgroup != "text":
            return Label(start - base, end - base, self._text[start:end])
        self._plain(match)
        if "\\" in match["text"]:
            told = "A block label is plain text without escapes or templates."
            raise Broken("KP125", start, end, told)
        return Label(start - base, end - base, match["text"][1:-1])

    def _argument(self, at: int) -> int:
        end, _ = self._expression(at, _Mode.ARGUMENT, "")
        return end

    def _block(self, header: Header, at: int) -> int:
        self._enter(at - 1)
        while True:
            match = self._token(at)
            match match.lastgroup:
                case "newline":
                    at = match.end()
                case "line" | "comment":
                    self._blank(match)
                    at = match.end()
                case "close" if match["close"] == "}":
                    self._depth -= 1
                    return match.end()
                case "end":
                    raise self._open_block_refusal(header)
                case _:
                    at = self._statement(match)

    # ---- expressions

    def _expression(self, at: int, mode: _Mode, closer: str) -> tuple[int, bool]:
        """Scan up to `closer` or, as an argument, up to where the line ends.

        Gives the offset behind the closer, or of the end of the line, and whether `~` stands before
        the closer.
        """
        is_for = closer in {"]", "}"} and mode is _Mode.LIST and _FOR(self._text, at) is not None
        level = _Level(mode, closer, at, is_for=is_for)
        while True:
            match = self._token(at)
            kind, at = match.lastgroup or "", match.end()
            if kind in OPERAND_STARTS and level.last in OPERAND_ENDS and not level.is_for:
                raise self._adjacent_refusal(match, level)
            if kind in PLAIN:
                is_keyword = level.is_for and match[0].strip() in _FOR_KEYWORDS
                level.last = "keyword" if is_keyword else kind
            elif kind in {"close", "end"}:
                return self._closed(match, level), level.strips
            elif kind == "newline" and mode is _Mode.ARGUMENT:
                return match.start("newline"), False
            else:
                at = self._rewritten(match, level)

    def _rewritten(self, match: re.Match[str], level: _Level) -> int:
        """Rewrite what the parser does not read rightly; give the offset behind it."""
        kind = match.lastgroup or ""
        match kind:
            case "text":
                self._plain(match)
            case "chain":
                self.draft.put(*match.span("chain"), match["chain"].replace(".", "_"))
            case "foreign":
                self._ascii(match)
            case "newline":
                kind = self._newline(match, level)
            case "line" | "comment":
                self._blank(match)
                kind = level.last
            case "sign":
                self._sign(match, level)
            case "open":
                level.last = "close"
                return self._bracket(match)
            case _:
                return self._rarely(match, level)
        level.last = kind
        return match.end()

    def _rarely(self, match: re.Match[str], level: _Level) -> int:
        kind = match.lastgroup or ""
        level.last = kind
        start = match.start(kind)
        match kind:
            case "quote":
                self._refuse_glued(start)
                return self._deeper(scan_quoted, start)
            case "heredoc":
                return self._deeper(scan_heredoc, start)
            case "legacy":
                self.draft.put(start + 1, match.end(), "n" * (match.end() - start - 1))
            case "splat":
                self.draft.put(start, match.end(), "[*]")
            case "strip" if level.mode is _Mode.TEMPLATE:
                self._blank(match)
                level.strips = True
            case _:
                raise self._character_refusal(match)
        return match.end()

    def _deeper(self, scan: _ScanTemplate, start: int) -> int:
        self._enter(start)
        end = scan(self.draft, start, self._interpolated)
        self._depth -= 1
        return end

    def _interpolated(self, at: int) -> tuple[int, bool]:
        return self._expression(at, _Mode.TEMPLATE, "}")

    def _bracket(self, match: re.Match[str]) -> int:
        opener, start, at = match["open"], match.start("open"), match.end()
        self._enter(start)
        mode = _Mode.LIST
        if opener == "{" and not _FOR(self._text, at, self._limit):
            mode = _Mode.OBJECT
        end, _ = self._expression(at, mode, CLOSERS[opener])
        self._depth -= 1
        return end

    def _closed(self, match: re.Match[str], level: _Level) -> int:
        found = match["close"] or ""
        if level.mode is _Mode.ARGUMENT and found in {"}", ""}:
            return match.start("close") if found else self._limit
        if found != level.closer:
            if level.mode is _Mode.TEMPLATE:
                raise self._open_template(level)
            raise self._bracket_refusal(match, level)
        if level.mode is _Mode.TEMPLATE:
            self.draft.put(match.start("close"), match.end(), ",")
        return match.end()

    def _newline(self, match: re.Match[str], level: _Level) -> str:
        is_separator = level.mode is _Mode.OBJECT and level.last not in {"open", "comma"}
        self.draft.put(match.start("newline"), match.end(), "," if is_separator else " ")
        return "comma" if is_separator else level.last

    def _sign(self, match: re.Match[str], level: _Level) -> None:
        start, base = match.start("sign"), self.draft.base
        sign = match["sign"]
        if level.last in OPERAND_ENDS:
            if sign == "-":
                self.draft.put(start, start + 1, "+")
                self.draft.signs[start - base] = "-"
            level.signed = -1
            return
        if level.last == "sign" and level.signed >= 0:
            sign = self.draft.signs.pop(level.signed - base) + sign
            self.draft.put(level.signed, level.signed + 1, " ")
        self.draft.signs[start - base] = sign
        level.signed = start

    # ---- replacements

    def _blank(self, match: re.Match[str]) -> None:
        kind = match.lastgroup or ""
        if kind == "comment" and not match["comment"].endswith("*/", 2):
            start = match.start("comment")
            raise Broken("KP117", start, start + 2, "This comment is never closed by */.")
        self.draft.put(match.start(kind), match.end(), "")

    def _ascii(self, match: re.Match[str]) -> None:
        self.draft.put(*match.span("foreign"), re.sub(r"[^\x00-\x7f]", "_", match["foreign"]))

    def _plain(self, match: re.Match[str]) -> None:
        start, end = match.span("text")
        self._refuse_glued(start)
        text = match["text"][1:-1]
        if "\\" in text:
            text = unescaped(text, start + 1)
        self.draft.put(start, end, "s" + "_" * (end - start - 2))
        self.draft.quoted[start - self.draft.base] = Quoted(end - self.draft.base, text)

    def _enter(self, at: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            told = f"Brackets, blocks and templates may stand {MAX_DEPTH} deep in each other."
            raise Broken("KP114", at, at + 1, told, "Move the inner part to a local value.")

    # ---- refusals

    def _refuse_glued(self, start: int) -> None:
        before = self._text[start - 1 : start]
        if before.isalnum() or before == "_":
            told = "A quoted string cannot follow a name or number directly."
            raise Broken("KP101", start, start + 1, told)

    def _statement_refusal(self, match: re.Match[str]) -> Broken:
        kind = match.lastgroup or "end"
        start, end = match.start(kind), max(match.end(), match.start(kind) + 1)
        if kind == "stray":
            return self._character_refusal(match)
        if kind == "close":
            return Broken("KP105", start, end, f"Nothing is open that {match[kind]} could close.")
        if kind in {"text", "quote"}:
            told = "Names of arguments and types of blocks are not quoted."
            return Broken("KP102", start, end, told)
        told = "An argument (name = value) or a block begins with a name."
        return Broken("KP102", start, end, told)

    def _header_refusal(self, header: Header, match: re.Match[str]) -> Broken:
        kind = match.lastgroup or "end"
        start = match.start(kind)
        if kind == "quote":
            line_end = self._text.find("\n", start, self._limit)
            closed = self._text.find('"', start + 1, max(line_end, start))
            if closed < 0:
                told = "This quote is not closed on its line."
                return Broken("KP106", start, max(line_end, start + 1), told, 'Close it with ".')
            told = "A block label is plain text without templates."
            return Broken("KP125", start, closed + 1, told)
        if kind == "stray":
            return self._character_refusal(match)
        if header.labels or header.type == "resource":
            told = f'The header of the block "{header.type}" must end with an opening brace.'
            return Broken("KP103", header.start, header.end, told, "Put { on the same line.")
        told = (
            f'After "{header.type}" there must be = and a value, or the labels and {{ of a block.'
        )
        return Broken("KP102", header.start, header.type_end, told)

    def _open_block_refusal(self, header: Header) -> Broken:
        told = f'The block "{header.type}" that begins here is never closed.'
        return Broken("KP104", header.start, header.end, told, "Add the missing } behind its body.")

    def _adjacent_refusal(self, match: re.Match[str], level: _Level) -> Broken:
        kind = match.lastgroup or ""
        start = match.start(kind)
        found = (
            f"found {match[kind]}" if kind in {"word", "chain", "number"} else "found another value"
        )
        match level.mode:
            case _Mode.ARGUMENT:
                told = f"After the value there must be a line break, {found}."
                return Broken("KP111", start, match.end(), told)
            case _Mode.TEMPLATE:
                if kind in {"quote", "text"}:
                    return self._open_template(level)
                told = f"Expected }} or an operator, {found}."
            case _:
                closer = level.closer or "the end"
                told = f"Expected a comma, an operator or {closer}, {found}."
        return Broken("KP112", start, match.end(), told)

    def _open_template(self, level: _Level) -> Broken:
        told = "The interpolation that begins here is never closed by }."
        hint = "Write $${ for the two characters themselves."
        return Broken("KP106", level.start - 2, level.start, told, hint)

    def _bracket_refusal(self, match: re.Match[str], level: _Level) -> Broken:
        found, opening = match["close"], level.start - 1
        if found and level.closer:
            told = f"Expected {level.closer}, found {found}."
            broken = Broken("KP105", match.start("close"), match.end(), told)
            broken.related = (("opened", opening, level.start),)
            return broken
        if found:
            told = f"Nothing is open that {found} could close."
            return Broken("KP105", match.start("close"), match.end(), told)
        told = f"This {self._text[opening]} is never closed by {level.closer}."
        return Broken("KP105", opening, level.start, told)

    def _character_refusal(self, match: re.Match[str]) -> Broken:
        kind = match.lastgroup or "stray"
        start, found = match.start(kind), match[kind]
        hints = {
            "'": 'Strings are written with double quotes: "text".',
            "&": "The operator is &&.",
            "|": "The operator is ||.",
            ";": "Separate arguments with line breaks.",
            "`": 'Strings are written with double quotes: "text".',
        }
        told = f"{found!r} has no meaning here."
        return Broken("KP110", start, start + len(found), told, hints.get(found, ""))
