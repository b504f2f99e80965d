"""Parts of the space of names in which ACLs do not differ, and how many live names fall in each."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kplan.policy.access import ANY_NAME

_BEYOND = "\U0010ffff"
_MAX_EXAMPLES = 3


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """One name, or all names with a prefix that no narrower pattern takes away ("": the rest)."""

    name: str
    is_prefix: bool = False

    @property
    def pattern(self) -> str:
        """Write it as a person would."""
        return f"{self.name}*" if self.is_prefix else self.name


class Names:
    """Names in order, counted by prefix in a few steps."""

    def __init__(self, names: Iterable[str]) -> None:
        self.sorted: Sequence[str] = sorted(names)

    def span(self, prefix: str) -> tuple[int, int]:
        """Give where the names with the prefix begin and end."""
        return (
            bisect_left(self.sorted, prefix),
            bisect_left(self.sorted, prefix + _BEYOND) if prefix else len(self.sorted),
        )

    def within(self, prefix: str) -> Sequence[str]:
        """Give the names with the prefix."""
        start, end = self.span(prefix)
        return self.sorted[start:end]

    def __contains__(self, name: object) -> bool:
        at = bisect_left(self.sorted, str(name))
        return at < len(self.sorted) and self.sorted[at] == name


@dataclass(slots=True)
class Patterns:
    """Literal names and prefixes that part the space of names; "*" and "" are all of it."""

    literals: Names
    prefixes: Names

    @classmethod
    def of(cls, patterns: Iterable[tuple[str, bool]]) -> "Patterns":
        """Take `(name, is_prefix)` pairs."""
        found = set(patterns)
        return cls(
            Names(name for name, is_prefix in found if not is_prefix and name != ANY_NAME),
            Names(name for name, is_prefix in found if is_prefix),
        )

    def regions(self, name: str, *, is_prefix: bool) -> Iterator[Region]:
        """Give the regions that a pattern is made of."""
        if not is_prefix and name != ANY_NAME:
            yield Region(name)
            return
        prefix = name if is_prefix else ""
        yield Region(prefix, is_prefix=True)
        for each in self.prefixes.within(prefix):
            if each != prefix:
                yield Region(each, is_prefix=True)
        for each in self.literals.within(prefix):
            yield Region(each)

    def holes(self, prefix: str) -> Iterator[str]:
        """Give the prefixes right below a prefix: what they hold is no part of its region."""
        last = None
        for each in self.prefixes.within(prefix):
            if each != prefix and (last is None or not each.startswith(last)):
                last = each
                yield each


@dataclass(slots=True)
class Census:
    """Live names, counted by region."""

    names: Names
    patterns: Patterns
    _inside: dict[str, tuple[list[tuple[int, int]], list[str]]] = field(default_factory=dict)

    def count(self, region: Region) -> int:
        """Count the live names of a region."""
        if not region.is_prefix:
            return int(region.name in self.names)
        start, end = self.names.span(region.name)
        holes, literals = self._taken(region.name)
        return end - start - sum(last - first for first, last in holes) - len(literals)

    def examples(self, region: Region) -> Iterator[str]:
        """Name a few of them."""
        if not region.is_prefix:
            yield from [region.name] if region.name in self.names else ()
            return
        at, end = self.names.span(region.name)
        holes, literals = self._taken(region.name)
        skips = {first: last for first, last in holes if last > first}
        found = 0
        while at < end and found < _MAX_EXAMPLES:
            if at in skips:
                at = skips[at]
                continue
            if self.names.sorted[at] not in literals:
                yield self.names.sorted[at]
                found += 1
            at += 1

    def _taken(self, prefix: str) -> tuple[list[tuple[int, int]], list[str]]:
        """Find what narrower patterns take away: spans of names, and single ones outside them."""
        if prefix not in self._inside:
            holes = list(self.patterns.holes(prefix))
            hidden = tuple(holes)
            self._inside[prefix] = (
                [self.names.span(each) for each in holes],
                [
                    each
                    for each in self.patterns.literals.within(prefix)
                    if each in self.names and not each.startswith(hidden)
                ],
            )
        return self._inside[prefix]
