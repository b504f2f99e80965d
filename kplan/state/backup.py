"""Earlier states, kept as hard links: `backup/NAME/SERIAL.json` beside the state `NAME`."""

import contextlib
import os
from pathlib import Path

from kplan.state.atomic import real_path, sync_folder

KEEP = 20


def backups(path: Path) -> tuple[Path, ...]:
    """List the backups of the state at `path`, oldest serial first."""
    numbered = (
        (int(each.stem), each) for each in _folder(path).glob("*.json") if each.stem.isdecimal()
    )
    return tuple(each for _, each in sorted(numbered))


def keep_backup(path: Path, name: str) -> None:
    """Give the file at `path` a second name among the backups; raises OSError."""
    folder = _folder(path)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    linked = folder / f".{name}.{os.getpid()}.tmp"
    linked.unlink(missing_ok=True)
    linked.hardlink_to(path)
    linked.replace(folder / f"{name}.json")
    linked.unlink(missing_ok=True)  # rename leaves both names when they are one file already
    sync_folder(folder)


def prune(path: Path) -> None:
    """Drop all but the newest backups. One that cannot be dropped does no harm."""
    for old in backups(path)[:-KEEP]:
        with contextlib.suppress(OSError):
            old.unlink()


def _folder(path: Path) -> Path:
    found = real_path(path)
    return found.parent / "backup" / found.name
