"""Fitting of texts into the room that a service gives."""

from collections.abc import Iterator, Sequence

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A span of text and ever shorter forms of it; the last may be "".

    One that `is_counted` is missed where there is no room for it.
    """

    variants: tuple[str, ...]
    is_counted: bool = True


SEPARATOR_SIZE = 2
"""Bytes between two pieces: a blank line at most."""


def piece_size(text: str) -> int:
    """Measure a text in bytes, which every service counts as at least a character."""
    return len(text.encode())


def fit_pieces(pieces: Sequence[TextPiece], room: int) -> tuple[str, ...]:
    """Write each piece in the longest form that fits; earlier ones have priority.

    Every piece is said in its shortest way before one is said in a longer way. What has no room
    even so is "", from the end.
    """
    kept, left = 0, room
    while (
        kept < len(pieces)
        and (least := piece_size(pieces[kept].variants[-1]) + SEPARATOR_SIZE) <= left
    ):
        kept, left = kept + 1, left - least
    said = _longest_variant(pieces[:kept], left)
    return (*said, *("" for _ in pieces[kept:]))


def _longest_variant(pieces: Sequence[TextPiece], spare: int) -> Iterator[str]:
    for each in pieces:
        least = piece_size(each.variants[-1])
        found = next(way for way in each.variants if piece_size(way) - least <= max(spare, 0))
        spare -= piece_size(found) - least
        yield found
