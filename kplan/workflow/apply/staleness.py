"""Changes of a saved plan that do not fit the cluster or the state any more."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from kplan.kinds.base import ResourceKind, fill_snapshot_from_state
from kplan.kinds.schema import to_reviewed_document
from kplan.model.address import Address
from kplan.model.plan import Action, Change, ObjectKey, Plan, Reason
from kplan.model.resource import Identity
from kplan.model.state import Snapshot, State


class Staleness(StrEnum):
    """Why a change does not fit any more."""

    UNREAD = "it could not be read"
    RECREATED = "it was deleted and created again since the plan"
    CHANGED = "it was changed on the cluster since the plan"
    DELETED = "it was deleted from the cluster since the plan"
    CREATED = "it has been created since the plan, and differs"
    OWNER_CHANGED = "the state owns it otherwise since the plan"


def find_stale_changes(
    plan: Plan, state: State, snapshots: Mapping[str, Snapshot], kinds: Sequence[ResourceKind]
) -> tuple[tuple[Change, Staleness], ...]:
    """List the changes whose object is not what the plan saw, and not what it is to become either.

    A change that came about by other hands is not one of them: it is done already.
    """
    by_name = {kind.name: kind for kind in kinds}
    seen = {
        key: fill_snapshot_from_state(kinds, each, state.for_provider(key))
        for key, each in snapshots.items()
    }
    owners: AddressByKey | None = None
    if state.serial != plan.based_on.serial:
        owners = {each.key: each.address for each in state.owned.values()}
    found = (
        (change, _staleness(by_name[change.kind], change, seen.get(change.provider), owners))
        for change in plan.changes
        if change.action is not Action.NO_OP or change.reason is not Reason.NONE
    )
    return tuple((change, why) for change, why in found if why is not None)


AddressByKey = Mapping[ObjectKey, Address]


def _staleness(
    kind: ResourceKind, change: Change, snapshot: Snapshot | None, owners: AddressByKey | None
) -> Staleness | None:
    """Say why a change is stale; `owners` are given if the state is another than the plan's."""
    if owners is not None and not _is_owned_as_planned(kind, change, owners):
        return Staleness.OWNER_CHANGED
    if not change.touches_cluster:
        return None
    if snapshot is None or kind.name in snapshot.unread:
        return Staleness.UNREAD
    planned = _planned_identity(kind, change)
    before = snapshot.live_object(kind.name, planned)
    after = None if change.after is None else snapshot.live_object(kind.name, change.identity)
    if before is not None and change.uid and before.uid != change.uid:
        return Staleness.RECREATED
    if after is not None and _is_done(kind, after.value, change.after):
        return None
    is_new = change.action is Action.CREATE or change.identity != planned
    if is_new and after is not None:
        return Staleness.CREATED
    if before is None:
        is_absent = change.action in {Action.CREATE, Action.DELETE}
        return None if is_absent else Staleness.DELETED
    live, _ = kind.align(before.value, change.after or change.before)
    # A file holds no secrets, and the cluster may show some.
    reviewed = to_reviewed_document(change.before)
    return None if to_reviewed_document(live) == reviewed else Staleness.CHANGED


def _planned_identity(kind: ResourceKind, change: Change) -> Identity:
    """Name the object that the plan saw, or that it saw to be absent."""
    return change.identity if change.before is None else kind.identify(change.before)


def _is_done(kind: ResourceKind, live: object, wanted: object) -> bool:
    """Whether others did what was reviewed, and not more or something else that also fits.

    A replication factor is reached by other moves too, from which the planned ones do not start.
    """
    before, after = kind.align(live, wanted)
    return bool(before == after) and to_reviewed_document(after) == to_reviewed_document(wanted)


_UNOWNED_REASONS = frozenset(
    {
        Reason.ADOPTED,
        Reason.ADOPTED_AND_CHANGED,
        Reason.IMPORTED,
        Reason.IMPORTED_AND_CHANGED,
    }
)


def _is_owned_as_planned(kind: ResourceKind, change: Change, owners: AddressByKey) -> bool:
    """Whether the state owns the object at the address, or not at all, as when it was planned."""
    is_new = change.action is Action.CREATE and change.reason is not Reason.DELETED_OUTSIDE
    is_unowned = is_new or change.reason in _UNOWNED_REASONS
    wanted = None if is_unowned else change.previous or change.address
    return owners.get((kind.name, _planned_identity(kind, change), change.provider)) == wanted
