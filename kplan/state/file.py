"""The state file: checked when read, written as a whole or not at all."""

import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kplan.model.errors import StalePlanError, StateCorruptError, StateError, WrongClusterError
from kplan.model.plan import PlanBasis
from kplan.model.state import OwnedModules, State
from kplan.model.version import VERSION
from kplan.state.atomic_file import make_private_folder, real_path, write_atomically
from kplan.state.codec import (
    StateHeader,
    decode_header,
    decode_modules,
    decode_move_note,
    decode_state,
    encode_move_note,
    encode_state,
    state_header,
)
from kplan.state.history import add_backup, list_backups, prune_backups

T = TypeVar("T")

EMERGENCY_COPY_NAME = "errored.state"


def save_emergency_copy(reason: StateError, data: bytes, target: Path | None = None) -> StateError:
    """Keep the state in another folder than the one of `target`, and say so after the reason.

    The error is of the same class. Where nothing can be written at all, the hint is to plan
    again.
    """
    spare = _write_emergency_copy(data, None if target is None else target.parent)
    if spare is None:
        hint = "Fix this and plan again: kplan adopts the objects that it created."
        return type(reason)(reason.detail, hint)
    name = shlex.quote(str(spare))
    way = (
        f"kplan state push {name}, or after an apply: kplan apply -resume"
        if target is None
        else f"cp {name} {shlex.quote(str(target))}"
    )
    return type(reason)(
        f"{reason.detail} The new state is in {spare}.",
        f"Fix this, then move it into place: {way}",
    )


def _write_emergency_copy(data: bytes, avoided: Path | None) -> Path | None:
    for folder in (Path(), Path(tempfile.gettempdir())):
        spare = folder / EMERGENCY_COPY_NAME
        try:
            if avoided is None or not folder.samefile(avoided):
                write_atomically(spare, data)
                return spare.absolute()
        except OSError:
            continue
    return None


_BYTES_PER_CHANGE = 4096
_MIN_BYTES = 65536


def new_state(lineage: str) -> State:
    """Make the first state of a configuration; `lineage` is a UUID that was never used before."""
    return State(lineage)


def read_state(path: Path) -> State | None:
    """Read the state; None means that there is no file, and nothing else does.

    Raises:
        StateCorruptError: the file is empty, cut, changed, foreign or of a newer format; the hint
            says how to restore the newest whole backup.
        StateError: the file cannot be opened, holds kinds that this version does not know, or says
            that the state was moved away.

    """
    found = read_document(path)
    return None if found is None else found[1]


def read_document(path: Path) -> tuple[bytes, State] | None:
    """Read the state together with its bytes; None and errors as `read_state`."""
    return _read(path, decode_state)


def read_modules(path: Path) -> OwnedModules | None:
    """Read the modules that declare what is owned; None and errors as `read_state`."""
    found = _read(path, decode_modules)
    return None if found is None else found[1]


def _read(path: Path, decode: Callable[[bytes], T]) -> tuple[bytes, T] | None:
    data = _read_bytes(path)
    if data is None:
        return None
    try:
        return data, decode(data)
    except StateCorruptError as fault:
        raise StateCorruptError(
            f"{path}: {fault.detail}", fault.hint or _restore_hint(path)
        ) from fault
    except StateError as fault:
        raise StateError(f"{path}: {fault.detail}", fault.hint) from fault


def write_state(path: Path, state: State) -> None:
    """Replace the state file at once and durably, keeping the previous one among the backups.

    The caller holds the lock and has raised the serial. Writing the same bytes again does nothing.

    Raises:
        StateError: the file holds another lineage or was written meanwhile; or it cannot be
            written (disk full): then it still is what it was, and the new state is in a file
            `errored.state` in another folder, which the hint names.

    """
    write_document(path, encode_state(state, VERSION), state_header(state))


def write_document(path: Path, data: bytes, heading: StateHeader) -> None:
    """Write a state that is encoded already; raises as `write_state`."""
    target = real_path(path)
    try:
        make_private_folder(target.parent)
        previous = _read_bytes(path)
        if previous == data:
            return
        if previous is not None:
            add_backup(target, _backup_name(target, previous, heading))
        write_atomically(target, data)
    except OSError as failure:
        if _read_bytes(path) == data:
            detail = f"{target} is written, but a crash of the machine may undo it"
            raise StateError(f"{detail}: {failure.strerror}.") from failure
        reason = f"{target} cannot be written: {failure.strerror}; it is what it was before."
        raise save_emergency_copy(StateError(reason), data, target) from failure
    except StateError as conflict:
        raise save_emergency_copy(conflict, data) from conflict
    prune_backups(target)


