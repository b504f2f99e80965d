"""RE2 patterns, which the language has, as patterns that run here.

RE2 knows no look-around and no references back to a group, and its classes are ASCII. A pattern
is read by RE2's own grammar and written again for the `regex` library with every class, anchor
and flag spelt out, so that it means the same. What could run away is stopped by time.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from kplan.config.functions.engine import TIMEOUT_S, EngineError, Searcher, searcher
from kplan.config.functions.re2class import (
    Cursor,
    PatternError,
    character_class,
    escape_class,
    escaped_character,
    literal,
)
from kplan.model.dataclass import dataclass

MAX_PATTERN: Final = 10_000
"""Characters of a pattern."""

_MAX_DEPTH: Final = 100
_MAX_REPEAT: Final = 1000
_CACHED: Final = 256
_WORD: Final = "0-9A-Za-z_"
_BOUNDARY: Final = (
    f"(?:(?<![{_WORD}])(?=[{_WORD}])|(?<=[{_WORD}])(?![{_WORD}]))",
    f"(?:(?<![{_WORD}])(?![{_WORD}])|(?<=[{_WORD}])(?=[{_WORD}]))",
)
_ANCHORS: Final = {"A": r"\A", "z": r"\Z", "b": _BOUNDARY[0], "B": _BOUNDARY[1]}


@dataclass(frozen=True, slots=True)
class Match:
    """One match: its span, the whole text of it and the text of each group, None if unused."""

    start: int
    end: int
    text: str
    groups: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern ready to search with; `names` has one entry per group, None for one without."""

    compiled: Searcher
    names: tuple[str | None, ...]

    def first(self, text: str) -> Match | None:
        """Find the first match.

        Raises:
            TimeoutError: the search took longer than `TIMEOUT_S`.

        """
        return self._match(text, 0)

    def matches(self, text: str) -> Iterator[Match]:
        """Find all matches from left to right; an empty one not directly after another.

        Raises:
            TimeoutError: a search took longer than `TIMEOUT_S`.

        """
        position, previous_end = 0, -1
        while position <= len(text):
            match = self._match(text, position)
            if match is None:
                return
            if match.end > position:
                position = match.end
                accepted = True
            else:
                accepted = match.start != previous_end
                position += 1
            previous_end = match.end
            if accepted:
                yield match

    def _match(self, text: str, position: int) -> Match | None:
        found = self.compiled.search(text, position, timeout=TIMEOUT_S)
        if found is None:
            return None
        return Match(found.start(), found.end(), found.group(), found.groups())


@lru_cache(maxsize=_CACHED)
def compile_pattern(source: str) -> Pattern:
    """Read an RE2 pattern.

    Raises:
        PatternError: it is not one.

    """
    if len(source) > MAX_PATTERN:
        raise PatternError("expression too large", "")
    reader = _Reader(Cursor(source), [], 0)
    written, _ = reader.alternatives(_Flags())
    if not reader.cursor.at_end():
        raise PatternError("unexpected )", source)
    try:
        return Pattern(searcher(written), tuple(reader.names))
    except EngineError:
        raise PatternError("expression cannot be used", source) from None


@dataclass(frozen=True, slots=True)
class _Flags:
    """Flags in force: ignore case, multiple lines, dot matches line ends, swapped greediness."""

    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


