"""Ownership of the objects of one kind, after moves."""

from collections.abc import Mapping

from kplan.kinds.base import ResourceKind
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.resource import Identity, ImportBlock, Resource
from kplan.model.snapshot import KindSnapshot
from kplan.model.state import OwnedObject
from kplan.plan.move import apply_moves
from kplan.plan.request import PlanRequest


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owned and the declared objects of one kind.

    `renamed` holds the addresses whose owned object lives on under a name that nobody declares any
    more, while the address now declares an object that kplan does not own. `blocked` holds moves
    that found another object at their end. `imports` are those at addresses that own nothing yet.
    `adds_first` and `replaced` are those of the request.
    """

    by_address: dict[Address, OwnedObject]
    by_identity: dict[Identity, OwnedObject]
    declared: dict[Identity, Resource]
    renamed: dict[Address, OwnedObject]
    blocked_moves: tuple[tuple[OwnedObject, Address], ...]
    imports: dict[Address, ImportBlock]
    adds_first: bool
    replaced: Mapping[str, str]


def build_ownership(request: PlanRequest, kind: ResourceKind, reading: KindSnapshot) -> Ownership:
    """Sort the state's objects of one kind by address and by identity."""
    owned = [each for each in request.state.owned.values() if each.address.kind == kind.name]
    by_address, blocked = apply_moves(owned, dict(request.moved))
    by_identity = {each.identity: each for each in owned}
    declared = {
        each.identity: each
        for each in request.resources
        if each.address.kind == kind.name and not request.is_destroy
    }
    renamed = {
        resource.address: before
        for resource in declared.values()
        if (before := by_address.get(resource.address)) is not None
        and before.identity not in declared
        and before.identity in reading.objects
        and resource.identity not in by_identity
    }
    imports = {
        each.address: each
        for each in request.imports
        if each.address not in by_address and not request.is_destroy
    }
    return Ownership(
        by_address,
        by_identity,
        declared,
        renamed,
        blocked,
        imports,
        bool(request.adds_first),
        request.replaced,
    )
