"""Characters as a terminal counts and bears them."""

import textwrap
import unicodedata


def clean(text: str, *, unicode: bool = True) -> str:
    """Write what would steer a terminal (controls, bidi marks) as escapes (backslash, u001b).

    Without `unicode` everything beyond ASCII is escaped too.
    """
    if text.isprintable() and (unicode or text.isascii()):
        return text
    return "".join(
        each if each.isprintable() and (unicode or each.isascii()) else _escaped(each)
        for each in text
    )


def _escaped(character: str) -> str:
    number = ord(character)
    match character:
        case "\n":
            return "\\n"
        case "\t":
            return "\\t"
        case _:
            return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - the width decides the notation


def columns(text: str) -> int:
    """Count the terminal columns of a printable text (UAX 11)."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def wrapped(text: str, width: int) -> list[str]:
    """Break prose into lines of at most `width` columns; its own line breaks stay.

    Indented lines (commands) and words too long for a line are left whole.
    """
    lines: list[str] = []
    for each in text.split("\n"):
        if each.startswith(" ") or columns(each) <= width:
            lines.append(each.rstrip())
        else:
            lines += textwrap.wrap(
                each, max(width, 20), break_long_words=False, break_on_hyphens=False
            )
    return lines


def window(code: str, start: int, end: int, width: int) -> tuple[str, int, int]:
    """Cut a long line around a span: the piece, and the span within it."""
    end = max(end, start + 1)
    if len(code) <= width:
        return code, start, end
    left = max(0, min(start - width // 3, len(code) - width))
    piece = code[left : left + width]
    if left:
        piece = "..." + piece[3:]
    if left + width < len(code):
        piece = piece[:-3] + "..."
    return piece, start - left, min(end - left, width)
