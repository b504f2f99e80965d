"""Use cases on the state alone: list, move, forget, pull, push, restore."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError, StateError, UsageError, WrongClusterError
from kplan.model.resource import connection_name
from kplan.model.state import OwnedObject, State, StateDiff, diff_owned
from kplan.state.codec import decode_state
from kplan.workflow.open_project import (
    check_no_journal,
    lock_state,
    read_or_create_state,
    read_stored_state,
)
from kplan.workflow.ports import Ports, Project


def list_owned_objects(
    project: Project, addresses: tuple[str, ...] = ()
) -> tuple[OwnedObject, ...]:
    """List what the state owns, or those entries whose address or block is named.

    Raises:
        UsageError: a name fits nothing.

    """
    state = read_stored_state(project) or State("")
    if not addresses:
        return tuple(state.owned.values())
    return tuple(each for address in addresses for each in _find_objects(state, address))


def forget_objects(
    project: Project, addresses: tuple[str, ...], ports: Ports
) -> tuple[OwnedObject, ...]:
    """Let go of objects; they stay on the cluster."""
    with _open_state(project, ports) as state:
        gone = tuple(each for address in addresses for each in _find_objects(state, address))
        kept = {at: each for at, each in state.owned.items() if each not in gone}
        project.store.write(replace(state, serial=state.serial + 1, owned=kept))
    return gone


def move_object(
    project: Project, source: str, target: str, ports: Ports
) -> tuple[Address, Address]:
    """Return an owned object another address.

    Raises:
        UsageError: the source is not owned, the target is taken or of another kind.

    """
    with _open_state(project, ports) as state:
        old, new = _parse_address(source), _parse_address(target)
        if old not in state.owned:
            raise UsageError(f"The state owns nothing at {old}.", _LIST_HINT)
        if new in state.owned:
            raise UsageError(f"The state owns an object at {new} already.", _LIST_HINT)
        if old.kind != new.kind:
            raise UsageError(f"{old} cannot become a {new.kind}.")
        owned = dict(state.owned)
        owned[new] = replace(owned.pop(old), address=new)
        ordered = dict(sorted(owned.items(), key=lambda item: item[0].sort_key))
        project.store.write(replace(state, serial=state.serial + 1, owned=ordered))
    return old, new


@contextmanager
def _open_state(project: Project, ports: Ports) -> Iterator[State]:
    """Return the state under its lock; not while an interrupted apply waits to be finished."""
    with lock_state(project, ports):
        check_no_journal(project)
        yield read_or_create_state(project)


_LIST_HINT = "kplan state list shows what is owned."


def _find_objects(state: State, text: str) -> tuple[OwnedObject, ...]:
    wanted = _parse_address(text)
    found = tuple(
        each
        for address, each in state.owned.items()
        if address == wanted
        or (wanted.key is None and address.block_address == wanted.block_address)
    )
    if not found:
        raise UsageError(f"The state owns nothing at {wanted}.", _LIST_HINT)
    return found


def _parse_address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as fault:
        raise UsageError(
            f"{fault}.", 'Write it as kafka_topic.NAME, or kafka_topic.NAME["KEY"].'
        ) from None


@dataclass(frozen=True, slots=True)
class StateReplacement:
    """A state that was put in the place of another, and what that changes in ownership."""

    state: State
    differences: StateDiff


def pull_state(project: Project) -> bytes:
    """Return the state file as it is, once it has proved to be whole.

    Raises:
        UsageError: nothing has been applied yet.
        StateCorrupt: the file is damaged.

    """
    found = None if read_stored_state(project) is None else project.store.document()
    if found is None:
        raise UsageError(f"There is no state yet in {project.store.place}.")
    return found


def push_state(
    project: Project, source: Path, data: bytes, ports: Ports, *, is_forced: bool
) -> StateReplacement:
    """Put a state in the place of the current one, which is kept as a backup.

    Forced, it may be of another lineage, older, or about another cluster, and what is there may be
    damaged; it then follows what is there in lineage and serial.

    Raises:
        StateError: it is not a later state of what is there.
        WrongCluster: it is about another cluster.

    """
    pushed = _decode_pushed_state(source, data)
    with lock_state(project, ports):
        check_no_journal(project)
        current = _read_current_state(project, may_be_damaged=is_forced)
        if is_forced:
            pushed = _next_state(project, pushed, current)
        elif current is not None:
            _check_later(pushed, current)
        return _write_state(project, pushed, current)


def preview_restore(project: Project, serial: int) -> StateReplacement:
    """Return what `restore` would do."""
    current = _read_current_state(project, may_be_damaged=True)
    return _state_replacement(_next_state(project, project.store.earlier(serial), current), current)


def restore_state(project: Project, serial: int, ports: Ports) -> StateReplacement:
    """Let the state say again what it said at an earlier serial; the cluster is not touched.

    Raises:
        StateError: there is no such backup, or it is damaged.

    """
    with lock_state(project, ports):
        check_no_journal(project)
        current = _read_current_state(project, may_be_damaged=True)
        backup = project.store.earlier(serial)
        return _write_state(project, _next_state(project, backup, current), current)


def _decode_pushed_state(source: Path, data: bytes) -> State:
    try:
        return decode_state(data)
    except StateCorruptError as fault:
        raise StateCorruptError(f"{source}: {fault.detail}", fault.hint) from fault


def _read_current_state(project: Project, *, may_be_damaged: bool) -> State | None:
    try:
        return read_stored_state(project)
    except StateCorruptError:
        if may_be_damaged:
            return None
        raise


def _next_state(project: Project, state: State, current: State | None) -> State:
    lineage = state.lineage if current is None else current.lineage
    return replace(state, lineage=lineage, serial=project.store.newest_serial() + 1)


def _check_later(pushed: State, current: State) -> None:
    forced = "-force puts it there all the same."
    if pushed.lineage != current.lineage:
        raise StateError(
            f"It is another state: its lineage is {pushed.lineage}; here it is {current.lineage}.",
            forced,
        )
    if pushed.serial < current.serial or (pushed.serial == current.serial and pushed != current):
        raise StateError(
            f"It is no later state: its serial is {pushed.serial}, and here it is "
            f"{current.serial}.",
            forced,
        )
    for key in ("", *sorted(current.clusters)):
        here, there = current.cluster_id_of(key), pushed.cluster_id_of(key)
        if here and there != here:
            where = f" behind {connection_name(key)}" if key else ""
            raise WrongClusterError(
                f"It is about cluster {there or 'none'}{where}; the state here is about {here}.",
                forced,
            )


def _write_state(project: Project, state: State, current: State | None) -> StateReplacement:
    if state != current:
        project.store.write(state)
    return _state_replacement(state, current)


def _state_replacement(state: State, current: State | None) -> StateReplacement:
    return StateReplacement(state, diff_owned(current.owned if current else {}, state.owned))
