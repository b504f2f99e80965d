"""What texts of one shape have in common, so that the parser reads each shape once.

How python-hcl2 parses an item depends on the kinds of its tokens, never on which name or number
stands there. A configuration of ten thousand blocks has a few dozen shapes.
"""

import re
from collections.abc import Mapping
from itertools import accumulate
from string import ascii_letters
from typing import NamedTuple

LONGEST = 10_000
"""Longer texts are hardly ever alike, and their trees are large."""

KEYWORDS = frozenset(
    {"if", "in", "for", "for_each", "else", "endif", "endfor", "null", "true", "false"}
)
"""The words that python-hcl2's grammar tells from names."""

_PIECES = re.compile(
    r"[ \t\r]++"
    r"|[A-Za-z_][A-Za-z0-9_-]*+"
    r"|(?<![\w.-])\d++(?![\w.])"  # a whole number; all others are kept as they are
    r"|\d\w*+"
    r"|.",
    re.DOTALL | re.ASCII,
).findall
_LETTERS = frozenset(ascii_letters + "_")
_OPAQUE = re.compile(r'["#]|//|/\*|<<').search


class Skeleton(NamedTuple):
    """A text with one name for all names, one number, and one blank for all blanks in a row.

    `places` leads from where a token begins or ends to where it does in the text itself.
    """

    text: str
    places: Mapping[int, int]


def skeleton(text: str) -> Skeleton | None:
    """Give the skeleton of a text; None of one whose strings and comments are still in it."""
    if len(text) > LONGEST or _OPAQUE(text):
        return None
    pieces: list[str] = _PIECES(text)
    alike = [_alike(each) for each in pieces]
    here, there = (accumulate(map(len, each), initial=0) for each in (alike, pieces))
    return Skeleton("".join(alike), dict(zip(here, there, strict=True)))


def _alike(piece: str) -> str:
    first = piece[0]
    if first in _LETTERS:
        return piece if piece in KEYWORDS else "x"
    if first in " \t\r":
        return " "
    return "0" if piece.isdecimal() else piece
