"""Who owns what of one kind, moves followed."""

from dataclasses import dataclass, replace

from kplan.kinds.base import ResourceKind
from kplan.model.address import Address
from kplan.model.resource import Identity, Resource
from kplan.model.snapshot import Reading
from kplan.model.state import Owned
from kplan.plan.request import PlanRequest


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owned and the declared objects of one kind.

    `renamed` holds the addresses whose owned object lives on under a name that nobody declares any
    more, while the address now declares an object that kplan does not own.
    """

    by_address: dict[Address, Owned]
    by_identity: dict[Identity, Owned]
    declared: dict[Identity, Resource]
    renamed: dict[Address, Owned]


def ownership(request: PlanRequest, kind: ResourceKind, reading: Reading) -> Ownership:
    """Sort the state's objects of one kind by address and by identity."""
    moves = dict(request.moved)
    owned = [each for each in request.state.owned.values() if each.address.kind == kind.name]
    by_address = {followed(each.address, moves): each for each in owned}
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
    return Ownership(by_address, by_identity, declared, renamed)


def followed(address: Address, moves: dict[str, str]) -> Address:
    """Give the address that `moved` blocks lead to; a moved block takes its instances along."""
    seen: set[Address] = set()
    while address not in seen:
        seen.add(address)
        if (target := moves.get(str(address))) is not None:
            address = Address.parse(target)
        elif (target := moves.get(address.block)) is not None:
            address = replace(Address.parse(target), key=address.key)
    return address
