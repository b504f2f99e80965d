"""Moves in the state: one resource, all instances of one, or a module with all that is in it."""

import shlex
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.state import OwnedObject, State
from kplan.plan.move import follow_moves
from kplan.plan.request import address_names
from kplan.workflow.open_project import check_no_journal, read_or_create_state
from kplan.workflow.ports import Ports, Project
from kplan.workflow.state.state import (
    LIST_HINT,
    MODULE,
    nothing_owned,
    open_state,
    owned_by_address,
    parse_address,
)


@dataclass(frozen=True, slots=True)
class StateMoves:
    """The old and new addresses in order, and the number of objects that they declare."""

    addresses: tuple[tuple[Address, Address], ...]
    object_count: int


def move_objects(project: Project, source: str, target: str, ports: Ports) -> StateMoves:
    """Give owned objects another address: one, the instances of a block, or those of a module.

    Instances keep their keys. Either all of them are moved or none.

    Raises:
        UsageError: the source is not owned, the target is taken or of another kind.

    """
    with open_state(project, ports) as state:
        moves = _moved_addresses(state, source, target)
        owned = owned_by_address(_move_declarations(each, moves) for each in state.owned.values())
        project.store.write(replace(state, serial=state.serial + 1, owned=owned))
    return _state_moves(state, moves)


def preview_moves(project: Project, source: str, target: str) -> StateMoves:
    """Return what `move_objects` would do, without a lock; raises as that does."""
    check_no_journal(project)
    state = read_or_create_state(project)
    return _state_moves(state, _moved_addresses(state, source, target))


def _moved_addresses(state: State, source: str, target: str) -> dict[Address, Address]:
    held = [at for each in state.owned.values() for at in each.addresses]
    return _plan_moves(held, parse_address(source), parse_address(target))


def _state_moves(state: State, moves: Mapping[Address, Address]) -> StateMoves:
    ordered = sorted(moves.items(), key=lambda item: item[0].sort_key)
    count = sum(not moves.keys().isdisjoint(each.addresses) for each in state.owned.values())
    return StateMoves(tuple(ordered), count)


def _move_declarations(owned: OwnedObject, moves: Mapping[Address, Address]) -> OwnedObject:
    named = tuple(moves.get(each, each) for each in owned.addresses)
    return replace(owned, address=named[0], others=named[1:])


def _plan_moves(
    held: Collection[Address], source: Address, target: Address
) -> dict[Address, Address]:
    """Return where each address goes that the source names, once nothing stands against it."""
    rule = {str(source): str(target)}
    named = [at for at in held if str(source) in address_names(at)]
    if not named:
        raise nothing_owned(source)
    if source == target:
        raise UsageError(f"The state owns an object at {target} already.", LIST_HINT)
    _check_kinds(source, target)
    moves = {at: new for at in named if (new := follow_moves(at, rule)) != at}
    if not moves:
        raise UsageError(
            f"{source} has instances with keys, and {target} is only one.",
            "Write NEW without its last key, and all instances keep theirs; or move one by its "
            f"whole address. kplan state list {shlex.quote(str(source))} shows them.",
        )
    _check_free(held, moves, source, target)
    return moves


def _check_kinds(source: Address, target: Address) -> None:
    if source.kind == target.kind:
        return
    if target.kind == MODULE:
        raise UsageError(
            f"{source} is a resource and cannot become a module.",
            f"To move it into the module: {target}.{replace(source, module=())}",
        )
    if source.kind == MODULE:
        raise UsageError(
            f"{source} is a module and cannot become a {target.kind}.",
            "The new address of a module is one of a module, as module.NAME.",
        )
    raise UsageError(f"{source} cannot become a {target.kind}.")


def _check_free(
    held: Collection[Address], moves: Mapping[Address, Address], source: Address, target: Address
) -> None:
    """Refuse to merge with what is at the target: a module, a block, or one object."""
    is_module, is_block = target.kind == MODULE, source not in moves

    def place(address: Address) -> Hashable:
        if is_module:
            return address.module[: len(target.module) + 1]
        return address.block_address if is_block else address

    claimed = {place(new) for new in moves.values()}
    call = str(replace(source, key=None))  # an instance may lose its key beside the others
    around = ((at, address_names(at)) for at in held if at not in moves)
    taken = next(
        (
            at
            for at, names in around
            if place(at) in claimed or (is_module and str(target) in names and call not in names)
        ),
        None,
    )
    if taken is not None:
        hint = _merge_hint(target) if is_module or is_block else LIST_HINT
        raise UsageError(f"The state owns an object at {taken} already.", hint)


def _merge_hint(target: Address) -> str:
    listed = f"kplan state list {shlex.quote(str(target))}"
    return f"{listed} shows what is there. To merge the two, move each object by itself."
