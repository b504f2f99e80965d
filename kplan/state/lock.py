"""The lock of a state file: an flock and a note of its holder; waiting and heartbeat."""

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateError, StateLockedError
from kplan.state.atomic_file import (
    make_private_folder,
    real_path,
    write_atomically,
    write_temporary,
)
from kplan.state.lock_holder import (
    LockHolder,
    decode_holder,
    encode_holder,
    is_dead,
    is_running,
    renew_heartbeat,
    seen_s_ago,
    silence_s,
)

HEARTBEAT_S = 10.0
MIN_SILENCE_S = 3 * HEARTBEAT_S
"""After this long without a heartbeat a run of this machine is over if its process is gone."""
_KILLED_SILENCE_S = 180.0
"""After this long a run elsewhere may have been killed.

It waits a minute for an object store without heartbeats, and two clocks differ.
"""
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_LONGEST_PAUSE_S = 16.0

_FULL = (errno.ENOSPC, errno.EDQUOT)
_ROOM = "Make room in that file system"
_WRITABLE = "The folder must be writable, on a file system with locks and hard links"

LockT = TypeVar("LockT")


@dataclass(frozen=True, slots=True)
class Lock:
    """A held lock. `previous_holder` is the dead one it was taken from."""

    holder: LockHolder
    previous_holder: LockHolder | None = None


@dataclass(frozen=True, slots=True)
class LockStatus:
    """`is_held` without `holder`: it is held, but the note of the holder is unreadable."""

    is_held: bool
    holder: LockHolder | None = None
    is_dead: bool = False


@dataclass(frozen=True, slots=True)
class LockConflict:
    """A held lock: `detail` describes the holder, `hint` the possible actions."""

    holder: LockHolder | None
    detail: str
    hint: str


def liveness_text(holder: LockHolder) -> str:
    """Say whether the run of a held lock is alive, as far as is known here; "" if nothing is."""
    if is_dead(holder):
        # Only records stay locked after that: two containers may share host and numbers.
        silent = silence_s(holder)
        left = 0 if silent is None else MIN_SILENCE_S - silent
        return "Its process has ended" + (
            f": the lock is free in {left:.0f} s." if left > 0 else "."
        )
    if is_running(holder):
        return "Its process is running."
    seen = seen_s_ago(holder)
    if seen is None:
        return ""
    if seen < _KILLED_SILENCE_S:
        return f"It was seen {seen:.0f} s ago."
    return f"It was not seen for {_span_text(seen)}: its process may have been killed."


def _span_text(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:.0f} seconds"


def lock_conflict(holder: LockHolder) -> LockConflict:
    """Describe a lock whose holder is known."""
    detail = f"Held by {holder}. Lock id: {holder.id}. {liveness_text(holder)}".rstrip()
    unlock = f"kplan force-unlock {holder.id}"
    is_local = is_running(holder) or is_dead(holder)
    if is_local or (seen_s_ago(holder) or 0) < _KILLED_SILENCE_S:
        way = f"Wait for it with -lock-timeout=60s; if that run is over for certain: {unlock}"
        return LockConflict(holder, detail, way)
    # No one releases the lock of a killed run on another machine: waiting does not help.
    finish = ", then kplan apply -resume" if holder.op in _JOURNALLED else ""
    return LockConflict(holder, detail, f"If that run is over for certain: {unlock}{finish}")


_JOURNALLED = frozenset(("apply", "destroy", "reconcile"))
"""What leaves a journal where it is killed."""


def lock_lost_error(now: LockHolder | None) -> StateLockedError:
    """Abort a run that lost its lock; `now` is the new holder."""
    whose = f"it is held by {now}" if now else "it is not locked"
    return StateLockedError(
        f"This run lost its lock; {whose}.",
        "Another user ran kplan force-unlock. Run kplan plan to see the current state.",
    )


def lock_taken_error(now: LockHolder | None) -> StateLockedError:
    """Abort a run before its first change, as another was faster; `now` holds the lock, if any."""
    whose = f" It is held by {now}." if now else ""
    return StateLockedError(
        f"Another run took the lock at the same time. This one changed nothing.{whose}",
        "Run it again, with -lock-timeout=60s to wait for the other one.",
    )


def acquire_lock(
    attempt: Callable[[], LockT | LockConflict],
    timeout_s: float,
    waiting: Callable[[LockHolder], None],
) -> LockT:
    """Try for up to `timeout_s` (0: once); `waiting` is reported once of each holder waited for.

    Raises:
        StateLockedError: someone still has it.

    """
    deadline = time.monotonic() + timeout_s
    pauses = chain(_PAUSES_S, repeat(_LONGEST_PAUSE_S))
    items: set[str] = set()
    while isinstance(found := attempt(), LockConflict):
        left = deadline - time.monotonic()
        if left <= 0:
            waited = f" Waited {timeout_s:g} s." if timeout_s > 0 else ""
            raise StateLockedError(f"{found.detail}{waited}", found.hint)
        if found.holder is not None and found.holder.id not in items:
            items.add(found.holder.id)
            waiting(found.holder)
        time.sleep(min(next(pauses), left))
    return found


