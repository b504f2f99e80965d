"""Escapes and character classes of RE2 patterns."""

import re
from typing import Final

from kplan.config.functions.engine import is_script
from kplan.model.dataclass import dataclass


class PatternError(Exception):
    """A pattern that is not RE2: what is wrong, and the part of it that is."""

    def __init__(self, problem: str, fragment: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fragment = fragment


@dataclass(slots=True)
class Cursor:
    """A place in the text of a pattern."""

    source: str
    position: int = 0

    def at_end(self) -> bool:
        """Tell whether nothing is left."""
        return self.position >= len(self.source)

    def peek(self, ahead: int = 0) -> str:
        """Look at a character near the place; empty beyond the end."""
        place = self.position + ahead
        return self.source[place] if place < len(self.source) else ""

    def rest(self) -> str:
        """Give all that is left."""
        return self.source[self.position :]

    def since(self, start: int) -> str:
        """Give what was read since a place."""
        return self.source[start : self.position]

    def skip(self, text: str) -> bool:
        """Go past a text if it comes next."""
        found = self.source.startswith(text, self.position)
        if found:
            self.position += len(text)
        return found

    def matched(self, pattern: str) -> tuple[str, ...] | None:
        """Go past what a pattern matches here, and give its groups."""
        found = re.compile(pattern).match(self.source, self.position)
        if found is None:
            return None
        self.position = found.end()
        return tuple(each or "" for each in found.groups())


_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PERL: Final = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
_NOT_PERL: Final = {
    "D": r"\x00-/:-\U0010ffff",
    "S": r"\x00-\x08\x0b\x0e-\x1f!-\U0010ffff",
    "W": r"\x00-/:-@\x5b-\x5e\x60\x7b-\U0010ffff",
}
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"!-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\x5b-\x60\x7b-\x7e",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NOT_POSIX: Final = {
    "alnum": r"\x00-/:-@\x5b-\x60\x7b-\U0010ffff",
    "alpha": r"\x00-@\x5b-\x60\x7b-\U0010ffff",
    "ascii": r"\x80-\U0010ffff",
    "blank": r"\x00-\x08\n-\x1f!-\U0010ffff",
    "cntrl": r"\x20-\x7e\x80-\U0010ffff",
    "digit": r"\x00-/:-\U0010ffff",
    "graph": r"\x00-\x20\x7f-\U0010ffff",
    "lower": r"\x00-\x60\x7b-\U0010ffff",
    "print": r"\x00-\x1f\x7f-\U0010ffff",
    "punct": r"\x00-\x200-9A-Za-z\x7f-\U0010ffff",
    "space": r"\x00-\x08\x0e-\x1f!-\U0010ffff",
    "upper": r"\x00-@\x5b-\U0010ffff",
    "word": r"\x00-/:-@\x5b-\x5e\x60\x7b-\U0010ffff",
    "xdigit": r"\x00-/:-@G-\x60g-\U0010ffff",
}
_CATEGORY: Final = re.compile(r"C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")
_LAST_CODE: Final = 0x10FFFF


def literal(character: str) -> str:
    """Write one character so that it stands for itself, within a class as without."""
    plain = character.isascii() and character.isalnum()
    return character if plain else f"\\U{ord(character):08x}"


def escape_class(cursor: Cursor) -> str | None:
    """Read an escape for several characters (a Perl class, a property), if one comes next."""
    following = cursor.peek(1)
    ranges = _PERL.get(following) or _NOT_PERL.get(following)
    if ranges is not None:
        cursor.position += 2
        return ranges
    if following in ("p", "P"):
        return _property(cursor)
    return None


def _property(cursor: Cursor) -> str:
    start = cursor.position
    found = cursor.matched(r"\\[pP](?:\{(\^?)([^}]*)\}|([^{]))")
    if found is None:
        cursor.position = len(cursor.source)
        raise PatternError("invalid character class range", cursor.since(start))
    negated, long_name, short_name = found
    inverse = (cursor.source[start + 1] == "P") is not bool(negated)
    written = _written_property(long_name or short_name, "P" if inverse else "p")
    if written is None:
        raise PatternError("invalid character class range", cursor.since(start))
    return written


def _written_property(name: str, letter: str) -> str | None:
    if name == "Any":
        return r"\x00-\U0010ffff" if letter == "p" else None
    if _CATEGORY.fullmatch(name):
        return f"\\{letter}{{gc={name}}}"
    return f"\\{letter}{{Script={name}}}" if is_script(name) else None


def escaped_character(cursor: Cursor) -> str:
    """Read an escape that stands for one character.

    Raises:
        PatternError: there is none of that letter.

    """
    start = cursor.position
    if cursor.matched(r"\\\Z") is not None:
        raise PatternError("trailing backslash at end of expression", "")
    if (found := cursor.matched(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")) is not None:
        code = int(found[0] or found[1], 16)
        if code > _LAST_CODE:
            raise PatternError("invalid escape sequence", cursor.since(start).rstrip("}"))
        return chr(code)
    if (found := cursor.matched(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")) is not None:
        return chr(int(found[0], 8))
    cursor.position += 2
    following = cursor.source[start + 1]
    if following in _CONTROLS:
        return _CONTROLS[following]
    if not following.isascii() or following.isalnum():
        cursor.matched(r"(?<=\\x)[^\\]{0,2}")
        raise PatternError("invalid escape sequence", cursor.since(start))
    return following


def character_class(cursor: Cursor) -> str:
    """Read a class in brackets.

    Raises:
        PatternError: it does not end, or has a range from high to low.

    """
    start = cursor.position
    cursor.position += 1
    negation = "^" if cursor.skip("^") else ""
    items: list[str] = []
    while not items or cursor.peek() != "]":
        if cursor.at_end():
            raise PatternError("missing closing ]", cursor.source[start:])
        items.append(_posix(cursor) or _escape_in_class(cursor) or _range(cursor, start))
    cursor.position += 1
    return f"[{negation}{''.join(items)}]"


def _posix(cursor: Cursor) -> str | None:
    start = cursor.position
    found = cursor.matched(r"\[:(\^?)(.*?):\]")
    if found is None:
        return None
    table = _NOT_POSIX if found[0] else _POSIX
    if found[1] not in table:
        raise PatternError("invalid character class range", cursor.since(start))
    return table[found[1]]


def _escape_in_class(cursor: Cursor) -> str | None:
    return escape_class(cursor) if cursor.peek() == "\\" else None


def _range(cursor: Cursor, opening: int) -> str:
    start = cursor.position
    low = _class_character(cursor, opening)
    if cursor.peek() != "-" or cursor.peek(1) in ("]", ""):
        return literal(low)
    cursor.position += 1
    high = _class_character(cursor, opening)
    if high < low:
        raise PatternError("invalid character class range", cursor.since(start))
    return f"{literal(low)}-{literal(high)}"


def _class_character(cursor: Cursor, opening: int) -> str:
    if cursor.at_end():
        raise PatternError("missing closing ]", cursor.source[opening:])
    if cursor.peek() == "\\":
        return escaped_character(cursor)
    cursor.position += 1
    return cursor.source[cursor.position - 1]
