"""Finding what else is wrong with an item that has a syntax error.

The line of the error is overwritten with blanks and the item is read again, as long as that cannot
make mistakes of its own: the line must close what it opens, and what then comes up must not be
about what is open.
"""

from collections.abc import Callable, Iterator

from kplan.config.syntax.draft import Broken

MAX_PROBLEMS = 20
"""Problems of one item that are told."""

_MAX_READ = 400_000
"""Characters that are read again in all, at most, for one item."""

_OF_STRUCTURE = frozenset({"KP104", "KP105", "KP107", "KP114", "KP117"})
_PAIRS = ("()", "[]", "{}")


def further_problems(
    text: str, start: int, end: int, first: Broken, problem_of: Callable[[str], Broken | None]
) -> Iterator[Broken]:
    """Give the problems of the item from start to end that come after the first one.

    `problem_of` reads the item in a text of the same length.
    """
    told = first
    for _ in range(min(MAX_PROBLEMS - 1, _MAX_READ // max(end - start, 1))):
        blanked = _without_line(text, start, end, told)
        if blanked is None:
            return
        text = blanked
        found = problem_of(text)
        if found is None or found.code in _OF_STRUCTURE:
            return
        is_behind = told.start < found.start
        if not is_behind or text[told.start : found.start].strip():
            yield found  # else it may be the rest of the line before
        told = found


def _without_line(text: str, start: int, end: int, told: Broken) -> str | None:
    """Overwrite the line of a problem, unless more than the line would be lost."""
    line_start = text.rfind("\n", start, told.start) + 1
    line_end = text.find("\n", told.start, end)
    if line_start <= start or line_end < 0 or told.code in _OF_STRUCTURE:
        return None
    line = text[line_start:line_end]
    is_closed = all(line.count(pair[0]) == line.count(pair[1]) for pair in _PAIRS)
    if not line.strip() or not is_closed or "<<" in line or "/*" in line:
        return None
    return text[:line_start] + " " * len(line) + text[line_end:]
