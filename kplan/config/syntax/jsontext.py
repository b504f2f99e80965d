"""JSON text with the place of every part of it, which Python's own reader does not give."""

import json
import re
from typing import NamedTuple, TypeAlias

from kplan.config.syntax.draft import Broken
from kplan.config.syntax.tokens import MAX_DEPTH


class Scalar(NamedTuple):
    """null, a bool, a number as its text, or a string with its escapes resolved."""

    start: int
    end: int
    value: bool | str | None
    is_number: bool = False


class Array(NamedTuple):
    """`[...]`."""

    start: int
    end: int
    items: "tuple[Part, ...]"


class Member(NamedTuple):
    """One `"name": value` of an object."""

    name: Scalar
    value: "Part"


class Record(NamedTuple):
    """`{...}`, with names as often as they stand there."""

    start: int
    end: int
    members: tuple[Member, ...]


Part: TypeAlias = Scalar | Array | Record

_BLANK = re.compile(r"[ \t\r\n]*+").match
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"').match
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+").match
_WORD = re.compile(r"true|false|null").match
_WORDS = {"true": True, "false": False, "null": None}


def read_json(text: str) -> Part:
    """Read a JSON text as a whole.

    Raises:
        Broken: it is no JSON, or is nested too deeply.

    """
    reader = _Reader(text)
    part = reader.part(reader.blank(0), 0)
    behind = reader.blank(part.end)
    if behind < len(text):
        raise _broken(text, behind, "Nothing may follow the value")
    return part


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def blank(self, at: int) -> int:
        """Give the offset behind blanks."""
        match = _BLANK(self._text, at)
        return match.end() if match else at

    def part(self, at: int, depth: int) -> Part:
        """Read the value at an offset."""
        if depth > MAX_DEPTH:
            told = f"Values may stand {MAX_DEPTH} deep in each other."
            raise Broken("KP114", at, at + 1, told)
        match self._text[at : at + 1]:
            case "{":
                return self._record(at, depth)
            case "[":
                return self._array(at, depth)
            case '"':
                return self._string(at)
            case _:
                return self._word(at)

    def _string(self, at: int) -> Scalar:
        match = _STRING(self._text, at)
        if match is None:
            raise _broken(self._text, at, "A string in double quotes is expected")
        return Scalar(at, match.end(), json.loads(match[0]))

    def _word(self, at: int) -> Scalar:
        if match := _NUMBER(self._text, at):
            return Scalar(at, match.end(), match[0], is_number=True)
        if match := _WORD(self._text, at):
            return Scalar(at, match.end(), _WORDS[match[0]])
        raise _broken(self._text, at, "A value is expected")

    def _array(self, at: int, depth: int) -> Array:
        items: list[Part] = []
        here = self.blank(at + 1)
        while self._text[here : here + 1] != "]":
            if items:
                here = self._comma(here, "]")
            items.append(self.part(here, depth + 1))
            here = self.blank(items[-1].end)
        return Array(at, here + 1, tuple(items))

    def _record(self, at: int, depth: int) -> Record:
        members: list[Member] = []
        here = self.blank(at + 1)
        while self._text[here : here + 1] != "}":
            if members:
                here = self._comma(here, "}")
            name = self._string(here)
            here = self.blank(name.end)
            if self._text[here : here + 1] != ":":
                raise _broken(self._text, here, "A colon is expected")
            members.append(Member(name, self.part(self.blank(here + 1), depth + 1)))
            here = self.blank(members[-1].value.end)
        return Record(at, here + 1, tuple(members))

    def _comma(self, here: int, closer: str) -> int:
        if self._text[here : here + 1] != ",":
            raise _broken(self._text, here, f"A comma or {closer} is expected")
        return self.blank(here + 1)


def _broken(text: str, at: int, told: str) -> Broken:
    found = text[at : at + 1]
    shown = f"found {found}" if found else "found the end of the text"
    return Broken("KP119", at, at + 1, f"{told}, {shown}.")
