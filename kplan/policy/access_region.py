"""Regions of names in which the same ACLs apply, and how many live names each holds."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from kplan.model.dataclass import dataclass
from kplan.policy.authorizer import WILDCARD_RESOURCE

_MAX_CHARACTER = "\U0010ffff"
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


class SortedNames:
    """Names in order, counted by prefix in a few steps."""

    def __init__(self, names: Iterable[str]) -> None:
        self.sorted: Sequence[str] = sorted(names)

    def prefix_range(self, prefix: str) -> tuple[int, int]:
        """Return where the names with the prefix begin and end."""
        return (
            bisect_left(self.sorted, prefix),
            bisect_left(self.sorted, prefix + _MAX_CHARACTER) if prefix else len(self.sorted),
        )

    def with_prefix(self, prefix: str) -> Sequence[str]:
        """Return the names with the prefix."""
        start, end = self.prefix_range(prefix)
        return self.sorted[start:end]

    def __contains__(self, name: object) -> bool:
        at = bisect_left(self.sorted, str(name))
        return at < len(self.sorted) and self.sorted[at] == name


@dataclass(slots=True)
class NamePatterns:
    """Literal names and prefixes that part the space of names; "*" and "" are all of it."""

    literals: SortedNames
    prefixes: SortedNames

    @classmethod
    def from_pairs(cls, patterns: Iterable[tuple[str, bool]]) -> "NamePatterns":
        """Take `(name, is_prefix)` pairs."""
        found = set(patterns)
        return cls(
            SortedNames(
                name for name, is_prefix in found if not is_prefix and name != WILDCARD_RESOURCE
            ),
            SortedNames(name for name, is_prefix in found if is_prefix),
        )

    def regions(self, name: str, *, is_prefix: bool) -> Iterator[Region]:
        """Return the regions that a pattern is made of."""
        if not is_prefix and name != WILDCARD_RESOURCE:
            yield Region(name)
            return
        prefix = name if is_prefix else ""
        yield Region(prefix, is_prefix=True)
        for each in self.prefixes.with_prefix(prefix):
            if each != prefix:
                yield Region(each, is_prefix=True)
        for each in self.literals.with_prefix(prefix):
            yield Region(each)

    def nested_prefixes(self, prefix: str) -> Iterator[str]:
        """Return the prefixes right below a prefix: what they hold is no part of its region."""
        last = None
        for each in self.prefixes.with_prefix(prefix):
            if each != prefix and (last is None or not each.startswith(last)):
                last = each
                yield each


@dataclass(slots=True)
class RegionCounter:
    """Live names, counted by region."""

    names: SortedNames
    patterns: NamePatterns
    _excluded: dict[str, tuple[list[tuple[int, int]], list[str]]] = field(default_factory=dict)

    def count(self, region: Region) -> int:
        """Count the live names of a region."""
        if not region.is_prefix:
            return int(region.name in self.names)
        start, end = self.names.prefix_range(region.name)
        holes, literals = self._excluded_names(region.name)
        return end - start - sum(last - first for first, last in holes) - len(literals)

    def examples(self, region: Region) -> Iterator[str]:
        """Name a few of them."""
        if not region.is_prefix:
            yield from [region.name] if region.name in self.names else ()
            return
        at, end = self.names.prefix_range(region.name)
        holes, literals = self._excluded_names(region.name)
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

    def _excluded_names(self, prefix: str) -> tuple[list[tuple[int, int]], list[str]]:
        """Find what narrower patterns take away: spans of names, and single ones outside them."""
        if prefix not in self._excluded:
            holes = list(self.patterns.nested_prefixes(prefix))
            hidden = tuple(holes)
            self._excluded[prefix] = (
                [self.names.prefix_range(each) for each in holes],
                [
                    each
                    for each in self.patterns.literals.with_prefix(prefix)
                    if each in self.names and not each.startswith(hidden)
                ],
            )
        return self._excluded[prefix]
