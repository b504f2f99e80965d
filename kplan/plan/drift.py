"""Drift: changes made outside kplan since the last apply, and those that are accepted."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.topic import is_internal_topic
from kplan.kinds.base import ResourceKind, fill_snapshot_from_state
from kplan.kinds.schema import secret_paths
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.plan import Action, AttributeChange, Change, Reason
from kplan.model.resource import Identity, Resource
from kplan.model.state import LiveObject, OwnedObject, Snapshot, State
from kplan.plan.diff import attribute_changes


def find_drift(
    state: State, snapshot: Snapshot, kinds: Sequence[ResourceKind]
) -> tuple[Change, ...]:
    """Compare every owned object with the live one, in order of address.

    `before` of a drift change is what was last applied, `after` what is live; DELETE says the
    object is gone. Objects of an unread kind, and hidden ones, are left out: nothing is known.
    """
    by_name = {kind.name: kind for kind in kinds}
    snapshot = fill_snapshot_from_state(kinds, snapshot, state)
    found = (
        _compare_object(by_name[owned.address.kind], owned, snapshot)
        for owned in sorted(state.owned.values(), key=lambda each: each.address.sort_key)
        if owned.address.kind in snapshot.readings
        and owned.identity not in snapshot.readings[owned.address.kind].hidden
    )
    return tuple(change for change in found if change is not None)


def find_all_drift(
    state: State,
    snapshots: Mapping[str, Snapshot],
    kinds: Sequence[ResourceKind],
    resources: Iterable[Resource] = (),
) -> tuple[Change, ...]:
    """Compare the owned objects with all clusters, in order of address; see `find_drift`.

    What any of the resources declares as sensitive is hidden, though the state knows nothing of it.
    """
    state = _hide_declared(state, resources)
    found = [
        replace(change, provider=provider) if provider else change
        for provider, snapshot in snapshots.items()
        for change in find_drift(state.for_provider(provider), snapshot, kinds)
    ]
    return tuple(sorted(found, key=lambda each: each.address.sort_key))


def _hide_declared(state: State, resources: Iterable[Resource]) -> State:
    """Add the paths that are declared as sensitive to those that the state knows."""
    declared = {each.key: each.sensitive for each in resources if each.sensitive}
    if not declared:
        return state
    owned = {
        at: replace(each, sensitive=each.sensitive | declared.get(each.key, frozenset()))
        for at, each in state.owned.items()
    }
    return replace(state, owned=owned)


def unmanaged_counts(state: State, snapshot: Snapshot) -> dict[str, int]:
    """Count the live objects per kind that the state does not own."""
    return {kind: len(names) for kind, names in unmanaged_objects(state, snapshot).items()}


def managed_counts(state: State, snapshot: Snapshot) -> dict[str, int]:
    """Count the live objects per kind that the state owns."""
    owned = {(each.address.kind, each.identity) for each in state.owned.values()}
    return {
        kind: sum((kind, each) in owned for each in reading.objects)
        for kind, reading in sorted(snapshot.readings.items())
    }


def unmanaged_objects(state: State, snapshot: Snapshot) -> dict[str, tuple[Identity, ...]]:
    """List the live objects per kind that the state does not own, in order.

    Topics that Kafka keeps for itself are none of them: no configuration may declare one.
    """
    owned = {(each.address.kind, each.identity) for each in state.owned.values()}
    return {
        kind: tuple(
            sorted(
                each
                for each in reading.objects
                if (kind, each) not in owned and not _is_of_kafka(kind, each)
            )
        )
        for kind, reading in sorted(snapshot.readings.items())
    }


def _is_of_kafka(kind: str, identity: Identity) -> bool:
    return kind == "kafka_topic" and is_internal_topic(str(identity))


def _compare_object(kind: ResourceKind, owned: OwnedObject, snapshot: Snapshot) -> Change | None:
    live = snapshot.live_object(kind.name, owned.identity)
    if live is None:
        return _drift_change(
            kind, owned, Action.DELETE, Reason.DELETED_OUTSIDE, (owned.value, None)
        )
    found, applied = kind.align(live.value, owned.value)
    if is_recreated(owned, live):
        found_again = _drift_change(
            kind, owned, Action.UPDATE, Reason.RECREATED_OUTSIDE, (applied, found)
        )
        return replace(found_again, notes=(f"its id was {owned.uid}, and is {live.uid}",))
    if found != applied:
        return _drift_change(kind, owned, Action.UPDATE, Reason.NONE, (applied, found))
    return None


def is_recreated(owned: OwnedObject, live: LiveObject) -> bool:
    """Whether the live object is not the one that the state knows."""
    return bool(owned.uid and live.uid and owned.uid != live.uid)


def _drift_change(
    kind: ResourceKind,
    owned: OwnedObject,
    action: Action,
    reason: Reason,
    pair: tuple[object, object | None],
) -> Change:
    before, after = pair
    sensitive = owned.sensitive | secret_paths(kind.schema)
    return Change(
        owned.address,
        kind.name,
        owned.identity,
        action,
        before,
        after,
        attributes=() if after is None else attribute_changes(kind, before, after, sensitive),
        reason=reason,
        uid=owned.uid,
        sensitive=sensitive,
    )


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
    """Drift that is left. `ignored_count` counts objects that are left out, wholly or in part."""

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
    """Leave out ignored attributes."""
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
    """Return the status of the last matching line; without an attribute, of the whole object."""
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
