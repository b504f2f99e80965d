"""The states that were: the current one and its numbered backups, each told by what it changed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import State, StateVersion, diff_owned
from kplan.state.atomic import real_path
from kplan.state.backup import backups
from kplan.state.codec import decode_state


def history(path: Path) -> tuple[StateVersion, ...]:
    """List the backups of the state at `path` and the state itself, oldest first."""
    return tuple(_versions(path))


def backup_state(path: Path, serial: int) -> State:
    """Read the backup with that serial.

    Raises:
        StateError: there is none, or it is damaged.

    """
    found = {int(each.stem): each for each in backups(path)}
    if serial not in found:
        kept = ", ".join(str(each) for each in sorted(found)) or "none"
        raise StateError(f"There is no backup of serial {serial}; kept are: {kept}.")
    return _read(found[serial])


def newest_serial(path: Path) -> int:
    """Give a serial as high as any that the state at `path` and its backups ever had."""
    numbers = [int(each.stem) for each in backups(path)]
    try:
        current = _read(real_path(path)).serial if path.exists() else 0
    except StateError:
        current = max(numbers, default=0) + 1  # the damaged one came after its newest backup
    return max([*numbers, current])


def _versions(path: Path) -> Iterator[StateVersion]:
    previous: State | None = None
    current = [real_path(path)] if path.exists() else []
    for file in [*backups(path), *current]:
        written_at = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
        is_current = file in current
        try:
            state = _read(file)
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


def _read(file: Path) -> State:
    try:
        return decode_state(file.read_bytes())
    except StateCorruptError as fault:
        raise StateCorruptError(f"{file}: {fault.detail}", fault.hint) from fault
    except OSError as failure:
        raise StateError(f"{file} cannot be read: {failure.strerror}.") from failure
