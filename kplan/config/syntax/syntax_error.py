"""Messages for text that is not HCL, and further errors of the same item."""

import re
from collections.abc import Callable, Iterator
from enum import Enum

from kplan.config.syntax.grammar import SyntaxProblem
from kplan.config.syntax.tree import Label
from kplan.model.codes import SUMMARIES


class Mode(Enum):
    """The meaning of a line break, and the ends of the expression."""

    ARGUMENT = "ends it"
    LIST = "nothing"
    OBJECT = "separates"
    TEMPLATE = "nothing, and } or ~} ends it"


class Level:
    """The state of one bracket, template or argument while it is scanned."""

    __slots__ = ("closer", "is_for", "last", "mode", "signed", "start", "strips")

    def __init__(self, mode: Mode, closer: str, start: int, *, is_for: bool = False) -> None:
        self.mode = mode
        self.closer = closer
        self.start = start  # offset behind the opening bracket
        self.is_for = is_for  # whether words are beside each other: for x in y : z if w
        self.last = "open"  # kind of the last token that means something
        self.signed = -1  # offset of the last sign that negates
        self.strips = False  # whether ~ is before the closer


class Header:
    """The first line of a top-level item, known even where the rest is broken."""

    __slots__ = ("end", "labels", "start", "type", "type_end")

    def __init__(self, start: int, word: str) -> None:
        self.start = start
        self.type = word
        self.type_end = start + len(word)
        self.labels: tuple[Label, ...] = ()
        self.end = self.type_end


def bad_statement(match: re.Match[str]) -> SyntaxProblem:
    """Say why no statement begins here."""
    kind = match.lastgroup or "end"
    start, end = match.start(kind), max(match.end(), match.start(kind) + 1)
    if kind == "stray":
        return bad_character(match)
    if kind == "comment":  # a closed one has been passed over
        return open_comment(start)
    if kind == "close":
        detail = f"Nothing is open that {match[kind]} could close."
        summary = SUMMARIES["KP102"]
        return SyntaxProblem("KP105", start, end, detail, summary=summary)
    if kind in {"text", "quote"}:
        detail = "Names of arguments and types of blocks are not quoted."
        return SyntaxProblem("KP102", start, end, detail)
    detail = "An argument (name = value) or a block begins with a name."
    return SyntaxProblem("KP102", start, end, detail)


def bad_header(header: Header, match: re.Match[str]) -> SyntaxProblem:
    """Explain why the item is neither an argument nor a block."""
    kind = match.lastgroup or "end"
    start = match.start(kind)
    if kind == "quote":
        line_end = match.string.find("\n", start, match.endpos)
        closed = match.string.find('"', start + 1, max(line_end, start))
        if closed < 0:
            detail = "This quote is not closed on its line."
            return SyntaxProblem(
                "KP106", start, max(line_end, start + 1), detail, 'Close it with ".'
            )
        detail = "A block label is plain text without templates."
        return SyntaxProblem("KP125", start, closed + 1, detail)
    if kind == "stray":
        return bad_character(match)
    if header.labels or header.type == "resource":
        detail = f'The header of the block "{header.type}" must end with an opening brace.'
        return SyntaxProblem("KP103", header.start, header.end, detail, "Put { on the same line.")
    detail = f'After "{header.type}" there must be = and a value, or the labels and {{ of a block.'
    return SyntaxProblem("KP102", header.start, header.type_end, detail)


def bad_inner_block(header: Header) -> SyntaxProblem:
    """Say that a block cannot be on the line of the block around it."""
    detail = f'The block "{header.type}" is on the line of the enclosing block.'
    hint = f"Put it on its own line, or write {header.type} = ... if it is an argument."
    return SyntaxProblem("KP103", header.start, header.end, detail, hint)


def bad_one_line(match: re.Match[str]) -> SyntaxProblem:
    """Report that a one-line block continues where it should end."""
    start = match.start(match.lastgroup or 0)
    detail = "A block that begins with an argument on its first line ends behind it."
    hint = "Close it with } on the same line, or put each argument on its own line."
    summary = "Invalid single-argument block definition"
    return SyntaxProblem("KP103", start, start + 1, detail, hint, summary=summary)


def bad_same_line(match: re.Match[str]) -> SyntaxProblem:
    """Report text after the end of a line's item."""
    start = match.start(match.lastgroup or 0)
    if match.lastgroup == "comma":
        detail = "Arguments are separated by line breaks, not by commas."
        summary = "Unexpected comma after argument"
        return SyntaxProblem("KP111", start, start + 1, detail, summary=summary)
    detail = "Put each argument and each block on its own lines."
    return SyntaxProblem("KP111", start, start + 1, detail, "Put a line break before it.")


def bad_open_block(header: Header, brace: int) -> SyntaxProblem:
    """Say that a block is never closed; it is shown at its brace."""
    detail = f'The block "{header.type}" that begins here is never closed.'
    return SyntaxProblem("KP104", brace, brace + 1, detail, "Add the missing } behind its body.")


def bad_adjacent(match: re.Match[str], level: Level) -> SyntaxProblem:
    """Say that two values are beside each other."""
    kind = match.lastgroup or ""
    start = match.start(kind)
    found = f"found {match[kind]}" if kind in {"word", "chain", "number"} else "found another value"
    match level.mode:
        case Mode.ARGUMENT:
            detail = f"After the value there must be a line break, {found}."
            return SyntaxProblem("KP111", start, match.end(), detail)
        case Mode.TEMPLATE:
            if kind in {"quote", "text"}:
                return bad_template(level)
            detail = f"Expected }} or an operator, {found}."
        case _:
            closer = level.closer or "the end"
            detail = f"Expected a comma, an operator or {closer}, {found}."
    return SyntaxProblem("KP112", start, match.end(), detail)


