"""Scanning of templates: quoted strings with interpolation, and heredocs.

The parser sees a template as a list of its expressions: `"a-${var.x}"` becomes `[     var.x, ]`.
"""

import re
from collections.abc import Callable

from kplan.config.syntax.draft import Broken, Draft, Piece, Quoted
from kplan.config.syntax.escapes import heredoc_text, unescaped
from kplan.config.syntax.tokens import HEREDOC

# Scans an interpolated expression from an offset up to its closing brace; gives the offset behind
# the brace and whether `~}` closed it.
ScanExpression = Callable[[int], tuple[int, bool]]

_RUN = re.compile(r'(?:[^"\\\n$%]++|\\[^\n]|([$%])\1(?=\{)\{|[$%](?!\{))*+').match
_LINE = re.compile(r"(?:[^\n$%]++|([$%])\1(?=\{)\{|[$%](?!\{))*+\n?").match
_DIRECTIVE = re.compile(r"%\{(~?)[ \t\r\n]*+([^\W\d][\w-]*+)?").match
_BARE = re.compile(r"[ \t\r\n]*+(~?)\}").match
_FOR = re.compile(
    r"[ \t\r\n]*+([^\W\d][\w-]*+)[ \t\r\n]*+(?:,[ \t\r\n]*+([^\W\d][\w-]*+)[ \t\r\n]*+)?in(?![\w-])"
).match


class _Scan:
    """State of one template being scanned: its pieces so far, and what `~` is to trim."""

    def __init__(self, draft: Draft, expression: ScanExpression) -> None:
        self.draft = draft
        self.expression = expression
        self.pieces: list[Piece] = []
        self._trims_next = False

    def text(self, start: int, end: int, value: str) -> None:
        """Add literal text."""
        if start == end:
            return
        self.draft.put(start, end, "")
        base = self.draft.base
        trimmed = value.lstrip() if self._trims_next else value
        self._trims_next = False
        self.pieces.append(Piece("text", start - base, end - base, trimmed))

    def sequence(self, at: int) -> int:
        """Scan `${...}` or `%{...}` at offset `at`; give the offset behind it."""
        if self.draft.text[at] == "$":
            return self._interpolation(at)
        return self._directive(at)

    def _interpolation(self, at: int) -> int:
        strips = self.draft.text[at + 2 : at + 3] == "~"
        self._trim_previous(strips)
        body = at + 2 + strips
        self.draft.put(at, body, "")
        end, self._trims_next = self.expression(body)
        self._add("value", at, end)
        return end

    def _directive(self, at: int) -> int:
        match = _DIRECTIVE(self.draft.text, at, self.draft.limit)
        keyword = match[2] if match else None
        if match is None or keyword is None:
            raise Broken("KP109", at, at + 2, "A template directive keyword must follow %{.", _HINT)
        self._trim_previous(bool(match[1]))
        match keyword:
            case "if":
                return self._with_expression("if", at, match.end())
            case "for":
                return self._for(at, match.end())
            case "else" | "endif" | "endfor":
                return self._bare(keyword, at, match.end())
            case _:
                start = match.start(2)
                told = f'"{keyword}" is not a template directive.'
                raise Broken("KP109", start, match.end(), told, _HINT)

    def _with_expression(self, kind: str, at: int, body: int, *names: str | None) -> int:
        self.draft.put(at, body, "")
        end, self._trims_next = self.expression(body)
        self._add(kind, at, end, *names)
        return end

    def _for(self, at: int, behind: int) -> int:
        match = _FOR(self.draft.text, behind, self.draft.limit)
        if match is None:
            told = 'A "for" directive needs one or two names, the keyword "in" and a collection.'
            raise Broken("KP109", at, behind, told, "For example %{ for name in var.names }.")
        key, value = (match[1], match[2]) if match[2] else (None, match[1])
        return self._with_expression("for", at, match.end(), key, value)

    def _bare(self, keyword: str, at: int, behind: int) -> int:
        match = _BARE(self.draft.text, behind, self.draft.limit)
        if match is None:
            told = f'Nothing but a closing brace may follow "{keyword}" in a template directive.'
            raise Broken("KP109", at, behind, told)
        self.draft.put(at, match.end(), "")
        self._trims_next = bool(match[1])
        self._add(keyword, at, match.end())
        return match.end()

    def _add(self, kind: str, start: int, end: int, *names: str | None) -> None:
        key, value = names or (None, "")
        base = self.draft.base
        self.pieces.append(Piece(kind, start - base, end - base, "", key, value or ""))

    def _trim_previous(self, strips: bool) -> None:  # noqa: FBT001 - the marker itself
        if strips and self.pieces and self.pieces[-1].kind == "text":
            self.pieces[-1] = self.pieces[-1]._replace(text=self.pieces[-1].text.rstrip())


