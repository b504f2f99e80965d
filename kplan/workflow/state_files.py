"""Use cases on the state as a file: take it away, put one in place, go back to an earlier one."""

from dataclasses import replace
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError, StateError, UsageError, WrongClusterError
from kplan.model.resource import connection_name
from kplan.model.state import State, StateDiff, diff_owned
from kplan.state.codec import decode_state
from kplan.workflow.opened import check_no_journal, lock, stored
from kplan.workflow.project import Ports, Project


@dataclass(frozen=True, slots=True)
class Replaced:
    """A state that was put in the place of another, and what that changes in ownership."""

    state: State
    differences: StateDiff


def pull(project: Project) -> bytes:
    """Give the state file as it is, once it has proved to be whole.

    Raises:
        UsageError: nothing has been applied yet.
        StateCorrupt: the file is damaged.

    """
    found = None if stored(project) is None else project.store.document()
    if found is None:
        raise UsageError(f"There is no state yet in {project.store.place}.")
    return found


def push(project: Project, source: Path, data: bytes, ports: Ports, *, is_forced: bool) -> Replaced:
    """Put a state in the place of the current one, which is kept as a backup.

    Forced, it may be of another lineage, older, or about another cluster, and what is there may be
    damaged; it then follows what is there in lineage and serial.

    Raises:
        StateError: it is not a later state of what is there.
        WrongCluster: it is about another cluster.

    """
    pushed = _decoded(source, data)
    with lock(project, ports):
        check_no_journal(project)
        current = _current(project, may_be_damaged=is_forced)
        if is_forced:
            pushed = _following(project, pushed, current)
        elif current is not None:
            _check_later(pushed, current)
        return _put(project, pushed, current)


def restored(project: Project, serial: int) -> Replaced:
    """Tell what `restore` would do."""
    current = _current(project, may_be_damaged=True)
    return _replaced(_following(project, project.store.earlier(serial), current), current)


def restore(project: Project, serial: int, ports: Ports) -> Replaced:
    """Let the state say again what it said at an earlier serial; the cluster is not touched.

    Raises:
        StateError: there is no such backup, or it is damaged.

    """
    with lock(project, ports):
        check_no_journal(project)
        current = _current(project, may_be_damaged=True)
        backup = project.store.earlier(serial)
        return _put(project, _following(project, backup, current), current)


def _decoded(source: Path, data: bytes) -> State:
    try:
        return decode_state(data)
    except StateCorruptError as fault:
        raise StateCorruptError(f"{source}: {fault.detail}", fault.hint) from fault


def _current(project: Project, *, may_be_damaged: bool) -> State | None:
    try:
        return stored(project)
    except StateCorruptError:
        if may_be_damaged:
            return None
        raise


def _following(project: Project, state: State, current: State | None) -> State:
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


def _put(project: Project, state: State, current: State | None) -> Replaced:
    if state != current:
        project.store.write(state)
    return _replaced(state, current)


def _replaced(state: State, current: State | None) -> Replaced:
    return Replaced(state, diff_owned(current.owned if current else {}, state.owned))
