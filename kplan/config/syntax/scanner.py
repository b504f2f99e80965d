"""Scan one top-level item: find its structure exactly, keep parser defects away."""

import re
from collections.abc import Callable
from typing import TypeAlias

from kplan.config.syntax.grammar import ParserText, QuotedText, SyntaxProblem
from kplan.config.syntax.source import (
    CLOSERS,
    MAX_DEPTH,
    OPERAND_ENDS,
    OPERAND_STARTS,
    PLAIN,
    TOKEN,
)
from kplan.config.syntax.syntax_error import (
    Header,
    Level,
    Mode,
    bad_adjacent,
    bad_bracket,
    bad_header,
    bad_inner_block,
    bad_line_end,
    bad_one_line,
    bad_open_block,
    bad_same_line,
    bad_statement,
    bad_template,
    bad_token,
    open_comment,
)
from kplan.config.syntax.template import (
    ScanExpression,
    scan_bare,
    scan_heredoc,
    scan_quoted,
    unescape,
)
from kplan.config.syntax.tree import Label

_FOR = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+|//[^\n]*+|/\*.*?\*/)*+for(?![\w-])", re.DOTALL).match

_FOR_KEYWORDS = frozenset({"in", "if"})  # a sign behind them negates

_ScanTemplate: TypeAlias = Callable[[ParserText, int, ScanExpression], int]


