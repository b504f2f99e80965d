"""The exception by which operations on values say that they have no result."""

from collections.abc import Iterable


class Misuse(Exception):  # noqa: N818 - not an error of the program
    """Values were given to an operation that does not take them; the catcher knows the place."""

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint


def meant(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that comes nearest: `Did you mean "environment"?`, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it

    near = get_close_matches(name, sorted(known), n=1)
    return f'Did you mean "{near[0]}"?' if near else ""