def write_move_note(path: Path, moved_to_place: str) -> None:
    """Leave a note that the state was moved; the state stays among the backups.

    Raises:
        StateError: the note cannot be written.

    """
    target = real_path(path)
    serial = decode_header(_read_bytes(path) or b"").serial
    try:
        add_backup(target, str(serial))
        write_atomically(target, encode_move_note(moved_to_place, VERSION))
    except OSError as failure:
        raise StateError(f"{target} cannot be written: {failure.strerror}.") from failure


def read_move_note(path: Path) -> str:
    """Return where the state was moved to that stood here, "" where it was not."""
    return decode_move_note(_read_bytes(path) or b"")


def remove_move_note(path: Path) -> None:
    """Remove the note of a moved state, if there is one: the state is moved back.

    Raises:
        StateError: the note cannot be removed.

    """
    if read_move_note(path):
        try:
            real_path(path).unlink()
        except OSError as failure:
            raise StateError(f"{path} cannot be replaced: {failure.strerror}.") from failure


def check_free_space(path: Path, changes: int = 0) -> None:
    """Check that the state and the journal of `changes` items fit on the disk.

    Raises:
        StateError: they do not, or may not.

    """
    target = real_path(path)
    folder = next(each for each in target.parents if each.is_dir())
    size = target.stat().st_size if target.is_file() else 0
    needed = 2 * size + changes * _BYTES_PER_CHANGE + _MIN_BYTES
    usage = shutil.disk_usage(folder)
    if usage.total and usage.free < needed:  # some network file systems do not return
        raise StateError(
            f"{folder} has {usage.free // 1024} KiB left; state and journal may take "
            f"{needed // 1024} KiB.",
            "Make room before changing the cluster.",
        )


def check_same_cluster(state: State, cluster_id: str, provider: str = "") -> None:
    """Check that the state is about the cluster that answers; a state never applied fits any.

    `provider` is the key of the connection through which it answers.

    Raises:
        WrongClusterError: it is about another one.

    """
    known = state.cluster_id_of(provider)
    if known and known != cluster_id:
        where = f"bootstrap address of kafka.{provider}" if provider else "bootstrap address"
        raise WrongClusterError(
            f"The state belongs to cluster {known}; {cluster_id or 'one without an id'} "
            f"answers at the {where}.",
            "Check the bootstrap address, or use the state of that cluster.",
        )


def check_same_state(state: State, based_on: PlanBasis) -> None:
    """Check that the plan was made from exactly this state.

    Raises:
        StalePlanError: lineage or serial differ.
        WrongClusterError: the plan is for another cluster than the state.

    """
    if state.lineage != based_on.lineage:
        raise StalePlanError(
            f"The plan was made from the state {based_on.lineage}; this is {state.lineage}.",
            "Apply the plan with the state it was made from, or plan again.",
        )
    if state.serial != based_on.serial:
        raise StalePlanError(
            f"The plan was made from serial {based_on.serial} of the state, which is at serial "
            f"{state.serial} now.",
            "Plan again.",
        )
    check_same_cluster(state, based_on.cluster_id)
    for provider, cluster_id in based_on.clusters.items():
        check_same_cluster(state, cluster_id, provider)


def check_successor(found: StateHeader, new: StateHeader, where: str) -> None:
    """Check that a state may take the place of the one that is `where`.

    Raises:
        StateError: that is another state, or a later one.

    """
    if found.lineage != new.lineage:
        raise StateError(
            f"{where} holds another state, {found.lineage}; this one is {new.lineage}."
        )
    if found.serial >= new.serial:
        raise StateError(
            f"{where} was written by another run: it is at serial {found.serial}, and serial "
            f"{new.serial} is to follow."
        )


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise StateError(f"{path} is a link to {path.readlink()}: no such file.") from None
        return None
    except OSError as failure:
        raise StateError(f"{path} cannot be read: {failure.strerror}.") from failure


def _backup_name(path: Path, previous: bytes, heading: StateHeader) -> str:
    try:
        found = decode_header(previous)
    except StateCorruptError:
        return "damaged"
    check_successor(found, heading, str(path))
    return str(found.serial)


def _restore_hint(path: Path) -> str:
    for backup in reversed(list_backups(path)):
        try:
            serial = decode_state(backup.read_bytes()).serial
        except (StateError, OSError):
            continue
        return f"Restore serial {serial}: {_copy_command(backup, path)}"
    return "No whole backup is left beside it; restore the file from elsewhere."


def _copy_command(source: Path, target: Path) -> str:
    return f"cp {shlex.quote(str(source))} {shlex.quote(str(target))}"
