"""The exception by which operations on values say that they have no result."""

from bisect import bisect
from collections.abc import Iterable


class Misuse(Exception):  # noqa: N818 - not an error of the program
    """Values were given to an operation that does not take them; the catcher knows the place."""

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint


_MANY = 20
"""Names beyond which only those are compared that begin, or else end, much like the one given."""


def meant(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that comes nearest: `Did you mean "environment"?`, or nothing."""
    names = sorted(known)
    near = _nearest(name, names if len(names) <= _MANY else _beside(name, names))
    if not near and len(names) > _MANY:
        backwards = _beside(name[::-1], sorted([each[::-1] for each in names]))
        near = _nearest(name, [each[::-1] for each in backwards])
    return f'Did you mean "{near}"?' if near else ""


def _nearest(name: str, names: list[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it

    return next(iter(get_close_matches(name, names, n=1)), "")


def _beside(name: str, names: list[str]) -> list[str]:
    place = bisect(names, name)
    return names[max(place - _MANY // 2, 0) : place + _MANY // 2]