@contextmanager
def run_heartbeat(beat: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call `beat` again and again in a thread of its own."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(every_s):
            beat()

    thread = threading.Thread(target=go_on, name="lock heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class _FileLock:
    descriptor: int
    previous_holder: LockHolder | None


@contextmanager
def lock_state_file(
    path: Path, holder: LockHolder, timeout_s: float, waiting: Callable[[LockHolder], None]
) -> Iterator[Lock]:
    """Hold the lock of the state at `path`, waiting for it up to `timeout_s` (0: not at all).

    `waiting` is reported who holds it, once for each holder that is waited for.

    Raises:
        StateLockedError: another run still holds it.
        StateError: no lock can be made in that folder.

    """
    held = acquire_lock(lambda: _try_lock(path, holder), timeout_s, waiting)
    try:
        with run_heartbeat(lambda: _write_heartbeat(path, holder, held.descriptor), HEARTBEAT_S):
            yield Lock(holder, held.previous_holder)
    finally:
        _release(path, holder, held.descriptor)


def check_held(path: Path, holder: LockHolder) -> None:
    """Check that `holder` still holds the lock of the state at `path`.

    Raises:
        StateLockedError: someone took it away.

    """
    if not _is_ours(path, holder):
        raise lock_lost_error(_read_note(path)[0])


def lock_status(path: Path) -> LockStatus:
    """Return the holder of the lock of the state at `path`; does not wait or change anything."""
    holder, is_noted = _read_note(path)
    if not _is_free(lock_path(path)):
        return LockStatus(is_held=True, holder=holder)
    over = holder is not None and is_dead(holder)
    return LockStatus(is_noted and not over, holder, over)


def force_unlock(path: Path, id: str) -> LockHolder:  # noqa: A002 - the word on the command line
    """Take the lock away from the run with this id, dead or alive, and return who that was.

    Raises:
        StateError: it is not locked, a run with another id does, or the files cannot be removed.

    """
    holder, is_noted = _read_note(path)
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
    """Return the file of the flock for the state at `path`."""
    target = real_path(path)
    if target.is_dir():
        raise StateError(f"{path} is to be the state file, and is a folder.")
    return target.with_suffix(".lock")


def note_path(path: Path) -> Path:
    """Return the file with the holder of the lock."""
    return lock_path(path).with_suffix(".lock.json")


def _try_lock(path: Path, holder: LockHolder) -> _FileLock | LockConflict:
    file = lock_path(path)
    try:
        make_private_folder(file.parent)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            found = _claim(path, holder, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as failure:
        raise StateError(
            f"The lock {file} cannot be made: {failure.strerror}.",
            f"{_ROOM if failure.errno in _FULL else _WRITABLE}; a plan and a drift also do "
            "without: -lock=false.",
        ) from failure
    if isinstance(found, LockConflict):
        os.close(descriptor)
    return found


def _claim(path: Path, holder: LockHolder, descriptor: int) -> _FileLock | LockConflict:
    """Take the flock and, under it, leave our note; a dead holder's note is replaced."""
    is_locked = _try_flock(descriptor, lock_path(path))
    before, is_noted = _read_note(path)
    if not is_locked:
        return _find_conflict(path, before)
    if is_noted:
        if before is None or not is_dead(before):
            return _find_conflict(path, before)
        note_path(path).unlink(missing_ok=True)
    if not _write_note(path, holder):
        return _find_conflict(path, _read_note(path)[0])
    return _FileLock(descriptor, before)


def _write_note(path: Path, holder: LockHolder) -> bool:
    temporary = write_temporary(note_path(path), encode_holder(holder))
    try:
        note_path(path).hardlink_to(temporary)
    except FileExistsError:  # another machine, with flocks of its own, was faster
        return False
    finally:
        temporary.unlink()
    return True


def _try_flock(descriptor: int, file: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # force_unlock may have put another file in place between opening and locking this one.
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), file.stat())
    return False


def _release(path: Path, holder: LockHolder, descriptor: int) -> None:
    # A note that cannot be removed is one of a dead process soon: the next run takes it over.
    with contextlib.suppress(OSError):
        if _is_ours(path, holder):
            note_path(path).unlink()
    os.close(descriptor)


def _write_heartbeat(path: Path, holder: LockHolder, descriptor: int) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end an apply
        if _is_ours(path, holder):
            write_atomically(note_path(path), encode_holder(renew_heartbeat(holder)))
            # force_unlock may have come between: it removes the flock's file first.
            if not _try_flock(descriptor, lock_path(path)) and _is_ours(path, holder):
                note_path(path).unlink()


def _is_ours(path: Path, holder: LockHolder) -> bool:
    found, _ = _read_note(path)
    return found is not None and found.id == holder.id


def _read_note(path: Path) -> tuple[LockHolder | None, bool]:
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


def _find_conflict(path: Path, by: LockHolder | None) -> LockConflict:
    if by is not None:
        return lock_conflict(by)
    return LockConflict(
        None,
        f"Another run holds {lock_path(path)}.",
        f"Wait for it with -lock-timeout; remove {note_path(path)} if no run is left.",
    )