def bad_template(level: Level) -> SyntaxProblem:
    """Say that an interpolation is never closed."""
    detail = "The interpolation that begins here is never closed by }."
    hint = "Write $${ for the two characters themselves."
    return SyntaxProblem("KP106", level.start - 2, level.start, detail, hint)


def bad_bracket(match: re.Match[str], level: Level) -> SyntaxProblem:
    """Say which bracket is open, or was expected."""
    found, opening = match["close"], level.start - 1
    if found and level.closer:
        detail = f"Expected {level.closer}, found {found}."
        summary = _bracket_summary(match.string[:opening].rstrip(), level.closer)
        broken = SyntaxProblem("KP105", match.start("close"), match.end(), detail, summary=summary)
        broken.related = (("opened", opening, level.start),)
        return broken
    if found:
        detail = f"Nothing is open that {found} could close."
        return SyntaxProblem("KP105", match.start("close"), match.end(), detail)
    detail = f"This {match.string[opening]} is never closed by {level.closer}."
    return SyntaxProblem("KP105", opening, level.start, detail)


def _bracket_summary(before: str, closer: str) -> str:
    """Name what is missing: `before` is the text before the bracket that is open."""
    is_behind_value = before[-1:].isalnum() or before[-1:] in {"_", "]", ")"}
    match closer:
        case "]":
            return "Missing close bracket on index" if is_behind_value else SUMMARIES["KP112"]
        case ")":
            return "Missing argument separator" if is_behind_value else "Unbalanced parentheses"
        case _:
            return "Missing attribute separator"


def open_comment(start: int) -> SyntaxProblem:
    """Say that a comment is never closed."""
    return SyntaxProblem("KP117", start, start + 2, "This comment is never closed by */.")


def bad_line_end(match: re.Match[str]) -> SyntaxProblem:
    """Say that the line ends behind an operator."""
    start = match.start("newline")
    if match.string[:start].rstrip().endswith("."):
        return SyntaxProblem(
            "KP101", start, start + 1, "A name is expected, found the end of the line."
        )
    detail = "A value is expected, found the end of the line."
    hint = "Put an expression of several lines in parentheses."
    return SyntaxProblem("KP101", start, start + 1, detail, hint)


def bad_token(match: re.Match[str]) -> SyntaxProblem:
    """Say why a token has no place in an expression."""
    if match.lastgroup == "shift":
        detail = "<< begins a heredoc: its marker follows at once, and ends the line."
        hint = "Write <<EOT, or <<-EOT for indented text."
        return SyntaxProblem("KP101", *match.span("shift"), detail, hint)
    return bad_character(match)


def bad_character(match: re.Match[str]) -> SyntaxProblem:
    """Say that a character has no meaning."""
    kind = match.lastgroup or "stray"
    start, found = match.start(kind), match[kind]
    hints = {
        "'": 'Strings are written with double quotes: "text".',
        "&": "The operator is &&.",
        "|": "The operator is ||.",
        ";": "Separate arguments with line breaks.",
        "`": 'Strings are written with double quotes: "text".',
        "\u201c": 'Write the straight quote: ".',
        "\u201d": 'Write the straight quote: ".',
    }
    detail = f"{found!r} has no meaning here."
    return SyntaxProblem("KP110", start, start + len(found), detail, hints.get(found, ""))


MAX_PROBLEMS = 20
"""Problems of one item that are reported."""

_MAX_READ = 400_000
"""Characters that are read again in all, at most, for one item."""

_OF_STRUCTURE = frozenset({"KP104", "KP105", "KP107", "KP114", "KP117"})
_PAIRS = ("()", "[]", "{}")


def find_further_problems(
    text: str,
    start: int,
    end: int,
    first: SyntaxProblem,
    problem_of: Callable[[str], SyntaxProblem | None],
) -> Iterator[SyntaxProblem]:
    """Return the problems of the item from start to end after the first one.

    `problem_of` reads the item in a text of the same length.
    """
    result = first
    for _ in range(min(MAX_PROBLEMS - 1, _MAX_READ // max(end - start, 1))):
        blanked = _without_line(text, start, end, result)
        if blanked is None:
            return
        text = blanked
        found = problem_of(text)
        if found is None or found.code in _OF_STRUCTURE:
            return
        is_behind = result.start < found.start
        if not is_behind or text[result.start : found.start].strip():
            yield found  # else it may be the rest of the line before
        result = found


def _without_line(text: str, start: int, end: int, syntax_problem: SyntaxProblem) -> str | None:
    """Overwrite the line of a problem, unless more than the line would be lost."""
    line_start = text.rfind("\n", start, syntax_problem.start) + 1
    line_end = text.find("\n", syntax_problem.start, end)
    if line_start <= start or line_end < 0 or syntax_problem.code in _OF_STRUCTURE:
        return None
    line = text[line_start:line_end]
    is_closed = all(line.count(pair[0]) == line.count(pair[1]) for pair in _PAIRS)
    if not line.strip() or not is_closed or "<<" in line or "/*" in line:
        return None
    return text[:line_start] + " " * len(line) + text[line_end:]
