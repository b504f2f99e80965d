"""Parsing of a file: its top-level items, each on its own, and every problem of every item."""

import re
from collections.abc import Iterator
from functools import partial

from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.block_pattern import BlockPatterns, Content
from kplan.config.syntax.grammar import ParserText, SyntaxProblem
from kplan.config.syntax.lowering import Lowering
from kplan.config.syntax.scanner import Scanner
from kplan.config.syntax.source import HEADER, HEADER_OR_ARGUMENT, Origin, Source
from kplan.config.syntax.syntax_error import Header, find_further_problems
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic

_SPACE = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL).match


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The syntax tree of a file and its diagnostics."""

    items: tuple[ast.Item, ...]
    diagnostics: tuple[Diagnostic, ...]
    has_lost: bool = False
    """Whether an item is broken in a way that hides what it declares."""


def parse_file(
    source: Source, patterns: BlockPatterns | None = None, *, is_body: bool = False
) -> ParsedFile:
    """Parse HCL text; `is_body` where arguments may be at the top, as in a variables file.

    `patterns` are of items parsed before; what they learn from this text stays in them.
    """
    return _parse_source(source, BlockPatterns() if patterns is None else patterns, is_body=is_body)


def _parse_source(source: Source, patterns: BlockPatterns, *, is_body: bool) -> ParsedFile:
    items: list[ast.Item] = []
    diagnostics: list[Diagnostic] = []
    has_lost = False
    for start, end, content, header in _contents(source.text, patterns, is_body=is_body):
        origin = Origin(source, start)
        if not isinstance(content, SyntaxProblem):
            items.append(ast.Item(origin, content))
            continue
        diagnostics.append(_diagnostic(source, content))
        more = find_further_problems(
            source.text, start, end, content, partial(_problem, start, end)
        )
        diagnostics.extend(_diagnostic(source, each) for each in more)
        if header is not None and header.labels:
            items.append(ast.Item(origin, _empty(header, start), is_broken=True))
        else:
            has_lost = True
    return ParsedFile(tuple(items), tuple(diagnostics), has_lost)


def _contents(
    text: str, patterns: BlockPatterns, *, is_body: bool
) -> Iterator[tuple[int, int, Content | SyntaxProblem, Header | None]]:
    """Return start and end of each item, its tree, and the header of an item without one."""
    at = 0
    while (at := _behind_space(text, at)) < len(text):
        start = at
        if match := patterns.match(text, start):
            at, content = match
            yield start, at, content, None
            continue
        start, at, scanner, broken = _scan_item(text, start, is_body=is_body)
        read = broken or _attempt(scanner, at)
        if not isinstance(read, SyntaxProblem):
            patterns.learn(text[start:at], read)
        yield start, at, read, scanner.header


def _problem(start: int, end: int, text: str) -> SyntaxProblem | None:
    """Return the first problem of the item that begins at an offset."""
    scanner = Scanner(ParserText(text, start, end))
    try:
        scanner.item()
    except SyntaxProblem as broken:
        return broken
    found = _attempt(scanner, end)
    return found if isinstance(found, SyntaxProblem) else None


_PREFIX = "x = "


def parse_expression(source: Source) -> tuple[ast.Attribute | None, tuple[Diagnostic, ...]]:
    """Parse a text that is one expression, such as the value of `-var`.

    Offsets of the nodes count from `EXPRESSION_BASE`.
    """
    draft = ParserText(source.text, EXPRESSION_BASE, len(source.text))
    try:
        Scanner(draft).expression()
        content = _content(draft, len(source.text), _PREFIX)
    except SyntaxProblem as broken:
        return None, (_diagnostic(source, broken),)
    return content if isinstance(content, ast.Attribute) else None, ()


EXPRESSION_BASE = -len(_PREFIX)


def parse_template(source: Source) -> tuple[ast.Attribute | None, tuple[Diagnostic, ...]]:
    """Parse a text that is a template as a whole, such as the file of `templatefile`.

    Offsets of the nodes count from `TEMPLATE_BASE`.
    """
    draft = ParserText(source.text, TEMPLATE_BASE, len(source.text))
    try:
        Scanner(draft).template()
        content = _content(draft, len(source.text), f"{_PREFIX}[", "]")
    except SyntaxProblem as broken:
        return None, (_diagnostic(source, broken),)
    return content if isinstance(content, ast.Attribute) else None, ()


TEMPLATE_BASE = -len(f"{_PREFIX}[")


def _scan_item(
    text: str, start: int, *, is_body: bool
) -> tuple[int, int, Scanner, SyntaxProblem | None]:
    scanner = Scanner(ParserText(text, start, len(text)))
    try:
        end = scanner.item()
        scanner.line_end(end)
    except SyntaxProblem as broken:
        line_end = text.find("\n", start)
        find = HEADER_OR_ARGUMENT if is_body else HEADER
        found = find(text, line_end) if line_end >= 0 else None
        return _within(scanner, start, found.start() if found else len(text), broken)
    return start, end, scanner, None


def _within(
    scanner: Scanner, start: int, limit: int, broken: SyntaxProblem
) -> tuple[int, int, Scanner, SyntaxProblem | None]:
    """Return the problem of an item within its limit, which the next header gives."""
    if broken.start < limit and broken.code != "KP104":
        return start, limit, scanner, broken
    again = Scanner(ParserText(scanner.draft.text, start, limit))
    try:
        again.item()
    except SyntaxProblem as nearer:
        return start, limit, again, nearer
    return start, limit, scanner, broken


def _behind_space(text: str, at: int) -> int:
    match = _SPACE(text, at)
    return match.end() if match else at


def _attempt(scanner: Scanner, end: int) -> Content | SyntaxProblem:
    try:
        return _content(scanner.draft, end)
    except SyntaxProblem as broken:
        return broken


def _content(draft: ParserText, end: int, prefix: str = "", suffix: str = "") -> Content:
    from kplan.config.syntax.grammar import parse_text  # noqa: PLC0415 - python-hcl2 loads slowly

    try:
        tree = parse_text(f"{prefix}{draft.rewrite(end)}{suffix}", draft)
        return Lowering(draft).content(tree)
    except RecursionError:
        start = max(draft.base, 0)
        raise SyntaxProblem("KP114", start, start + 1, "This is nested too deeply.") from None


def _empty(header: Header, start: int) -> ast.Block:
    end = header.end - start
    return ast.Block(0, end, header.type, header.labels, end, (), ())


def _diagnostic(source: Source, broken: SyntaxProblem) -> Diagnostic:
    related = tuple((label, source.range(start, end)) for label, start, end in broken.related)
    subject = source.range(max(broken.start, 0), max(broken.end, 0))  # of a text without any
    return error(
        broken.code,
        subject,
        broken.detail,
        hint=broken.hint,
        related=related,
        summary=broken.summary,
    )
