"""Deletes and forgets: owned objects that the configuration no longer declares."""

from kplan.kinds.acl import may_overlap
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import secret_paths
from kplan.model.address import Address
from kplan.model.plan import Action, Change, Reason
from kplan.model.snapshot import KindSnapshot, LiveObject
from kplan.model.state import OwnedObject
from kplan.plan.desired import Findings
from kplan.plan.ownership import Ownership
from kplan.plan.request import PlanRequest, address_names


def plan_deletes(
    kind: ResourceKind, request: PlanRequest, owners: Ownership, reading: KindSnapshot
) -> Findings:
    """Delete what is owned and not declared, and forget what is not ours any more.

    Only the very incarnation that the state knows is deleted: a topic that was created anew
    outside of kplan is somebody else's (design law 3, K4-36).
    """
    replaced = {each.identity for each in owners.renamed.values()}
    return Findings(
        tuple(
            _delete_change(kind, request, address, owned, reading.objects.get(owned.identity))
            for address, owned in owners.by_address.items()
            if owned.identity not in owners.declared
            and owned.identity not in replaced
            and owned.identity not in reading.hidden
        )
    )


def _delete_change(
    kind: ResourceKind,
    request: PlanRequest,
    address: Address,
    owned: OwnedObject,
    live: LiveObject | None,
) -> Change:
    action, reason = _delete_action(request, address, owned, live)
    if action is Action.DELETE and not kind.is_deletable:
        action, reason = Action.FORGET, Reason.NOT_DELETABLE
    before = owned.value if live is None else kind.align(live.value, owned.value)[0]
    return Change(
        address,
        kind.name,
        owned.identity,
        action,
        before,
        None,
        reason=reason,
        uid=live.uid if live else "",
        sensitive=secret_paths(kind.schema),
        is_protected=owned.is_protected,
        previous=owned.address if owned.address != address else None,
        adds_first=bool(request.adds_first) and may_overlap(before, None),
    )


def _delete_action(
    request: PlanRequest, address: Address, owned: OwnedObject, live: LiveObject | None
) -> tuple[Action, Reason]:
    if live is None:
        return Action.FORGET, Reason.ALREADY_DELETED
    if owned.uid and live.uid != owned.uid:
        return Action.FORGET, Reason.RECREATED_OUTSIDE
    if address_names(address) & set(request.removed):
        return Action.FORGET, Reason.REMOVED
    return Action.DELETE, Reason.DESTROY if request.is_destroy else Reason.NOT_DECLARED
