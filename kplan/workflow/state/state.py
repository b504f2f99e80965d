"""Use cases on the state: list, show, forget, pull, push, restore, migrate, verify."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError, StateError, UsageError, WrongClusterError
from kplan.model.plan import Action, Change, Reason
from kplan.model.resource import connection_name
from kplan.model.state import ObjectStatus, OwnedObject, Snapshot, State, StateDiff, diff_owned
from kplan.plan.drift import find_drift
from kplan.plan.request import address_names
from kplan.state.codec import decode_state
from kplan.state.file_store import FileStore
from kplan.state.store import StateStore
from kplan.workflow.apply.kept_state import check_move_is_kept
from kplan.workflow.clusters import desired_identities, read_clusters
from kplan.workflow.open_project import (
    check_no_journal,
    check_no_journal_in,
    hold_lock,
    lock_state,
    open_project,
    read_or_create_state,
    read_stored_state,
)
from kplan.workflow.ports import Ports, Project


def list_owned_objects(
    project: Project, addresses: tuple[str, ...] = ()
) -> tuple[OwnedObject, ...]:
    """List the objects of the state, or those whose address, block or module is named.

    Raises:
        UsageError: a name fits nothing.

    """
    state = read_stored_state(project) or State("")
    if not addresses:
        return tuple(state.owned.values())
    return find_objects(state, addresses)


def show_objects(project: Project, address: str) -> tuple[OwnedObject, ...]:
    """Return the object at an address, or all instances of a block.

    Raises:
        UsageError: the address fits nothing, or is of a module.

    """
    wanted = parse_address(address)
    if wanted.kind == MODULE:
        raise UsageError(
            f"kplan state show shows one object, and {wanted} is a module.",
            f"kplan state list {shlex.quote(str(wanted))} shows what is in it.",
        )
    return list_owned_objects(project, (address,))


def at_every_address(owned: Iterable[OwnedObject], within: str = "") -> tuple[OwnedObject, ...]:
    """Return each object once for every address that declares it, in order of address.

    `within` leaves only the addresses that a name fits: their own, their block's or a module's.
    """
    found = (
        each.led_by(at)
        for each in owned
        for at in each.addresses
        if not within or within in address_names(at)
    )
    return tuple(sorted(found, key=lambda each: each.address.sort_key))


def owned_by_address(owned: Iterable[OwnedObject]) -> dict[Address, OwnedObject]:
    """Return owned objects by address, in order."""
    ordered = sorted(owned, key=lambda each: each.address.sort_key)
    return {each.address: each for each in ordered}


@contextmanager
def open_state(project: Project, ports: Ports) -> Iterator[State]:
    """Return the state under its lock; not while an interrupted apply waits to be finished."""
    with lock_state(project, ports):
        check_no_journal(project)
        yield read_or_create_state(project)


LIST_HINT = "kplan state list shows what is owned."
MODULE = "module"
"""The kind that the address of a module is parsed with."""


def nothing_owned(address: Address) -> UsageError:
    """Return the error for an address that the state has nothing at."""
    return UsageError(f"The state owns nothing at {address}.", LIST_HINT)


def find_objects(state: State, texts: tuple[str, ...]) -> tuple[OwnedObject, ...]:
    """Find the objects that addresses name, each once: resources, blocks or modules."""
    found: dict[Address, OwnedObject] = {}
    for wanted in map(parse_address, texts):
        named = at_every_address(state.owned.values(), within=str(wanted))
        if not named:
            raise nothing_owned(wanted)
        found.update((each.address, each) for each in named)
    return tuple(found.values())


def parse_address(text: str) -> Address:
    """Parse the address of a resource, or of a module, whose kind is then `module`.

    Raises:
        UsageError: it is neither.

    """
    try:
        return Address.parse(text)
    except ValueError as fault:
        raise UsageError(
            f"{fault}.",
            'Write it as kafka_topic.NAME, kafka_topic.NAME["KEY"], or module.NAME.',
        ) from None


@dataclass(frozen=True, slots=True)
class StateReplacement:
    """A state that replaced another, and the changes in ownership."""

    state: State
    differences: StateDiff


def pull_state(project: Project) -> bytes:
    """Return the state file as it is, once it has proved to be whole.

    Raises:
        UsageError: nothing has been applied yet.
        StateCorruptError: the file is damaged.

    """
    found = None if read_stored_state(project) is None else project.store.read_document()
    if found is None:
        raise UsageError(f"There is no state yet in {project.store.location}.")
    return found


def push_state(
    project: Project, source: Path, data: bytes, ports: Ports, *, is_forced: bool
) -> StateReplacement:
    """Put a state in the place of the current one, which is kept as a backup.

    Forced, it may be of another lineage, older, or about another cluster, and what exists may be
    damaged; it then follows what exists in lineage and serial.

    Raises:
        StateError: it is not a later state of what exists.
        WrongClusterError: it is about another cluster.

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
    """Return the effect of `restore_state`."""
    current = _read_current_state(project, may_be_damaged=True)
    return _state_replacement(
        _next_state(project, project.store.read_version(serial), current), current
    )


