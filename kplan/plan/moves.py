"""Following `moved` blocks from old addresses to new ones."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kplan.model.address import Address
from kplan.model.state import Owned


def moved_objects(
    owned: Iterable[Owned], moves: Mapping[str, str]
) -> tuple[dict[Address, Owned], tuple[tuple[Owned, Address], ...]]:
    """Give owned objects by the address they have from now on, and moves that are blocked.

    A move is blocked by another object at its end; the object then stays where it is.
    """
    aims = [(each, followed(each.address, moves)) for each in owned]
    found = {each.address: each for each, aim in aims if aim == each.address}
    blocked: list[tuple[Owned, Address]] = []
    for each, aim in aims:
        if aim == each.address:
            continue
        if aim in found:
            blocked.append((each, aim))
            found[each.address] = each
        else:
            found[aim] = each
    return found, tuple(blocked)


def followed(address: Address, moves: Mapping[str, str]) -> Address:
    """Give the address that `moved` blocks lead to; each leads on once.

    A moved block takes its instances along, a moved module all that is in it.
    """
    used: set[str] = set()
    while (rule := _rule(address, moves)) is not None and rule not in used:
        used.add(rule)
        address = _moved(address, rule, moves[rule])
    return address


def _rule(address: Address, moves: Mapping[str, str]) -> str | None:
    """Find the move that an address falls under: its own, its block's, or a module's."""
    if not moves:
        return None
    if (own := str(address)) in moves:
        return own
    if address.block in moves and Address.parse(moves[address.block]).key is None:
        return address.block
    for depth in range(len(address.module), 0, -1):
        *outer, last = address.module[:depth]
        if (exact := _path((*outer, last))) in moves:
            return exact
        every = _path((*outer, last.partition("[")[0]))
        if every in moves and "[" not in _steps(moves[every])[-1]:
            return every
    return None


def _moved(address: Address, rule: str, target: str) -> Address:
    if rule == str(address):
        return Address.parse(target)
    if rule == address.block:
        return replace(Address.parse(target), key=address.key)
    depth = len(_steps(rule))
    path, last = _steps(target), address.module[depth - 1]
    if rule != _path(address.module[:depth]):  # all instances of a module, each with its key
        path = (*path[:-1], path[-1] + "".join(last.partition("[")[1:]))
    return replace(address, module=(*path, *address.module[depth:]))


def _path(steps: tuple[str, ...]) -> str:
    return ".".join(f"module.{step}" for step in steps)


def _steps(module: str) -> tuple[str, ...]:
    return Address.parse(f"{module}.any.any").module
