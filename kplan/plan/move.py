"""`moved` blocks, and the ownership of objects after them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.kinds.base import ResourceKind
from kplan.model.address import Address
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.resource import Identity, ImportBlock, Resource, connection_name
from kplan.model.state import KindSnapshot, OwnedObject
from kplan.plan.request import PlanRequest, is_targeted


def apply_moves(
    owned: Iterable[OwnedObject], moves: Mapping[str, str]
) -> tuple[dict[Address, OwnedObject], tuple[tuple[OwnedObject, Address], ...]]:
    """Return owned objects by the address they have from now on, and moves that are blocked.

    A move is blocked by another object at its end; the object then stays where it is.
    """
    aims = [(each, follow_moves(each.address, moves)) for each in owned]
    found = {each.address: each for each, aim in aims if aim == each.address}
    blocked: list[tuple[OwnedObject, Address]] = []
    for each, aim in aims:
        if aim == each.address:
            continue
        if aim in found:
            blocked.append((each, aim))
            found[each.address] = each
        else:
            found[aim] = each
    if moves:
        found = {at: _move_others(each, moves) for at, each in found.items()}
    return found, tuple(blocked)


def _move_others(owned: OwnedObject, moves: Mapping[str, str]) -> OwnedObject:
    if not owned.others:
        return owned
    return replace(owned, others=tuple(follow_moves(each, moves) for each in owned.others))


def follow_moves(address: Address, moves: Mapping[str, str]) -> Address:
    """Return the address that `moved` blocks lead to; each leads on once.

    A moved block takes its instances along, a moved module all that is in it.
    """
    used: set[str] = set()
    while (rule := _matching_move(address, moves)) is not None and rule not in used:
        used.add(rule)
        address = _move_address(address, rule, moves[rule])
    return address


def _matching_move(address: Address, moves: Mapping[str, str]) -> str | None:
    """Find the move that an address falls under: its own, its block's, or a module's."""
    if not moves:
        return None
    if (own := str(address)) in moves:
        return own
    if address.block_address in moves and Address.parse(moves[address.block_address]).key is None:
        return address.block_address
    for depth in range(len(address.module), 0, -1):
        *outer, last = address.module[:depth]
        if (exact := _module_path((*outer, last))) in moves:
            return exact
        every = _module_path((*outer, last.partition("[")[0]))
        if every in moves and "[" not in _module_steps(moves[every])[-1]:
            return every
    return None


def _move_address(address: Address, rule: str, target: str) -> Address:
    if rule == str(address):
        return Address.parse(target)
    if rule == address.block_address:
        return replace(Address.parse(target), key=address.key)
    depth = len(_module_steps(rule))
    path, last = _module_steps(target), address.module[depth - 1]
    if rule != _module_path(address.module[:depth]):  # all instances of a module, each with its key
        path = (*path[:-1], path[-1] + "".join(last.partition("[")[1:]))
    return replace(address, module=(*path, *address.module[depth:]))


def _module_path(steps: tuple[str, ...]) -> str:
    return ".".join(f"module.{step}" for step in steps)


def _module_steps(module: str) -> tuple[str, ...]:
    return Address.parse(f"{module}.any.any").module


def check_moved_providers(request: PlanRequest) -> Iterator[Diagnostic]:
    """Refuse addresses whose object is owned on another cluster than the declared one.

    To carry that out would delete the one and create the other: a topic would lose its records.
    """
    owned = request.state.owned.values()
    keys = {*(each.provider for each in request.resources), *(each.provider for each in owned)}
    if request.is_destroy or keys <= {""}:
        return
    held, _ = apply_moves(owned, dict(request.moved))
    for resource in (each for one in request.resources for each in one.declarations):
        old = held.get(resource.address)
        if old is None or old.provider == resource.provider:
            continue
        if not is_targeted(resource.address, request.targets):
            continue
        before, after = (connection_name(each.provider) for each in (old, resource))
        yield Diagnostic(
            "KP243",
            Severity.ERROR,
            SUMMARIES["KP243"],
            f"{resource.address} is owned on {before} and declared on {after}; an object cannot "
            "move from one cluster to another.",
            "Give the new object another address, so that the old one is planned as a delete, "
            f"or forget the old one: kplan state rm '{old.address}'",
            resource.address,
            resource.declared_at,
        )


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owned and the declared objects of one kind.

    `renamed` holds the addresses whose owned object lives on under a name that no one declares any
    more, while the address now declares an object that kplan does not own. Where that exists it is
    someone else's: it is adopted, and the old one deleted; unless an interrupted apply has sent it
    as it is. `blocked_moves` found another object at
    their end. `imports` are those at addresses that own nothing yet. `adds_first` and `replaced`
    are those of the request.
    """

    by_address: dict[Address, OwnedObject]
    by_identity: dict[Identity, OwnedObject]
    declared: dict[Identity, Resource]
    renamed: dict[Address, OwnedObject]
    blocked_moves: tuple[tuple[OwnedObject, Address], ...]
    imports: dict[Address, ImportBlock]
    adds_first: bool
    replaced: Mapping[str, str]


def lead_declarations(
    resources: Sequence[Resource], held: Mapping[Address, OwnedObject]
) -> tuple[Resource, ...]:
    """Return each object that several resources declare at the address it is planned at.

    That is where it is owned. One that is not owned takes an address that owned what is no longer
    declared, so that the one replaces the other.
    """
    if not any(each.others for each in resources):
        return tuple(resources)
    owners = {each.identity: at for at, each in held.items()}
    declared = {each.identity for each in resources}

    def leading_address(resource: Resource) -> Address:
        owner = owners.get(resource.identity)
        if owner is not None:
            return owner if owner in resource.addresses else resource.address
        freed = (
            at for at in resource.addresses if at in held and held[at].identity not in declared
        )
        return next(freed, resource.address)

    return tuple(each.led_by(leading_address(each)) if each.others else each for each in resources)


def _is_of_others(
    kind: ResourceKind, resource: Resource, request: PlanRequest, reading: KindSnapshot
) -> bool:
    """Whether the declared object exists, and not because an interrupted apply has sent it."""
    live = reading.objects.get(resource.identity)
    if live is None:
        return False
    before, after = kind.align(live.value, resource.value)
    is_sent = (kind.name, resource.identity, resource.provider) in request.sent
    return not is_sent or bool(before != after)


def build_ownership(request: PlanRequest, kind: ResourceKind, reading: KindSnapshot) -> Ownership:
    """Sort the state's objects of one kind by address and by identity."""
    owned = [each for each in request.state.owned.values() if each.address.kind == kind.name]
    by_address, blocked = apply_moves(owned, dict(request.moved))
    by_identity = {each.identity: each for each in owned}
    taken = {at for place, each in by_address.items() for at in (place, *each.others)}
    declared = {
        each.identity: each
        for each in lead_declarations(request.resources, by_address)
        if each.address.kind == kind.name and not request.is_destroy
    }
    renamed = {
        resource.address: before
        for resource in declared.values()
        if (before := by_address.get(resource.address)) is not None
        and before.identity not in declared
        and before.identity in reading.objects
        and resource.identity not in by_identity
        and not (kind.is_replaceable and _is_of_others(kind, resource, request, reading))
    }
    imports = {
        each.address: each
        for each in request.imports
        if each.address not in taken and not request.is_destroy
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
