"""Drift: changes made outside kplan since the last apply; objects that the state does not own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kplan.kinds.base import ResourceKind, fill_snapshot_from_state
from kplan.kinds.schema import secret_paths
from kplan.model.plan import Action, Change, Reason
from kplan.model.resource import Identity
from kplan.model.snapshot import LiveObject, Snapshot
from kplan.model.state import OwnedObject, State
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
    state: State, snapshots: Mapping[str, Snapshot], kinds: Sequence[ResourceKind]
) -> tuple[Change, ...]:
    """Compare what is owned with all clusters, in order of address; see `drift`."""
    found = [
        replace(change, provider=provider) if provider else change
        for provider, snapshot in snapshots.items()
        for change in find_drift(state.for_provider(provider), snapshot, kinds)
    ]
    return tuple(sorted(found, key=lambda each: each.address.sort_key))


def unmanaged_counts(state: State, snapshot: Snapshot) -> dict[str, int]:
    """Count the live objects per kind that the state does not own."""
    return {kind: len(names) for kind, names in unmanaged_objects(state, snapshot).items()}


def unmanaged_objects(state: State, snapshot: Snapshot) -> dict[str, tuple[Identity, ...]]:
    """List the live objects per kind that the state does not own, in order."""
    owned = {(each.address.kind, each.identity) for each in state.owned.values()}
    return {
        kind: tuple(sorted(each for each in reading.objects if (kind, each) not in owned))
        for kind, reading in sorted(snapshot.readings.items())
    }


def _compare_object(kind: ResourceKind, owned: OwnedObject, snapshot: Snapshot) -> Change | None:
    live = snapshot.live_object(kind.name, owned.identity)
    if live is None:
        return _drift_change(
            kind, owned, Action.DELETE, Reason.DELETED_OUTSIDE, (owned.value, None)
        )
    found, applied = kind.align(live.value, owned.value)
    if _is_recreated(owned, live):
        found_again = _drift_change(
            kind, owned, Action.UPDATE, Reason.RECREATED_OUTSIDE, (applied, found)
        )
        return replace(found_again, notes=(f"its id was {owned.uid}, and is {live.uid}",))
    if found != applied:
        return _drift_change(kind, owned, Action.UPDATE, Reason.NONE, (applied, found))
    return None


def _is_recreated(owned: OwnedObject, live: LiveObject) -> bool:
    return bool(owned.uid and live.uid and owned.uid != live.uid)


def _drift_change(
    kind: ResourceKind,
    owned: OwnedObject,
    action: Action,
    reason: Reason,
    pair: tuple[object, object | None],
) -> Change:
    before, after = pair
    return Change(
        owned.address,
        kind.name,
        owned.identity,
        action,
        before,
        after,
        attributes=()
        if after is None
        else attribute_changes(kind, before, after, secret_paths(kind.schema)),
        reason=reason,
        uid=owned.uid,
        sensitive=secret_paths(kind.schema),
    )
