"""Atomic writes of files: temporary file, fsync, rename, fsync of the folder."""

import contextlib
import errno
import glob
import os
import tempfile
import time
from pathlib import Path

_LEFTOVER_AGE_S = 3600


def real_path(path: Path) -> Path:
    """Follow links, so that a rename replaces the file and not the link to it."""
    return Path(os.path.realpath(path))


def read_umask() -> int:
    """Return the umask of this process; the only way to read it is to set it."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def make_private_folder(folder: Path) -> None:
    """Make a folder and its parents with mode 0700 whatever the umask; or OSError."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file atomically, mode 0600; on an error the previous content is unchanged.

    Raises:
        OSError: the disk is full, the folder may not be written, and so on.

    """
    temporary = write_temporary(path, data)
    try:
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_temporary(path: Path, data: bytes) -> Path:
    """Write the bytes durably to a new file (0600) in the folder of `path`; raises OSError."""
    _remove_leftovers(path)
    descriptor, name = tempfile.mkstemp(".tmp", f".{path.name}.", path.parent)
    temporary = Path(name)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def sync_folder(folder: Path) -> None:
    """Make renames and new names in the folder durable; raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno != errno.EINVAL:  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of killed writers, except recent ones that may be in use."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_AGE_S:
                leftover.unlink()
