"""Versions and constraints on them, as Terraform reads them (`hashicorp/go-version`)."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from kplan.model.dataclass import dataclass

_VERSION = (
    r"v?(?P<numbers>\d+(?:\.\d+)*)(?:-(?P<label>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z.-]+)?"
)
_PART = re.compile(rf"\s*(?P<sign>!=|>=|<=|~>|=|>|<|)\s*{_VERSION}\s*")
_SEGMENTS = 3


@dataclass(frozen=True, slots=True)
class Version:
    """A version: its numbers, at least three, and the label of a prerelease (`beta1`)."""

    numbers: tuple[int, ...]
    label: str = ""

    def is_before(self, other: "Version") -> bool:
        """Whether it is the earlier one; a prerelease is before its release."""
        width = max(len(self.numbers), len(other.numbers))
        own, others = _pad(self.numbers, width), _pad(other.numbers, width)
        if own != others or self.label == other.label:
            return own < others
        if not self.label or not other.label:
            return bool(self.label)
        return _is_label_before(self.label, other.label)

    def equals(self, other: "Version") -> bool:
        """Whether neither is before the other: 1.2 is 1.2.0."""
        return not self.is_before(other) and not other.is_before(self)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One part of a constraint. `precision` counts the numbers that are written."""

    sign: str
    version: Version
    precision: int

    def allows(self, own: Version) -> bool:
        """Whether a version meets it. A prerelease meets only the bounds of its own release."""
        if self.sign in {"", "="}:
            return own.equals(self.version)
        if self.sign == "!=":
            return not own.equals(self.version)
        if own.label and (not self.version.label or own.numbers != self.version.numbers):
            return False
        match self.sign:
            case ">=":
                return not own.is_before(self.version)
            case ">":
                return self.version.is_before(own)
            case "<=":
                return not self.version.is_before(own)
            case "<":
                return own.is_before(self.version)
            case _:
                return self._allows_last_part(own)

    def _allows_last_part(self, own: Version) -> bool:
        """Whether only the last number that is written is higher: `~> 1.2` allows 1.9."""
        kept = self.precision - 1
        if len(own.numbers) < len(self.version.numbers) or (self.version.label and not own.label):
            return False
        same = own.numbers[:kept] == self.version.numbers[:kept]
        return same and not own.is_before(self.version)

    def asks_for_newer(self, own: Version) -> bool:
        """Whether only later versions than this one meet it."""
        is_bound = self.sign in {">=", "~>", "=", ""}
        if is_bound:
            return own.is_before(self.version)
        return self.sign == ">" and not self.version.is_before(own)


def parse_version(text: str) -> Version | None:
    """Read a version; None where it is none."""
    found = re.fullmatch(_VERSION, text)
    return _version(found) if found else None


def parse_constraints(text: str) -> tuple[Constraint, ...] | None:
    """Read a constraint such as `>= 1.9, < 2.0`; None where it is none."""
    parts = [_PART.fullmatch(each) for each in text.split(",")]
    found = [
        Constraint(each["sign"], _version(each), each["numbers"].count(".") + 1)
        for each in parts
        if each
    ]
    return tuple(found) if len(found) == len(parts) else None


def _version(found: re.Match[str]) -> Version:
    numbers = tuple(map(int, found["numbers"].split(".")))
    return Version(_pad(numbers, _SEGMENTS), found["label"] or "")


def _pad(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return (*numbers, *(0,) * (width - len(numbers)))


def _is_label_before(own: str, other: str) -> bool:
    """Compare labels part by part: numbers as numbers, and before words (semver.org, 11.4)."""
    for first, second in _label_pairs(own, other):
        if first != second:
            return first < second
    return False


def _label_pairs(own: str, other: str) -> Iterator[tuple[tuple[int, int, str], ...]]:
    for pair in zip_longest(own.split("."), other.split("."), fillvalue=""):
        yield tuple(
            (1, int(each), "") if each.isdigit() else (2 if each else 0, 0, each) for each in pair
        )
