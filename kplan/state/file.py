"""The state file: read with suspicion, written as a whole or not at all."""

import shlex
import shutil
import tempfile
from pathlib import Path

from kplan.model.errors import StalePlan, StateCorrupt, StateError, WrongCluster
from kplan.model.plan import BasedOn
from kplan.model.state import State
from kplan.state.atomic import real_path, write_atomically
from kplan.state.backup import backups, keep_backup, prune
from kplan.state.codec import decode_heading, decode_state, encode_state
from kplan.state.version import kplan_version

SPARE_NAME = "errored.state"
_BYTES_PER_CHANGE = 4096
_BYTES_AT_LEAST = 65536


def new_state(lineage: str) -> State:
    """Make the first state of a configuration; `lineage` is a UUID that was never used before."""
    return State(lineage)


def read_state(path: Path) -> State | None:
    """Read the state; None means that there is no file, and nothing else does.

    Raises:
        StateCorrupt: the file is empty, cut, changed, foreign or of a newer format; the hint says
            how to restore the newest whole backup.
        StateError: the file cannot be opened, or holds kinds that this version does not know.

    """
    data = _read(path)
    if data is None:
        return None
    try:
        return decode_state(data)
    except StateCorrupt as fault:
        raise StateCorrupt(f"{path}: {fault.detail}", fault.hint or _way_back(path)) from fault
    except StateError as fault:
        raise StateError(f"{path}: {fault.detail}", fault.hint) from fault


def write_state(path: Path, state: State) -> None:
    """Replace the state file at once and durably, keeping the previous one among the backups.

    The caller holds the lock and has raised the serial. Writing the same bytes again does nothing.

    Raises:
        StateError: the file holds another lineage or was written meanwhile; or it cannot be
            written (disk full): then it still is what it was, and the new state stands in a file
            `errored.state` in another folder, which the hint names.

    """
    data = encode_state(state, kplan_version())
    target = real_path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        previous = _read(path)
        if previous == data:
            return
        if previous is not None:
            keep_backup(target, _backup_name(target, previous, state))
        write_atomically(target, data)
    except OSError as failure:
        reason = f"{target} cannot be written: {failure.strerror}; it is what it was before."
        raise _unwritten(target, data, reason) from failure
    except StateError as conflict:
        raise _unwritten(target, data, conflict.detail) from conflict
    prune(target)


def check_free_space(path: Path, changes: int = 0) -> None:
    """Check that the state and the journal of `changes` items fit on the disk.

    Raises:
        StateError: they do not, or may not.

    """
    target = real_path(path)
    folder = next(each for each in target.parents if each.is_dir())
    size = target.stat().st_size if target.is_file() else 0
    needed = 2 * size + changes * _BYTES_PER_CHANGE + _BYTES_AT_LEAST
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StateError(
            f"{folder} has {free // 1024} KiB left; state and journal may take "
            f"{needed // 1024} KiB.",
            "Make room before changing the cluster.",
        )


def check_same_cluster(state: State, cluster_id: str) -> None:
    """Check that the state is about the cluster that answers; a state never applied fits any.

    Raises:
        WrongCluster: it is about another one.

    """
    if state.cluster_id and state.cluster_id != cluster_id:
        raise WrongCluster(
            f"The state belongs to cluster {state.cluster_id}; {cluster_id or 'one without an id'} "
            "answers at the bootstrap address.",
            "Check the bootstrap address, or use the state of that cluster.",
        )


def check_same_state(state: State, based_on: BasedOn) -> None:
    """Check that the plan was made from exactly this state.

    Raises:
        StalePlan: lineage or serial differ.
        WrongCluster: the plan is for another cluster than the state.

    """
    if state.lineage != based_on.lineage:
        raise StalePlan(
            f"The plan was made from the state {based_on.lineage}; this is {state.lineage}.",
            "Apply the plan with the state it was made from, or plan again.",
        )
    if state.serial != based_on.serial:
        raise StalePlan(
            f"The plan was made from serial {based_on.serial} of the state, which is at serial "
            f"{state.serial} now.",
            "Plan again.",
        )
    check_same_cluster(state, based_on.cluster_id)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise StateError(f"{path} is a link to {path.readlink()}: no such file.") from None
        return None
    except OSError as failure:
        raise StateError(f"{path} cannot be read: {failure.strerror}.") from failure


def _backup_name(path: Path, previous: bytes, state: State) -> str:
    try:
        found = decode_heading(previous)
    except StateCorrupt:
        return "damaged"
    if found.lineage != state.lineage:
        raise StateError(
            f"{path} holds another state, {found.lineage}; this one is {state.lineage}."
        )
    if found.serial >= state.serial:
        raise StateError(
            f"{path} was written meanwhile: it is at serial {found.serial}, and serial "
            f"{state.serial} is to follow."
        )
    return str(found.serial)


def _way_back(path: Path) -> str:
    for backup in reversed(backups(path)):
        try:
            serial = decode_state(backup.read_bytes()).serial
        except (StateError, OSError):
            continue
        return f"Restore serial {serial}: {_copy(backup, path)}"
    return "No whole backup is left beside it; restore the file from elsewhere."


def _unwritten(path: Path, data: bytes, reason: str) -> StateError:
    spare = _spare(path.parent, data)
    if spare is None:
        return StateError(reason, "Plan again once that is mended: kplan adopts what it made.")
    return StateError(
        f"{reason} The new state is in {spare}.",
        f"Once that is mended, put it in place: {_copy(spare, path)}",
    )


def _spare(avoided: Path, data: bytes) -> Path | None:
    for folder in (Path(), Path(tempfile.gettempdir())):
        spare = folder / SPARE_NAME
        try:
            if not folder.samefile(avoided):
                write_atomically(spare, data)
                return spare.absolute()
        except OSError:
            continue
    return None


def _copy(source: Path, target: Path) -> str:
    return f"cp {shlex.quote(str(source))} {shlex.quote(str(target))}"
