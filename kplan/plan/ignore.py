"""Drift that is known and accepted: patterns, one a line, as in a file beside the configuration.

    # set by the retention bot
    kafka_topic.audit config.retention.ms
    kafka_topic/tmp.*
    !kafka_topic/tmp.orders

A pattern fits an address, the address of its block, or KIND/NAME of the object on the cluster, as
what is not managed has no address. A second word fits attributes only. `*` and `?` stand for any
text and any character, a `!` takes back what an earlier line ignores, and the last line that fits
counts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.plan import Action, AttributeChange, Change, Reason
from kplan.model.resource import Identity

_LINE = re.compile(
    r'(?P<kept>!?)(?P<object>(?:[^\s"#!]|"(?:[^"\\]|\\.)*")(?:[^\s"]|"(?:[^"\\]|\\.)*")*)'
    r"(?:\s+(?P<attribute>[^\s#]\S*))?\s*(?:#.*)?"
)


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    """One line of the file. `attribute` is None where the whole object is meant."""

    line: int
    object: re.Pattern[str]
    attribute: re.Pattern[str] | None = None
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class FilteredDrift:
    """Drift that is left. `ignored` counts objects that are left out, wholly or in part."""

    changes: tuple[Change, ...]
    unmanaged: Mapping[str, tuple[Identity, ...]]
    ignored_count: int = 0


def parse_patterns(text: str, file: str) -> tuple[IgnorePattern, ...]:
    """Read the lines of a file.

    Raises:
        UsageError: lines that are no patterns; all of them are named.

    """
    lines = [(at, each.strip()) for at, each in enumerate(text.splitlines(), 1)]
    lines = [(at, each) for at, each in lines if each and not each.startswith("#")]
    wrong = [f"{file}:{at}" for at, each in lines if not _LINE.fullmatch(each)]
    if wrong:
        raise UsageError(
            f"No pattern on {', '.join(wrong)}.",
            "A line is ADDRESS, or KIND/NAME, and may be followed by an attribute.",
        )
    return tuple(_parse_pattern(at, each) for at, each in lines)


def filter_drift(
    changes: Sequence[Change],
    unmanaged: Mapping[str, Sequence[Identity]],
    patterns: Sequence[IgnorePattern],
) -> FilteredDrift:
    """Leave out what is ignored."""
    left = [(each, _filter_change(each, patterns)) for each in changes]
    foreign = {
        kind: tuple(each for each in names if not _is_ignored([f"{kind}/{each}"], patterns))
        for kind, names in unmanaged.items()
    }
    hidden = sum(len(names) - len(foreign[kind]) for kind, names in unmanaged.items())
    return FilteredDrift(
        tuple(each for _, each in left if each is not None),
        foreign,
        sum(before is not after for before, after in left) + hidden,
    )


def _parse_pattern(at: int, line: str) -> IgnorePattern:
    found = _LINE.fullmatch(line)
    assert found is not None  # noqa: S101 - the caller has looked
    attribute = found["attribute"]
    return IgnorePattern(
        at, _glob(found["object"]), _glob(attribute) if attribute else None, bool(found["kept"])
    )


def _glob(text: str) -> re.Pattern[str]:
    words = {"*": ".*", "?": "."}
    return re.compile("".join(words.get(each) or re.escape(each) for each in text), re.DOTALL)


def _filter_change(change: Change, patterns: Sequence[IgnorePattern]) -> Change | None:
    names = [str(change.address), change.address.block_address, f"{change.kind}/{change.identity}"]
    if _is_ignored(names, patterns):
        return None
    if change.action is not Action.UPDATE:
        return change
    attributes = tuple(each for each in change.attributes if not _is_ignored(names, patterns, each))
    if attributes == change.attributes:
        return change
    if not attributes and change.reason is Reason.NONE:
        return None
    return replace(change, attributes=attributes)


def _is_ignored(
    names: Iterable[str],
    patterns: Sequence[IgnorePattern],
    attribute: AttributeChange | None = None,
) -> bool:
    """Return what the last line that fits says; without an attribute of the object as a whole."""
    known = tuple(names)
    for each in reversed(patterns):
        if any(each.object.fullmatch(name) for name in known) and _matches_attribute(
            each, attribute
        ):
            return not each.is_negated
    return False


def _matches_attribute(pattern: IgnorePattern, attribute: AttributeChange | None) -> bool:
    if pattern.attribute is None or attribute is None:
        return pattern.attribute is None
    return bool(pattern.attribute.fullmatch(".".join(attribute.path)))
