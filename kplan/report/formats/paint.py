"""Spans as a terminal shows them."""

from collections.abc import Mapping
from functools import cache

from kplan.report.document import Line, Mark, Tone
from kplan.report.formats.measure import clean, columns
from kplan.report.look import Look

_RESET = "\x1b[0m"
_ANSI: Mapping[Tone, str] = {
    Tone.PLAIN: "",
    Tone.STRONG: "\x1b[1m",
    Tone.FAINT: "\x1b[90m",
    Tone.MARKED: "\x1b[4m",
    Tone.ADD: "\x1b[32m",
    Tone.CHANGE: "\x1b[33m",
    Tone.REMOVE: "\x1b[31m",
    Tone.DANGER: "\x1b[1;31m",
    Tone.ERROR: "\x1b[31m",
    Tone.WARNING: "\x1b[33m",
}
_MARK_TONES: Mapping[Mark, Tone] = {
    Mark.NONE: Tone.PLAIN,
    Mark.ADD: Tone.ADD,
    Mark.CHANGE: Tone.CHANGE,
    Mark.REMOVE: Tone.REMOVE,
    Mark.REPLACE: Tone.REMOVE,
    Mark.SWAP: Tone.ADD,
    Mark.FORGET: Tone.FAINT,
    Mark.ALARM: Tone.DANGER,
}
MARK_WORDS: Mapping[Mark, str] = {
    Mark.NONE: "",
    Mark.ADD: "add:",
    Mark.CHANGE: "change:",
    Mark.REMOVE: "remove:",
    Mark.REPLACE: "replace:",
    Mark.SWAP: "add, then remove:",
    Mark.FORGET: "forget:",
    Mark.ALARM: "caution:",
}
"""What stands for a mark where symbols are not to be relied on."""


def toned(text: str, tone: Tone, look: Look) -> str:
    """Write one stretch of text, with nothing in it that could steer the terminal."""
    shown = clean(text, unicode=look.unicode)
    ansi = _ANSI[tone] if look.colour else ""
    return f"{ansi}{shown}{_RESET}" if ansi else shown


def painted(text: Line, look: Look) -> str:
    """Write a line."""
    if not look.colour:
        return clean("".join([span.text for span in text]), unicode=look.unicode)
    return "".join(toned(span.text, span.tone, look) for span in text)


def line_columns(text: Line, look: Look) -> int:
    """Count the columns of a line as `painted` shows it."""
    said = "".join([span.text for span in text])
    return columns(clean(said, unicode=look.unicode))


@cache
def lead(mark: Mark, column: int, look: Look) -> str:
    """Write what stands before a line that starts at `column`: its mark, or the word for it."""
    if look.accessible:
        word = MARK_WORDS[mark]
        return " " * column + (f"{word} " if word else "")
    if mark is Mark.NONE:
        return " " * column
    room = " " * max(0, column - 1 - len(mark.value))
    if mark in {Mark.REPLACE, Mark.SWAP} and look.colour:
        signs = (f"\x1b[31m-{_RESET}", f"\x1b[32m+{_RESET}")
        first, second = signs if mark is Mark.REPLACE else signs[::-1]
        return f"{room}{first}/{second} "
    return f"{room}{toned(mark.value, _MARK_TONES[mark], look)} "
