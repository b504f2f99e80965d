"""Use cases on the state alone: no cluster is asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kplan.model.address import Address
from kplan.model.errors import UsageError
from kplan.model.state import OwnedObject, State
from kplan.workflow.opened import check_no_journal, lock, state_of, stored
from kplan.workflow.project import Ports, Project


def owned_objects(project: Project, addresses: tuple[str, ...] = ()) -> tuple[OwnedObject, ...]:
    """List what the state owns, or those entries whose address or block is named.

    Raises:
        UsageError: a name fits nothing.

    """
    state = stored(project) or State("")
    if not addresses:
        return tuple(state.owned.values())
    return tuple(each for address in addresses for each in _found(state, address))


def remove(project: Project, addresses: tuple[str, ...], ports: Ports) -> tuple[OwnedObject, ...]:
    """Let go of objects; they stay on the cluster."""
    with _changing(project, ports) as state:
        gone = tuple(each for address in addresses for each in _found(state, address))
        kept = {at: each for at, each in state.owned.items() if each not in gone}
        project.store.write(replace(state, serial=state.serial + 1, owned=kept))
    return gone


def move(project: Project, source: str, target: str, ports: Ports) -> tuple[Address, Address]:
    """Give an owned object another address.

    Raises:
        UsageError: the source is not owned, the target is taken or of another kind.

    """
    with _changing(project, ports) as state:
        old, new = _address(source), _address(target)
        if old not in state.owned:
            raise UsageError(f"The state owns nothing at {old}.", _LIST)
        if new in state.owned:
            raise UsageError(f"The state owns an object at {new} already.", _LIST)
        if old.kind != new.kind:
            raise UsageError(f"{old} cannot become a {new.kind}.")
        owned = dict(state.owned)
        owned[new] = replace(owned.pop(old), address=new)
        ordered = dict(sorted(owned.items(), key=lambda item: item[0].sort_key))
        project.store.write(replace(state, serial=state.serial + 1, owned=ordered))
    return old, new


@contextmanager
def _changing(project: Project, ports: Ports) -> Iterator[State]:
    """Give the state under its lock; not while an interrupted apply waits to be finished."""
    with lock(project, ports):
        check_no_journal(project)
        yield state_of(project)


_LIST = "kplan state list shows what is owned."


def _found(state: State, text: str) -> tuple[OwnedObject, ...]:
    wanted = _address(text)
    found = tuple(
        each
        for address, each in state.owned.items()
        if address == wanted
        or (wanted.key is None and address.block_address == wanted.block_address)
    )
    if not found:
        raise UsageError(f"The state owns nothing at {wanted}.", _LIST)
    return found


def _address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as fault:
        raise UsageError(
            f"{fault}.", 'Write it as kafka_topic.NAME, or kafka_topic.NAME["KEY"].'
        ) from None