class Scanner:
    """Scans the item that begins at `draft.base`; `header` is filled as far as it got."""

    def __init__(self, draft: ParserText) -> None:
        self.draft = draft
        self.header: Header | None = None
        self._text = draft.text
        self._limit = draft.limit
        self._depth = 0

    def item(self) -> int:
        """Scan the block or argument, give the offset behind it.

        Raises:
            SyntaxProblem: the item cannot be read.

        """
        return self._statement(self._token(self.draft.base), is_top=True)

    def line_end(self, at: int) -> None:
        """Make sure that nothing is behind the item on its line.

        Raises:
            SyntaxProblem: something does.

        """
        while (match := self._token(at)).lastgroup == "comment":
            at = match.end()
        if match.lastgroup not in {"newline", "line", "end"}:
            raise bad_same_line(match)

    def expression(self) -> int:
        """Scan a lone expression up to the limit, line breaks being nothing.

        Raises:
            SyntaxProblem: the expression cannot be read.

        """
        at, _ = self._expression(max(self.draft.base, 0), Mode.LIST, "")
        return at

    def template(self) -> None:
        """Scan the whole text as a template.

        Raises:
            SyntaxProblem: the template cannot be read.

        """
        scan_bare(self.draft, self._scan_interpolation)

    # ---- statements

    def _token(self, at: int) -> re.Match[str]:
        match = TOKEN(self._text, at, self._limit)
        if match is None:  # the last alternative takes any character
            raise AssertionError(at)
        return match

    def _statement(
        self, word: re.Match[str], *, is_top: bool = False, is_argument: bool = False
    ) -> int:
        kind = word.lastgroup or ""
        if kind not in {"word", "foreign"}:
            raise bad_statement(word)
        if kind == "foreign":
            self._ascii(word)
        header = Header(word.start(kind), word[kind])
        if is_top:
            self.header = header
        return self._after_word(header, word.end(), is_argument=is_argument)

    def _after_word(self, header: Header, at: int, *, is_argument: bool) -> int:
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
            elif match[0][-1:] == "{" and is_argument:
                raise bad_inner_block(header)
            elif match[0][-1:] == "{":
                return self._block(header, at)
            else:
                raise bad_header(header, match)

    def _label(self, match: re.Match[str]) -> Label:
        start, end, base = match.start(match.lastgroup or 0), match.end(), self.draft.base
        if match.lastgroup == "foreign":
            self._ascii(match)
        if match.lastgroup != "text":
            return Label(start - base, end - base, self._text[start:end])
        self._separate_label(match)
        if "\\" in match["text"]:
            detail = "A block label is plain text without escapes or templates."
            raise SyntaxProblem("KP125", start, end, detail)
        return Label(start - base, end - base, match["text"][1:-1])

    def _argument(self, at: int) -> int:
        end, _ = self._expression(at, Mode.ARGUMENT, "")
        return end

    def _block(self, header: Header, at: int) -> int:
        brace = at - 1
        self._enter(brace)
        is_first = is_fresh = True
        while True:
            match = self._token(at)
            match match.lastgroup:
                case "newline":
                    is_first, is_fresh = False, True
                    at = match.end()
                case "line" | "comment":
                    self._blank(match)
                    at = match.end()
                case "end":
                    raise bad_open_block(header, brace)
                case _ if not is_fresh:
                    raise bad_same_line(match)
                case "close" if match["close"] == "}":
                    self._depth -= 1
                    return match.end()
                case _ if is_first:
                    at = self._only_argument(match)
                case _:
                    at, is_fresh = self._statement(match), False

    def _only_argument(self, word: re.Match[str]) -> int:
        """Scan the line of an opening brace: one argument, then the closing brace."""
        at = self._statement(word, is_argument=True)
        while (match := self._token(at)).lastgroup == "comment":
            at = match.end()
        if match.lastgroup != "close":
            raise bad_one_line(match)
        return at

    # ---- expressions

    def _expression(self, at: int, mode: Mode, closer: str) -> tuple[int, bool]:
        """Scan up to `closer` or, as an argument, up to where the line ends.

        Gives the offset behind the closer, or of the end of the line, and whether `~` is before
        the closer.
        """
        is_for = closer in {"]", "}"} and mode is Mode.LIST and _FOR(self._text, at) is not None
        level = Level(mode, closer, at, is_for=is_for)
        while True:
            match = self._token(at)
            kind, at = match.lastgroup or "", match.end()
            if kind in OPERAND_STARTS and level.last in OPERAND_ENDS and not level.is_for:
                raise bad_adjacent(match, level)
            if kind in PLAIN:
                if kind == "comma" and mode is Mode.ARGUMENT:
                    return match.start("comma"), False
                is_keyword = level.is_for and match[0].strip() in _FOR_KEYWORDS
                level.last = "keyword" if is_keyword else kind
            elif kind in {"close", "end"}:
                return self._close_level(match, level), level.strips
            elif kind == "newline" and mode is Mode.ARGUMENT:
                if level.last == "operator":
                    raise bad_line_end(match)
                return match.start("newline"), False
            else:
                at = self._rewrite_token(match, level)

    def _rewrite_token(self, match: re.Match[str], level: Level) -> int:
        """Rewrite a construct that the parser misreads; return the offset behind it."""
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

    def _rarely(self, match: re.Match[str], level: Level) -> int:
        kind, before = match.lastgroup or "", level.last
        level.last = kind
        start = match.start(kind)
        match kind:
            case "quote":
                self._refuse_glued(start)
                return self._deeper(scan_quoted, start)
            case "heredoc":
                return self._deeper(scan_heredoc, start)
            case "core":
                self._blank(match)
                level.last = before
            case "legacy" if before != "number":
                self.draft.put(start + 1, match.end(), "n" * (match.end() - start - 1))
            case "splat" if level.mode is not Mode.ARGUMENT or "\n" not in match["splat"]:
                self.draft.put(start, match.end(), "[*]")
            case "dotsplat":
                self.draft.put(match.start(), match.end(), ".*")
            case "strip" if level.mode is Mode.TEMPLATE:
                self._blank(match)
                level.strips = True
            case _:
                raise bad_token(match)
        return match.end()

    def _deeper(self, scan: _ScanTemplate, start: int) -> int:
        self._enter(start)
        end = scan(self.draft, start, self._scan_interpolation)
        self._depth -= 1
        return end

    def _scan_interpolation(self, at: int) -> tuple[int, bool]:
        return self._expression(at, Mode.TEMPLATE, "}")

    def _bracket(self, match: re.Match[str]) -> int:
        opener, start, at = match["open"], match.start("open"), match.end()
        self._enter(start)
        mode = Mode.LIST
        if opener == "{" and not _FOR(self._text, at, self._limit):
            mode = Mode.OBJECT
        end, _ = self._expression(at, mode, CLOSERS[opener])
        self._depth -= 1
        return end

    def _close_level(self, match: re.Match[str], level: Level) -> int:
        found = match["close"] or ""
        if level.mode is Mode.ARGUMENT and found in {"}", ""}:
            return match.start("close") if found else self._limit
        if found != level.closer:
            if level.mode is Mode.TEMPLATE:
                raise bad_template(level)
            raise bad_bracket(match, level)
        if level.mode is Mode.TEMPLATE:
            self.draft.put(match.start("close"), match.end(), ",")
        return match.end()

    def _newline(self, match: re.Match[str], level: Level) -> str:
        is_separator = level.mode is Mode.OBJECT and level.last not in {"open", "comma"}
        self.draft.put(match.start("newline"), match.end(), "," if is_separator else " ")
        return "comma" if is_separator else level.last

    def _sign(self, match: re.Match[str], level: Level) -> None:
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
            raise open_comment(match.start("comment"))
        self.draft.put(match.start(kind), match.end(), "")

    def _ascii(self, match: re.Match[str]) -> None:
        self.draft.put(*match.span("foreign"), re.sub(r"[^\x00-\x7f]", "_", match["foreign"]))

    def _plain(self, match: re.Match[str]) -> None:
        start, end = match.span("text")
        self._refuse_glued(start)
        text = match["text"][1:-1]
        if "\\" in text:
            text = unescape(text, start + 1)
        self.draft.put(start, end, "s" + "_" * (end - start - 2))
        self.draft.quoted[start - self.draft.base] = QuotedText(end - self.draft.base, text)

    def _separate_label(self, match: re.Match[str]) -> None:
        """Put a blank before a label that is at once behind a word or another label."""
        start, end = match.span("text")
        if self._text[start - 1].isspace():
            self._plain(match)
            return
        self.draft.put(start, end, " s" + "_" * (end - start - 2))
        text = match["text"][1:-1]
        self.draft.quoted[start + 1 - self.draft.base] = QuotedText(end - self.draft.base, text)

    def _enter(self, at: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            detail = f"Brackets, blocks and templates can be nested {MAX_DEPTH} deep in each other."
            raise SyntaxProblem(
                "KP114", at, at + 1, detail, "Move the inner part to a local value."
            )

    def _refuse_glued(self, start: int) -> None:
        before = self._text[start - 1 : start]
        if before.isalnum() or before == "_":
            detail = "A quoted string cannot follow a name or number directly."
            raise SyntaxProblem("KP101", start, start + 1, detail)
