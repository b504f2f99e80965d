"""What is said of text that is no HCL, before the parser gets to see it."""

import re

from kplan.config.syntax.draft import Broken
from kplan.config.syntax.levels import Header, Level, Mode


def bad_statement(match: re.Match[str]) -> Broken:
    """Say why no statement begins here."""
    kind = match.lastgroup or "end"
    start, end = match.start(kind), max(match.end(), match.start(kind) + 1)
    if kind == "stray":
        return bad_character(match)
    if kind == "comment":  # a closed one has been passed over
        return open_comment(start)
    if kind == "close":
        return Broken("KP105", start, end, f"Nothing is open that {match[kind]} could close.")
    if kind in {"text", "quote"}:
        told = "Names of arguments and types of blocks are not quoted."
        return Broken("KP102", start, end, told)
    told = "An argument (name = value) or a block begins with a name."
    return Broken("KP102", start, end, told)


def bad_header(header: Header, match: re.Match[str]) -> Broken:
    """Say why what began is no argument and no block."""
    kind = match.lastgroup or "end"
    start = match.start(kind)
    if kind == "quote":
        line_end = match.string.find("\n", start, match.endpos)
        closed = match.string.find('"', start + 1, max(line_end, start))
        if closed < 0:
            told = "This quote is not closed on its line."
            return Broken("KP106", start, max(line_end, start + 1), told, 'Close it with ".')
        told = "A block label is plain text without templates."
        return Broken("KP125", start, closed + 1, told)
    if kind == "stray":
        return bad_character(match)
    if header.labels or header.type == "resource":
        told = f'The header of the block "{header.type}" must end with an opening brace.'
        return Broken("KP103", header.start, header.end, told, "Put { on the same line.")
    told = f'After "{header.type}" there must be = and a value, or the labels and {{ of a block.'
    return Broken("KP102", header.start, header.type_end, told)


def bad_inner_block(header: Header) -> Broken:
    """Say that a block cannot stand on the line of the block around it."""
    told = f'The block "{header.type}" stands on the line of the block around it.'
    hint = f"Give it a line of its own, or write {header.type} = ... if it is an argument."
    return Broken("KP103", header.start, header.end, told, hint)


def bad_one_line(match: re.Match[str]) -> Broken:
    """Say that a block on one line goes on where it should end."""
    start = match.start(match.lastgroup or 0)
    told = "A block that begins with an argument on its first line ends behind it."
    hint = "Close it with } at once, or give each argument a line of its own."
    return Broken("KP103", start, start + 1, told, hint)


def bad_same_line(match: re.Match[str]) -> Broken:
    """Say that a line goes on behind what has ended on it."""
    start = match.start(match.lastgroup or 0)
    told = "Each argument and each block begins and ends on lines of its own."
    return Broken("KP111", start, start + 1, told, "Put a line break before it.")


def bad_open_block(header: Header) -> Broken:
    """Say that a block is never closed."""
    told = f'The block "{header.type}" that begins here is never closed.'
    return Broken("KP104", header.start, header.end, told, "Add the missing } behind its body.")


def bad_adjacent(match: re.Match[str], level: Level) -> Broken:
    """Say that two values stand beside each other."""
    kind = match.lastgroup or ""
    start = match.start(kind)
    found = f"found {match[kind]}" if kind in {"word", "chain", "number"} else "found another value"
    match level.mode:
        case Mode.ARGUMENT:
            told = f"After the value there must be a line break, {found}."
            return Broken("KP111", start, match.end(), told)
        case Mode.TEMPLATE:
            if kind in {"quote", "text"}:
                return bad_template(level)
            told = f"Expected }} or an operator, {found}."
        case _:
            closer = level.closer or "the end"
            told = f"Expected a comma, an operator or {closer}, {found}."
    return Broken("KP112", start, match.end(), told)


def bad_template(level: Level) -> Broken:
    """Say that an interpolation is never closed."""
    told = "The interpolation that begins here is never closed by }."
    hint = "Write $${ for the two characters themselves."
    return Broken("KP106", level.start - 2, level.start, told, hint)


def bad_bracket(match: re.Match[str], level: Level) -> Broken:
    """Say which bracket is open, or was expected."""
    found, opening = match["close"], level.start - 1
    if found and level.closer:
        told = f"Expected {level.closer}, found {found}."
        broken = Broken("KP105", match.start("close"), match.end(), told)
        broken.related = (("opened", opening, level.start),)
        return broken
    if found:
        told = f"Nothing is open that {found} could close."
        return Broken("KP105", match.start("close"), match.end(), told)
    told = f"This {match.string[opening]} is never closed by {level.closer}."
    return Broken("KP105", opening, level.start, told)


def open_comment(start: int) -> Broken:
    """Say that a comment is never closed."""
    return Broken("KP117", start, start + 2, "This comment is never closed by */.")


def bad_line_end(match: re.Match[str]) -> Broken:
    """Say that the line ends behind an operator."""
    start = match.start("newline")
    if match.string[:start].rstrip().endswith("."):
        return Broken("KP101", start, start + 1, "A name is expected, found the end of the line.")
    told = "A value is expected, found the end of the line."
    hint = "Put what goes over several lines in parentheses."
    return Broken("KP101", start, start + 1, told, hint)


def bad_token(match: re.Match[str]) -> Broken:
    """Say why a token has no place in an expression."""
    if match.lastgroup == "shift":
        told = "<< begins a heredoc: its marker follows at once, and ends the line."
        hint = "Write <<EOT, or <<-EOT for indented text."
        return Broken("KP101", *match.span("shift"), told, hint)
    return bad_character(match)


def bad_character(match: re.Match[str]) -> Broken:
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
    told = f"{found!r} has no meaning here."
    return Broken("KP110", start, start + len(found), told, hints.get(found, ""))