def restore_state(project: Project, serial: int, ports: Ports) -> StateReplacement:
    """Restore the contents of an earlier serial; the cluster is not touched.

    Raises:
        StateError: there is no such backup, or it is damaged.

    """
    with lock_state(project, ports):
        check_no_journal(project)
        current = _read_current_state(project, may_be_damaged=True)
        backup = project.store.read_version(serial)
        return _write_state(project, _next_state(project, backup, current), current)


def _decode_pushed_state(source: Path, data: bytes) -> State:
    try:
        return decode_state(data)
    except StateError as fault:
        raise type(fault)(f"{source}: {fault.detail}", fault.hint) from fault


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
            f"It is not a later state: its serial is {pushed.serial}, and here it is "
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


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """A state that was moved."""

    state: State
    source: str
    target: str


def migrate_state(
    source: StateStore, target: StateStore, ports: Ports, *, is_file_named: bool = False
) -> MigrationResult:
    """Move the state, byte by byte; where it was a note says where it is.

    The earlier states stay where they are. A move that was killed is finished by moving again, and
    one that was done is left as it is. A file that somebody named is meant to be kept.

    Raises:
        UsageError: there is no state to move.
        StateError: an apply was interrupted, the target holds another state, or a later one, or it
            is a file that is lost with the CI job.

    """
    if isinstance(target, FileStore) and not is_file_named:
        check_move_is_kept(target.path, ports)
    with hold_lock(source, ports), hold_lock(target, ports):
        ports.progress.stage("Moving the state")
        check_no_journal_in(source)
        check_no_journal_in(target)
        document = target.read_document() if source.read_move_note() == target.location else None
        if document is None:
            document = source.read_document()
            if document is None:
                raise UsageError(f"There is no state in {source.location} to move.")
            target.write_document(document)
            source.write_move_note(target.location)
    return MigrationResult(decode_state(document), source.location, target.location)


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The state and the status of its objects. `has_journal`: an apply was interrupted.

    One that came to its end by itself and only lacks answers `is_finished`.
    """

    state: State
    statuses: Mapping[Address, ObjectStatus]
    has_journal: bool
    is_finished: bool = False


def verify_state(project: Project, ports: Ports) -> VerificationResult:
    """Read the state file, which proves it whole, and look for everything that it owns.

    Raises:
        StateCorruptError: the file is damaged.
        WrongClusterError: it is about another cluster than the one that answers.

    """
    with open_project(project, ports) as found:
        ports.progress.stage("Reading the cluster")
        wanted = desired_identities(found.configuration, found.state)
        snapshots = read_clusters(found.clusters, wanted)
    statuses = {
        address: status
        for provider, snapshot in snapshots.items()
        for address, status in _object_statuses(found.state.for_provider(provider), snapshot)
    }
    ordered = {address: statuses[address] for address in found.state.owned}
    journal = found.journal
    is_finished = journal is not None and journal.is_finished
    return VerificationResult(found.state, ordered, journal is not None, is_finished)


def _object_statuses(state: State, snapshot: Snapshot) -> Iterator[tuple[Address, ObjectStatus]]:
    drifted = {each.address: each for each in find_drift(state, snapshot, KINDS)}
    for address, owned in state.owned.items():
        yield address, _object_status(owned, snapshot, drifted.get(address))


def _object_status(owned: OwnedObject, snapshot: Snapshot, change: Change | None) -> ObjectStatus:
    reading = snapshot.readings.get(owned.address.kind)
    if reading is None:
        return ObjectStatus.UNREAD
    if owned.identity in reading.hidden:
        return ObjectStatus.HIDDEN
    if change is None:
        return ObjectStatus.AS_APPLIED
    if change.action is Action.DELETE:
        return ObjectStatus.GONE
    return (
        ObjectStatus.RECREATED
        if change.reason is Reason.RECREATED_OUTSIDE
        else ObjectStatus.CHANGED
    )