_HINT = "Known are if, else, endif, for and endfor; write %%{ for the two characters themselves."


def scan_quoted(draft: Draft, at: int, expression: ScanExpression) -> int:
    """Scan the quoted template at offset `at`, note it in the draft, give the offset behind it.

    Raises:
        Broken: the quote is never closed, or something inside is wrong.

    """
    scan = _Scan(draft, expression)
    draft.put(at, at + 1, "[")
    here = at + 1
    while True:
        match = _RUN(draft.text, here, draft.limit)
        end = match.end() if match else here
        scan.text(here, end, unescaped(draft.text[here:end], here))
        here = end
        following = draft.text[here] if here < draft.limit else ""
        if following == '"':
            break
        if following not in {"$", "%"}:
            _refuse_open_quote(draft, at, here)
        here = scan.sequence(here)
    draft.put(here, here + 1, "]")
    draft.quoted[at - draft.base] = Quoted(here + 1 - draft.base, None, tuple(scan.pieces))
    return here + 1


def _refuse_open_quote(draft: Draft, at: int, here: int) -> None:
    end = draft.text.find("\n", at, draft.limit)
    raise Broken(
        "KP106",
        at,
        max(here if end < 0 else end, at + 1),
        "This quote is not closed on its line.",
        'Close it with ", or write text of several lines as a heredoc (<<EOT).',
    )


def scan_heredoc(draft: Draft, at: int, expression: ScanExpression) -> int:
    """Scan the heredoc at offset `at`, note it in the draft, give the offset behind its end marker.

    Raises:
        Broken: the end marker is missing, or something inside is wrong.

    """
    begin = HEREDOC(draft.text, at, draft.limit)
    if begin is None:  # the token has been matched by the same expression
        raise Broken("KP107", at, at + 2, "A heredoc begins with << and a marker.")
    ends_here = re.compile(rf"[ \t]*+{re.escape(begin[2])}(?=[ \t\r]*+(?:\n|\Z))").match
    scan = _Scan(draft, expression)
    draft.put(at, begin.end(), "[")
    here, at_line_start = begin.end(), True
    while not (at_line_start and (end := ends_here(draft.text, here, draft.limit))):
        if here >= draft.limit:
            told = f"The heredoc that begins here is never closed by a line with only {begin[2]}."
            raise Broken("KP107", at, begin.end() - 1, told)
        here, at_line_start = _heredoc_part(scan, here)
    draft.put(here, end.end(), "".rjust(end.end() - here - 1) + "]")
    pieces = _dedented(scan.pieces) if begin[1] else scan.pieces
    relative = end.end() - draft.base
    draft.quoted[at - draft.base] = Quoted(relative, None, tuple(pieces), is_heredoc=True)
    return end.end()


def scan_bare(draft: Draft, expression: ScanExpression) -> None:
    """Scan a text that is a template as a whole, and note it in the draft.

    Raises:
        Broken: something inside is wrong.

    """
    scan = _Scan(draft, expression)
    here = 0
    while here < draft.limit:
        here, _ = _heredoc_part(scan, here)
    opening = -draft.base - 1
    draft.quoted[opening] = Quoted(draft.limit - draft.base, None, tuple(scan.pieces))


def _heredoc_part(scan: _Scan, here: int) -> tuple[int, bool]:
    match = _LINE(scan.draft.text, here, scan.draft.limit)
    end = match.end() if match else here
    if end == here:
        return scan.sequence(here), False
    scan.text(here, end, heredoc_text(scan.draft.text[here:end]))
    return end, scan.draft.text[end - 1] == "\n"


def _dedented(pieces: list[Piece]) -> list[Piece]:
    """Take away the indentation that all lines share; lines of nothing but space do not count."""
    indents: dict[int, int] = {}
    at_line_start = True
    for number, piece in enumerate(pieces):
        if at_line_start:
            is_blank = piece.text.endswith("\n") and not piece.text.strip()
            if not is_blank:
                indents[number] = len(piece.text) - len(piece.text.lstrip())
        at_line_start = piece.text.endswith("\n")
    shared = min(indents.values(), default=0)
    return [
        piece._replace(text=piece.text[shared:]) if number in indents else piece
        for number, piece in enumerate(pieces)
    ]
