"""Expressions made up from a grammar, of every operator and function; most of them are right.

A line of `fixtures/grammar.txt` says how an expression of a type may be written, with `<type>` for
the expressions inside.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

Choose = Callable[[Sequence[T]], T]

_HOLE = re.compile(r"<(\w{3,})>")
_ODDS = 25
"""One in so many expressions is of another type than is wanted."""


def _grammar() -> dict[str, list[str]]:
    rules: dict[str, list[str]] = defaultdict(list)
    path = Path(__file__).parent / "fixtures" / "grammar.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        of, _, form = line.partition(": ")
        if form:
            rules[of].append(form)
    return rules


_RULES = _grammar()
_LEAVES = {of: [each for each in forms if not _HOLE.search(each)] for of, forms in _RULES.items()}
TYPES = tuple(_RULES)


def expression(choose: Choose[str], choose_number: Choose[int], depth: int = 3) -> str:
    """Make up an expression, deciding by the two functions what it is."""

    def written(of: str, left: int) -> str:
        if choose_number(range(_ODDS)) == 0:
            of = choose(TYPES)
        form = choose(_RULES[of] if left > 0 else _LEAVES[of])
        return _HOLE.sub(lambda hole: written(hole[1], left - 1), form)

    return written(choose(TYPES), depth)
