"""What the state is after an apply."""

from collections.abc import Iterable
from dataclasses import replace

from kplan.model.address import Address
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Action, Change, Plan
from kplan.model.resource import Identity
from kplan.model.state import OutputValue, Owned, State


def state_after(
    state: State, plan: Plan, outcomes: Iterable[Outcome], outputs: dict[str, OutputValue]
) -> State:
    """Fold outcomes into the state: only what was applied changes ownership.

    Objects whose outcome is unknown, failed or skipped keep the entry they had; the next plan
    compares them with the cluster.
    """
    done = {
        (outcome.change.kind, outcome.change.identity): outcome
        for outcome in outcomes
        if outcome.status is Status.APPLIED
    }
    owned = dict(state.owned)
    settled = [
        (change, done.get((change.kind, change.identity)))
        for change in plan.changes
        if not change.touches_cluster or (change.kind, change.identity) in done
    ]
    for change, _ in settled:
        _drop(owned, change)
    for change, outcome in settled:
        if change.after is not None:
            place = _place(owned, change)
            owned[place] = _owned(place, change, outcome)
    return replace(
        state,
        serial=state.serial + 1,
        cluster_id=plan.based_on.cluster_id or state.cluster_id,
        owned=dict(sorted(owned.items(), key=lambda item: item[0].sort_key)),
        outputs=dict(sorted(outputs.items())),
    )


def _drop(owned: dict[Address, Owned], change: Change) -> None:
    """Let go of the entry that the change replaces, moves or deletes."""
    old = change.previous or change.address
    held = owned.get(old)
    if held is None:
        return
    is_replaced = change.action is Action.REPLACE
    if is_replaced or held.identity == change.identity:
        del owned[old]


def _place(owned: dict[Address, Owned], change: Change) -> Address:
    """Stay at the old address while the new one still holds an object that was not let go."""
    holder = owned.get(change.address)
    if holder is not None and holder.identity != change.identity and change.previous is not None:
        return change.previous
    return change.address


def _owned(place: Address, change: Change, outcome: Outcome | None) -> Owned:
    uid = (outcome.uid if outcome else "") or change.uid
    return Owned(
        place,
        Identity(change.identity),
        change.after,
        uid=uid,
        is_protected=change.is_protected,
        is_pending=outcome is not None and not outcome.is_verified,
        declared_at=f"{change.declared_at.file}:{change.declared_at.line}"
        if change.declared_at
        else "",
    )
