"""Fit pieces of text into a limit: long, short, or only counted."""

from collections.abc import Iterator, Sequence

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A stretch of text, and ever shorter ways to say it; the last may be ""."""

    ways: tuple[str, ...]


BETWEEN = 2
"""Bytes between two pieces: a blank line at most."""


def piece_size(text: str) -> int:
    """Count what a text takes: bytes, which no service counts as less than one character."""
    return len(text.encode())


def fit_pieces(pieces: Sequence[TextPiece], room: int) -> tuple[str, ...]:
    """Say each piece as fully as there is room for; the first ones come first.

    Every piece is said in its shortest way before one is said in a longer way. What has no room
    even so is "", from the end.
    """
    kept, left = 0, room
    while kept < len(pieces) and (least := piece_size(pieces[kept].ways[-1]) + BETWEEN) <= left:
        kept, left = kept + 1, left - least
    said = _longest(pieces[:kept], left)
    return (*said, *("" for _ in pieces[kept:]))


def _longest(pieces: Sequence[TextPiece], spare: int) -> Iterator[str]:
    for each in pieces:
        least = piece_size(each.ways[-1])
        found = next(way for way in each.ways if piece_size(way) - least <= max(spare, 0))
        spare -= piece_size(found) - least
        yield found
