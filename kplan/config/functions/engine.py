"""The `regex` library, imported when a text needs it (57 ms): clusters, scripts, timed searches."""

import re
from functools import cache
from typing import Final, Protocol

TIMEOUT_S: Final = 2.0
"""Seconds that one search may take."""


class EngineError(Exception):
    """The library does not take a pattern."""


class Searcher(Protocol):
    """A compiled pattern of the library."""

    def search(self, string: str, pos: int, *, timeout: float) -> "re.Match[str] | None":
        """Find the first match from a position on; raises TimeoutError."""
        ...


def searcher(pattern: str) -> Searcher:
    """Compile a pattern in the library's own syntax.

    Raises:
        EngineError: it is too large or nests too deeply.

    """
    import regex  # noqa: PLC0415 - 57 ms that a run without patterns does not pay

    try:
        compiled: Searcher = regex.compile(pattern, regex.VERSION0)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise EngineError(str(error)) from None
    return compiled


@cache
def is_script(name: str) -> bool:
    """Tell whether Unicode has a script of this name."""
    import regex  # noqa: PLC0415 - 57 ms that a run without patterns does not pay

    if re.fullmatch(r"[A-Z][A-Za-z_]+", name) is None:
        return False
    try:
        regex.compile(rf"\p{{Script={name}}}")
    except regex.error:
        return False
    return True


def clusters(text: str) -> list[str]:
    """Split a text into grapheme clusters."""
    import regex  # noqa: PLC0415 - 57 ms that plain text does not pay

    found: list[str] = regex.findall(r"\X", text)
    return found
