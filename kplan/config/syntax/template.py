"""Templates: scan quoted strings and heredocs, and build their trees."""

import re
from collections.abc import Callable

from kplan.config.syntax import tree as ast
from kplan.config.syntax.grammar import ParserText, QuotedText, SyntaxProblem, TemplatePiece
from kplan.config.syntax.source import HEREDOC
from kplan.config.values.number import clean_text

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([$%])\4(?=\{)", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def unescape(raw: str, at: int) -> str:
    """Resolve the escapes of quoted text that is at offset `at` of the file.

    Raises:
        SyntaxProblem: an escape that HCL does not know.

    """

    def replacement(match: re.Match[str]) -> str:
        code, sign = match[1] or match[2], match[4]
        if sign:
            return sign
        if code and int(code, 16) <= 0x10FFFF and not 0xD800 <= int(code, 16) <= 0xDFFF:  # noqa: PLR2004 - the limits of Unicode
            return chr(int(code, 16))
        if not code and match[3] in _SIMPLE:
            return _SIMPLE[match[3]]
        raise SyntaxProblem(
            "KP108",
            at + match.start(),
            at + match.end(),
            f"{match[0]} is not an escape sequence.",
            r"Known are \n, \r, \t, \", \\, \uNNNN and \UNNNNNNNN; write \\ for a backslash.",
        )

    return _ESCAPE.sub(replacement, raw)


def heredoc_text(raw: str) -> str:
    """Resolve the only two escapes of heredoc text: `$${` and `%%{`."""
    return raw.replace("$${", "${").replace("%%{", "%{")


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
    """State of one template being scanned: its pieces so far, and what `~` has to trim."""

    def __init__(self, draft: ParserText, expression: ScanExpression) -> None:
        self.draft = draft
        self.expression = expression
        self.pieces: list[TemplatePiece] = []
        self._trims_next = False

    def text(self, start: int, end: int, value: str) -> None:
        """Add literal text."""
        if start == end:
            return
        self.draft.put(start, end, "")
        base = self.draft.base
        trimmed = value.lstrip() if self._trims_next else value
        self._trims_next = False
        self.pieces.append(TemplatePiece("text", start - base, end - base, trimmed))

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
            raise SyntaxProblem(
                "KP109", at, at + 2, "A template directive keyword must follow %{.", _HINT
            )
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
                detail = f'"{keyword}" is not a template directive.'
                raise SyntaxProblem("KP109", start, match.end(), detail, _HINT)

    def _with_expression(self, kind: str, at: int, body: int, *names: str | None) -> int:
        self.draft.put(at, body, "")
        end, self._trims_next = self.expression(body)
        self._add(kind, at, end, *names)
        return end

    def _for(self, at: int, behind: int) -> int:
        match = _FOR(self.draft.text, behind, self.draft.limit)
        if match is None:
            detail = 'A "for" directive needs one or two names, the keyword "in" and a collection.'
            raise SyntaxProblem(
                "KP109", at, behind, detail, "For example %{ for name in var.names }."
            )
        key, value = (match[1], match[2]) if match[2] else (None, match[1])
        return self._with_expression("for", at, match.end(), key, value)

    def _bare(self, keyword: str, at: int, behind: int) -> int:
        match = _BARE(self.draft.text, behind, self.draft.limit)
        if match is None:
            detail = f'Nothing but a closing brace may follow "{keyword}" in a template directive.'
            raise SyntaxProblem("KP109", at, behind, detail)
        self.draft.put(at, match.end(), "")
        self._trims_next = bool(match[1])
        self._add(keyword, at, match.end())
        return match.end()

    def _add(self, kind: str, start: int, end: int, *names: str | None) -> None:
        key, value = names or (None, "")
        base = self.draft.base
        self.pieces.append(TemplatePiece(kind, start - base, end - base, "", key, value or ""))

    def _trim_previous(self, strips: bool) -> None:  # noqa: FBT001 - the marker itself
        if strips and self.pieces and self.pieces[-1].kind == "text":
            self.pieces[-1] = self.pieces[-1]._replace(text=self.pieces[-1].text.rstrip())


_HINT = "Known are if, else, endif, for and endfor; write %%{ for the two characters themselves."


def scan_quoted(draft: ParserText, at: int, expression: ScanExpression) -> int:
    """Scan the quoted template at offset `at`, note it in the draft, give the offset behind it.

    Raises:
        SyntaxProblem: the quote is never closed, or something inside is wrong.

    """
    scan = _Scan(draft, expression)
    draft.put(at, at + 1, "[")
    here = at + 1
    while True:
        match = _RUN(draft.text, here, draft.limit)
        end = match.end() if match else here
        scan.text(here, end, unescape(draft.text[here:end], here))
        here = end
        following = draft.text[here] if here < draft.limit else ""
        if following == '"':
            break
        if following not in {"$", "%"}:
            _refuse_open_quote(draft, at, here)
        here = scan.sequence(here)
    draft.put(here, here + 1, "]")
    draft.quoted[at - draft.base] = QuotedText(here + 1 - draft.base, None, tuple(scan.pieces))
    return here + 1


def _refuse_open_quote(draft: ParserText, at: int, here: int) -> None:
    end = draft.text.find("\n", at, draft.limit)
    detail = "This quote is not closed on its line."
    hint = 'Close it with ", or write text of several lines as a heredoc (<<EOT).'
    if end < 0:
        raise SyntaxProblem("KP106", at, max(here, at + 1), detail, hint)
    detail = "The text that a quote begins ends on the same line."
    broken = SyntaxProblem("KP106", end, end + 1, detail, hint, summary="Invalid multi-line string")
    broken.related = (("opened", at, at + 1),)
    raise broken


def scan_heredoc(draft: ParserText, at: int, expression: ScanExpression) -> int:
    """Scan the heredoc at offset `at`, note it in the draft, give the offset behind its end marker.

    Raises:
        SyntaxProblem: the end marker is missing, or something inside is wrong.

    """
    begin = HEREDOC(draft.text, at, draft.limit)
    if begin is None:  # the token has been matched by the same expression
        raise SyntaxProblem("KP107", at, at + 2, "A heredoc begins with << and a marker.")
    ends_here = re.compile(rf"[ \t]*+{re.escape(begin[2])}(?=[ \t\r]*+(?:\n|\Z))").match
    scan = _Scan(draft, expression)
    draft.put(at, begin.end(), "[")
    here, at_line_start = begin.end(), True
    while not (at_line_start and (end := ends_here(draft.text, here, draft.limit))):
        if here >= draft.limit:
            detail = f"The heredoc that begins here is never closed by a line with only {begin[2]}."
            raise SyntaxProblem("KP107", at, begin.end() - 1, detail)
        here, at_line_start = _heredoc_part(scan, here)
    draft.put(here, end.end(), "".rjust(end.end() - here - 1) + "]")
    pieces = _dedent_pieces(scan.pieces) if begin[1] else scan.pieces
    relative = end.end() - draft.base
    draft.quoted[at - draft.base] = QuotedText(relative, None, tuple(pieces), is_heredoc=True)
    return end.end()


def scan_bare(draft: ParserText, expression: ScanExpression) -> None:
    """Scan a text that is a template as a whole, and note it in the draft.

    Raises:
        SyntaxProblem: something inside is wrong.

    """
    scan = _Scan(draft, expression)
    here = 0
    while here < draft.limit:
        here, _ = _heredoc_part(scan, here)
    opening = -draft.base - 1
    draft.quoted[opening] = QuotedText(draft.limit - draft.base, None, tuple(scan.pieces))


def _heredoc_part(scan: _Scan, here: int) -> tuple[int, bool]:
    match = _LINE(scan.draft.text, here, scan.draft.limit)
    end = match.end() if match else here
    if end == here:
        return scan.sequence(here), False
    scan.text(here, end, heredoc_text(scan.draft.text[here:end]))
    return end, scan.draft.text[end - 1] == "\n"


def _dedent_pieces(pieces: list[TemplatePiece]) -> list[TemplatePiece]:
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


def assemble_template(
    draft: ParserText, start: int, quoted: QuotedText, items: tuple[ast.Node, ...]
) -> ast.Node:
    """Build the node of a template from its pieces and, in the same order, their expressions.

    Raises:
        SyntaxProblem: the directives do not fit together.

    """
    if len(quoted.pieces) == 1 and quoted.pieces[0].kind == "value" and not quoted.is_heredoc:
        return ast.Wrapped(start, quoted.end, items[0])
    pieces = [piece for piece in quoted.pieces if piece.kind != "text" or piece.text]
    if all(piece.kind == "text" for piece in pieces):
        text = clean_text("".join(piece.text for piece in pieces))
        return ast.Literal(start, quoted.end, text)
    builder = _Builder(draft, pieces, items, _content_end(draft, quoted))
    parts, stopped = builder.parts(frozenset())
    if stopped is not None:
        raise builder.directive_error(
            stopped, f'No directive is open that "{stopped.kind}" could end.'
        )
    return ast.Template(start, quoted.end, parts)


def _content_end(draft: ParserText, quoted: QuotedText) -> int:
    """Return where the content of a template ends: at its quote, or at the line of its marker."""
    if not quoted.is_heredoc:
        return quoted.end - 1
    return draft.text.rfind("\n", 0, draft.base + quoted.end) + 1 - draft.base


class _Builder:
    def __init__(
        self,
        draft: ParserText,
        pieces: list[TemplatePiece],
        items: tuple[ast.Node, ...],
        end: int,
    ) -> None:
        self._draft = draft
        self._end = end
        self._pieces = iter(pieces)
        self._items = iter(items)

    def parts(self, stops: frozenset[str]) -> tuple[tuple[ast.Node, ...], TemplatePiece | None]:
        """Take parts up to one of the stops, or up to a directive that has no business here."""
        parts: list[ast.Node] = []
        for piece in self._pieces:
            match piece.kind:
                case "text":
                    parts.append(ast.Literal(piece.start, piece.end, piece.text))
                case "value":
                    parts.append(next(self._items))
                case "if":
                    parts.append(self._if(piece))
                case "for":
                    parts.append(self._for(piece))
                case kind if kind in stops or not stops:
                    return tuple(parts), piece
                case _:
                    raise self.directive_error(
                        piece, f'"{piece.kind}" does not end the open directive.'
                    )
        return tuple(parts), None

    def _if(self, piece: TemplatePiece) -> ast.Node:
        condition = next(self._items)
        then, stopped = self._template(piece, frozenset({"else", "endif"}))
        otherwise = ast.Template(stopped.end, stopped.end, ())
        if stopped.kind == "else":
            otherwise, stopped = self._template(piece, frozenset({"endif"}))
        return ast.TemplateIf(piece.start, stopped.end, condition, then, otherwise)

    def _for(self, piece: TemplatePiece) -> ast.Node:
        collection = next(self._items)
        body, stopped = self._template(piece, frozenset({"endfor"}))
        names = piece.key_name, piece.value_name
        return ast.TemplateFor(piece.start, stopped.end, *names, collection, body)

    def _template(
        self, opening: TemplatePiece, stops: frozenset[str]
    ) -> tuple[ast.Template, TemplatePiece]:
        parts, stopped = self.parts(stops)
        if stopped is None:
            detail = f'The directive "{opening.kind}" is never ended by "end{opening.kind}".'
            raise self._open_error(opening, detail)
        start = parts[0].start if parts else stopped.start
        return ast.Template(start, stopped.start, parts), stopped

    def directive_error(self, piece: TemplatePiece, detail: str) -> SyntaxProblem:
        """Make the error that a directive does not fit."""
        base = self._draft.base
        summary = f"Unexpected {piece.kind} directive"
        return SyntaxProblem("KP109", base + piece.start, base + piece.end, detail, summary=summary)

    def _open_error(self, opening: TemplatePiece, detail: str) -> SyntaxProblem:
        """Make the error that a directive is open where the template ends."""
        end, base = self._draft.base + self._end, self._draft.base
        summary = "Unexpected end of template"
        broken = SyntaxProblem("KP109", end, end + 1, detail, summary=summary)
        broken.related = (("opened", base + opening.start, base + opening.end),)
        return broken
