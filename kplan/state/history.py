"""Earlier states: numbered backups beside the state file, with the changes of each."""

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import State, StateVersion, diff_owned
from kplan.state.atomic_file import make_private_folder, real_path, sync_folder
from kplan.state.codec import decode_state

MAX_BACKUPS = 20


def list_backups(path: Path) -> tuple[Path, ...]:
    """List the backups of the state at `path`, oldest serial first."""
    numbered = (
        (int(each.stem), each)
        for each in _backup_folder(path).glob("*.json")
        if each.stem.isdecimal()
    )
    return tuple(each for _, each in sorted(numbered))


def add_backup(path: Path, name: str) -> None:
    """Link the file at `path` into the backups; raises OSError."""
    folder = _backup_folder(path)
    make_private_folder(folder)
    linked = folder / f".{name}.{os.getpid()}.tmp"
    linked.unlink(missing_ok=True)
    linked.hardlink_to(path)
    linked.replace(folder / f"{name}.json")
    linked.unlink(missing_ok=True)  # rename leaves both names when they are one file already
    sync_folder(folder)


def prune_backups(path: Path) -> None:
    """Drop all but the newest backups. One that cannot be dropped does no harm."""
    for old in list_backups(path)[:-MAX_BACKUPS]:
        with contextlib.suppress(OSError):
            old.unlink()


def _backup_folder(path: Path) -> Path:
    found = real_path(path)
    return found.parent / "backup" / found.name


def list_versions(path: Path) -> tuple[StateVersion, ...]:
    """List the backups of the state at `path` and the state itself, oldest first."""
    return tuple(_backup_versions(path))


def read_backup(path: Path, serial: int) -> State:
    """Read the backup with that serial.

    Raises:
        StateError: there is none, or it is damaged.

    """
    found = {int(each.stem): each for each in list_backups(path)}
    if serial not in found:
        kept = ", ".join(str(each) for each in sorted(found)) or "none"
        raise StateError(f"There is no backup of serial {serial}; available: {kept}.")
    return _read_state(found[serial])


def newest_serial(path: Path) -> int:
    """Return a serial as high as any that the state at `path` and its backups ever had."""
    numbers = [int(each.stem) for each in list_backups(path)]
    try:
        current = _read_state(real_path(path)).serial if path.exists() else 0
    except StateError:
        current = max(numbers, default=0) + 1  # the damaged one came after its newest backup
    return max([*numbers, current])


def _backup_versions(path: Path) -> Iterator[StateVersion]:
    previous: State | None = None
    current = [real_path(path)] if path.exists() else []
    for file in [*list_backups(path), *current]:
        written_at = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
        is_current = file in current
        try:
            state = _read_state(file)
        except StateError as fault:
            yield StateVersion(
                str(file), written_at, is_current=is_current, read_error=fault.detail
            )
            continue
        yield StateVersion(
            str(file),
            written_at,
            state.serial,
            state.lineage,
            len(state.owned),
            None if previous is None else diff_owned(previous.owned, state.owned),
            is_current,
        )
        previous = state


def _read_state(file: Path) -> State:
    try:
        return decode_state(file.read_bytes())
    except StateCorruptError as fault:
        raise StateCorruptError(f"{file}: {fault.detail}", fault.hint) from fault
    except OSError as failure:
        raise StateError(f"{file} cannot be read: {failure.strerror}.") from failure
