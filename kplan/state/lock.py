"""One run at a time: an flock, and beside it a note that says who holds it.

The flock, on a file that is never renamed over, ends with its process, however that dies. The note
survives: it names the holder to those who wait, and keeps out runs on other machines where a
network file system does not share flocks. It is made by a hard link, which only one can win.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateError
from kplan.state.atomic import real_path, write_atomically, write_beside
from kplan.state.holder import Holder, alive, decode_holder, encode_holder, is_dead
from kplan.state.waiting import (
    HEARTBEAT_S,
    Lock,
    LockStatus,
    Taken,
    acquired,
    beating,
    lost,
    taken_by,
)


@dataclass(frozen=True, slots=True)
class _Held:
    descriptor: int
    replaced: Holder | None


@contextmanager
def locked(
    path: Path, holder: Holder, timeout_s: float, waiting: Callable[[Holder], None]
) -> Iterator[Lock]:
    """Hold the lock of the state at `path`, waiting for it up to `timeout_s` (0: not at all).

    `waiting` is told who holds it, once for each holder that is waited for.

    Raises:
        StateLocked: another run still holds it.
        StateError: no lock can be made in that folder.

    """
    held = acquired(lambda: _attempt(path, holder), timeout_s, waiting)
    try:
        with beating(lambda: _beat(path, holder, held.descriptor), HEARTBEAT_S):
            yield Lock(holder, held.replaced)
    finally:
        _release(path, holder, held.descriptor)


def check_held(path: Path, holder: Holder) -> None:
    """Check that `holder` still holds the lock of the state at `path`.

    Raises:
        StateLocked: somebody took it away.

    """
    if not _is_ours(path, holder):
        raise lost(_note(path)[0])


def lock_status(path: Path) -> LockStatus:
    """Tell who holds the lock of the state at `path`, without waiting or changing anything."""
    holder, is_noted = _note(path)
    if not _is_free(lock_path(path)):
        return LockStatus(is_held=True, holder=holder)
    over = holder is not None and is_dead(holder)
    return LockStatus(is_noted and not over, holder, over)


def force_unlock(path: Path, id: str) -> Holder:  # noqa: A002 - the word on the command line
    """Take the lock away from the run with this id, dead or alive, and tell who that was.

    Raises:
        StateError: nobody holds it, a run with another id does, or the files cannot be removed.

    """
    holder, is_noted = _note(path)
    if holder is None:
        if not is_noted and _is_free(lock_path(path)):
            raise StateError("The state is not locked.")
        way = f"Remove {note_path(path)} if no run is left." if is_noted else ""
        raise StateError("The state is not locked by any run that can be named.", way)
    if holder.id != id:
        raise StateError(f"The lock has the id {holder.id}: {holder}.")
    try:
        # A live run keeps its flock on the file that is removed here; the next makes a new file.
        lock_path(path).unlink(missing_ok=True)
        note_path(path).unlink(missing_ok=True)
    except OSError as failure:
        raise StateError(f"The lock cannot be removed: {failure.strerror}.") from failure
    return holder


def lock_path(path: Path) -> Path:
    """Give the file of the flock for the state at `path`."""
    target = real_path(path)
    if target.is_dir():
        raise StateError(f"{path} is to be the state file, and is a folder.")
    return target.with_suffix(".lock")


def note_path(path: Path) -> Path:
    """Give the file that says who holds the lock."""
    return lock_path(path).with_suffix(".lock.json")


def _attempt(path: Path, holder: Holder) -> _Held | Taken:
    file = lock_path(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            found = _claim(path, holder, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as failure:
        raise StateError(
            f"The lock {file} cannot be made: {failure.strerror}.",
            "The folder must be writable, on a file system with locks and hard links; a plan and a "
            "drift also do without: -lock=false.",
        ) from failure
    if isinstance(found, Taken):
        os.close(descriptor)
    return found


def _claim(path: Path, holder: Holder, descriptor: int) -> _Held | Taken:
    """Take the flock and, under it, leave our note; a dead holder's note is replaced."""
    is_locked = _flocked(descriptor, lock_path(path))
    before, is_noted = _note(path)
    if not is_locked:
        return _taken(path, before)
    if is_noted:
        if before is None or not is_dead(before):
            return _taken(path, before)
        note_path(path).unlink(missing_ok=True)
    if not _left_note(path, holder):
        return _taken(path, _note(path)[0])
    return _Held(descriptor, before)


def _left_note(path: Path, holder: Holder) -> bool:
    temporary = write_beside(note_path(path), encode_holder(holder))
    try:
        note_path(path).hardlink_to(temporary)
    except FileExistsError:  # another machine, with flocks of its own, was faster
        return False
    finally:
        temporary.unlink()
    return True


def _flocked(descriptor: int, file: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # force_unlock may have put another file in place between opening and locking this one.
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), file.stat())
    return False


def _release(path: Path, holder: Holder, descriptor: int) -> None:
    # A note that cannot be removed is one of a dead process soon: the next run takes it over.
    with contextlib.suppress(OSError):
        if _is_ours(path, holder):
            note_path(path).unlink()
    os.close(descriptor)


def _beat(path: Path, holder: Holder, descriptor: int) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end an apply
        if _is_ours(path, holder):
            write_atomically(note_path(path), encode_holder(alive(holder)))
            # force_unlock may have come between: it removes the flock's file first.
            if not _flocked(descriptor, lock_path(path)) and _is_ours(path, holder):
                note_path(path).unlink()


def _is_ours(path: Path, holder: Holder) -> bool:
    found, _ = _note(path)
    return found is not None and found.id == holder.id


def _note(path: Path) -> tuple[Holder | None, bool]:
    """Read the note: the holder where it can be read, and whether there is a note at all."""
    try:
        return decode_holder(note_path(path).read_bytes()), True
    except FileNotFoundError:
        return None, False
    except OSError:  # it is there, and not for us to read
        return None, True


def _is_free(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _taken(path: Path, by: Holder | None) -> Taken:
    if by is not None:
        return taken_by(by)
    return Taken(
        None,
        f"Another run holds {lock_path(path)}.",
        f"Wait for it with -lock-timeout; remove {note_path(path)} if no run is left.",
    )
