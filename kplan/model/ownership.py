"""Who owns what once changes are settled."""

from collections.abc import Iterable, Mapping

from kplan.model.address import Address
from kplan.model.outcome import Outcome
from kplan.model.plan import Action, Change
from kplan.model.state import Owned


def owned_after(
    owned: Mapping[Address, Owned], settled: Iterable[tuple[Change, Outcome | None]]
) -> dict[Address, Owned]:
    """Give what is owned after changes that all came about, in order of address.

    A change that needed no request comes without an outcome; whether its object is seen everywhere
    is as it was.
    """
    pairs = tuple(settled)
    kept = dict(owned)
    for change, _ in pairs:
        _drop(kept, change)
    for change, outcome in pairs:
        if change.after is not None:
            place = _place(kept, change)
            held = owned.get(change.previous or change.address)
            kept[place] = _owned(place, change, outcome, held)
    return dict(sorted(kept.items(), key=lambda item: item[0].sort_key))


def _drop(owned: dict[Address, Owned], change: Change) -> None:
    """Let go of the entry that the change replaces, moves or deletes."""
    old = change.previous or change.address
    held = owned.get(old)
    if held is None:
        return
    is_replaced = change.action is Action.REPLACE
    if is_replaced or held.key == change.key:
        del owned[old]


def _place(owned: dict[Address, Owned], change: Change) -> Address:
    """Stay at the old address while the new one still holds an object that was not let go."""
    holder = owned.get(change.address)
    if holder is not None and holder.key != change.key and change.previous is not None:
        return change.previous
    return change.address


def _owned(place: Address, change: Change, outcome: Outcome | None, held: Owned | None) -> Owned:
    is_same = held is not None and held.key == change.key
    was_pending = held is not None and is_same and held.is_pending
    uid = (outcome.uid if outcome else "") or ("" if change.is_recreated else change.uid)
    return Owned(
        place,
        change.identity,
        change.after,
        uid=uid,
        is_protected=change.is_protected,
        is_pending=was_pending if outcome is None else not outcome.is_verified,
        declared_at=f"{change.declared_at.file}:{change.declared_at.line}"
        if change.declared_at
        else "",
        provider=change.provider,
    )