@dataclass(slots=True)
class _Reader:
    """Reads a pattern and writes it again; each part comes with how often it may repeat inside."""

    cursor: Cursor
    names: list[str | None]
    depth: int

    def alternatives(self, flags: _Flags) -> tuple[str, int]:
        """Read up to the end of the pattern or of the group."""
        parts: list[str] = []
        heaviest = 1
        has_atom = False
        while not self.cursor.at_end() and self.cursor.peek() != ")":
            changed = self._flags_only(flags)
            if changed is not None:
                flags, has_atom = changed, False
            elif self.cursor.skip("|"):
                parts.append("|")
                has_atom = False
            else:
                self._refuse_repeat(has_atom=has_atom)
                part, weight = self._repeated(*self._atom(flags), flags)
                parts.append(part)
                heaviest = max(heaviest, weight)
                has_atom = True
        return "".join(parts), heaviest

    def _refuse_repeat(self, *, has_atom: bool) -> None:
        if has_atom:
            return
        start = self.cursor.position
        if self._repeat() is not None:
            raise PatternError("missing argument to repetition operator", self.cursor.since(start))

    def _repeated(self, atom: str, weight: int, flags: _Flags) -> tuple[str, int]:
        start = self.cursor.position
        bounds = self._repeat()
        if bounds is None:
            return atom, weight
        lazy = self.cursor.skip("?") is not flags.U
        last = self.cursor.position
        if self._repeat() is not None:
            fragment = self.cursor.since(start) if last else ""
            raise PatternError("invalid nested repetition operator", fragment)
        low, high = bounds
        weight *= max(1, low if high is None else high)
        if weight > _MAX_REPEAT:
            raise PatternError("invalid repeat count", self.cursor.since(start))
        return f"(?:{atom}){{{low},{'' if high is None else high}}}{'?' if lazy else ''}", weight

    def _repeat(self) -> tuple[int, int | None] | None:
        """Read one repetition operator, if there is one."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        for operator, bounds in simple.items():
            if self.cursor.skip(operator):
                return bounds
        start = self.cursor.position
        found = self.cursor.matched(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
        if found is None:
            return None
        low, comma, high = found
        least = int(low[:5])
        most = least if not comma else int(high[:5]) if high else None
        if max(least, most or 0) > _MAX_REPEAT or (most is not None and most < least):
            raise PatternError("invalid repeat count", self.cursor.since(start))
        return least, most

    def _atom(self, flags: _Flags) -> tuple[str, int]:
        character = self.cursor.peek()
        if character == "(":
            return self._group(flags)
        if character == "[":
            return _cased(character_class(self.cursor), flags), 1
        if character == "\\":
            return self._escape(flags), 1
        self.cursor.position += 1
        match character:
            case ".":
                return r"[\s\S]" if flags.s else r"[^\n]", 1
            case "^":
                return "(?m:^)" if flags.m else r"\A", 1
            case "$":
                return "(?m:$)" if flags.m else r"\Z", 1
            case _:
                return _cased(literal(character), flags), 1

    def _escape(self, flags: _Flags) -> str:
        following = self.cursor.peek(1)
        if following in _ANCHORS:
            self.cursor.position += 2
            return _ANCHORS[following]
        if following == "Q":
            return self._quoted(flags)
        ranges = escape_class(self.cursor)
        if ranges is not None:
            return _cased(f"[{ranges}]", flags)
        return _cased(literal(escaped_character(self.cursor)), flags)

    def _quoted(self, flags: _Flags) -> str:
        """Read what stands between backslash Q and backslash E, character for character."""
        self.cursor.position += 2
        text, ended, _ = self.cursor.rest().partition(r"\E")
        self.cursor.position += len(text) + (2 if ended else 0)
        return "".join(_cased(literal(each), flags) for each in text)

    def _group(self, flags: _Flags) -> tuple[str, int]:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise PatternError("expression nests too deeply", self.cursor.source)
        opening = "("
        if self.cursor.rest().startswith("(?"):
            opening, flags = self._special(flags)
        else:
            self.cursor.position += 1
            self.names.append(None)
        inner, weight = self.alternatives(flags)
        if not self.cursor.skip(")"):
            raise PatternError("missing closing )", self.cursor.source)
        self.depth -= 1
        return f"{opening}{inner})", weight

    def _special(self, flags: _Flags) -> tuple[str, _Flags]:
        start = self.cursor.position
        if self.cursor.matched(r"\(\?P?<") is not None:
            self.names.append(self._name(start))
            return "(", flags
        set_flags = self._flag_letters(flags)
        self.cursor.position += 1
        return "(?:", set_flags

    def _name(self, start: int) -> str:
        name, closed, _ = self.cursor.rest().partition(">")
        self.cursor.position += len(name) + len(closed)
        if not closed or not re.fullmatch(r"[0-9A-Za-z_]+", name):
            is_look_behind = name.startswith(("=", "!"))
            fragment = self.cursor.source[start:] if is_look_behind else self.cursor.since(start)
            raise PatternError("invalid named capture", fragment)
        return name

    def _flags_only(self, flags: _Flags) -> _Flags | None:
        """Read a group that only sets flags, if there is one."""
        start = self.cursor.position
        if self.cursor.matched(r"\(\?[imsU]*(?:-[imsU]+)?\)") is None:
            return None
        if self.cursor.since(start) == "(?)":
            raise PatternError("missing argument to repetition operator", "?")
        self.cursor.position = start
        flags = self._flag_letters(flags)
        self.cursor.position += 1
        return flags

    def _flag_letters(self, flags: _Flags) -> _Flags:
        """Read `(?im-s` and stop before the `:` or `)` that ends it."""
        start = self.cursor.position
        self.cursor.position += 2
        value = True
        while not self.cursor.at_end():
            letter = self.cursor.peek()
            if letter in ":)" and (value or self.cursor.peek(-1) != "-"):
                return flags
            self.cursor.position += 1
            if letter in "imsU":
                flags = replace(flags, **{letter: value})
            elif letter == "-" and value:
                value = False
            else:
                break
        fragment = self.cursor.since(start)
        raise PatternError("invalid or unsupported Perl syntax", fragment)


def _cased(text: str, flags: _Flags) -> str:
    return f"(?i:{text})" if flags.i else text
