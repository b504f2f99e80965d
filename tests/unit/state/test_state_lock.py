"""The lock: one run at a time, and nobody locked out by the dead."""

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kplan.model.errors import StateError, StateLockedError
from kplan.state import lock
from kplan.state.atomic_file import write_atomically, write_temporary
from kplan.state.lock import (
    Lock,
    LockStatus,
    force_unlock,
    lock_path,
    lock_state_file,
    lock_status,
    note_path,
)
from kplan.state.lock_holder import (
    LockHolder,
    current_holder,
    decode_holder,
    encode_holder,
    is_dead,
)
from tests.unit.state.state_faults import files_limited_to, small_disk
from tests.unit.state.state_processes import PROCESSES, contend, hold


def at_once(path: Path, holder: LockHolder) -> AbstractContextManager[Lock]:
    return lock_state_file(path, holder, 0, lambda _: None)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another process that holds the lock."""

    holder: LockHolder
    end: Callable[[], None]
    kill: Callable[[], None]


@contextmanager
def held_elsewhere(path: Path) -> Iterator[Elsewhere]:
    said, say = PROCESSES.Pipe(duplex=False)
    listen, speak = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=hold, args=(path, say, listen), daemon=True)
    process.start()

    def end() -> None:
        speak.send("end")
        process.join()

    def kill() -> None:
        process.kill()
        process.join()

    with said, say, listen, speak:
        try:
            yield Elsewhere(said.recv(), end, kill)
        finally:
            kill()
            process.close()


def test_a_held_lock_says_who_holds_it_and_a_released_one_is_free(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert lock_status(path) == LockStatus(is_held=False)
    holder = current_holder("apply", cluster_id="cluster-1")
    with at_once(path, holder) as held:
        assert held == Lock(holder)
        assert lock_status(path) == LockStatus(is_held=True, holder=holder)
        note = json.loads(note_path(path).read_text())
        assert note["format"] == 1
        assert (note["pid"], note["op"]) == (os.getpid(), "apply")
        assert note_path(path).stat().st_mode & 0o777 == 0o600
    assert lock_status(path) == LockStatus(is_held=False)
    assert [each.name for each in tmp_path.iterdir()] == ["state.lock"]


def test_the_lock_is_released_when_the_run_fails(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt), at_once(path, current_holder("apply")):
        raise KeyboardInterrupt
    with at_once(path, current_holder("apply")):
        pass


def test_a_second_run_without_patience_fails_at_once_and_says_who_holds_the_lock(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    with held_elsewhere(path) as other:
        with pytest.raises(StateLockedError) as caught, at_once(path, current_holder("plan")):
            pass
        by = other.holder
        for word in ("apply by", f"pid {by.pid}", "https://ci/run/7", by.id, by.created):
            assert word in caught.value.detail
        assert "Waited" not in caught.value.detail
        assert f"kplan force-unlock {by.id}" in caught.value.hint


def test_a_second_run_waits_for_the_first_and_is_told_once_who_that_is(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    told: list[LockHolder] = []
    with held_elsewhere(path) as other:

        def waiting(by: LockHolder) -> None:
            told.append(by)
            threading.Timer(0.3, other.end).start()

        with lock_state_file(path, current_holder("apply"), 60, waiting) as held:
            assert held.previous_holder is None
        assert told == [other.holder]


def test_waiting_ends_with_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with held_elsewhere(path):
        started = time.monotonic()
        with (
            pytest.raises(StateLockedError, match=r"Waited 0\.4 s"),
            lock_state_file(path, current_holder("apply"), 0.4, lambda _: None),
        ):
            pass
        assert time.monotonic() - started >= 0.4


def test_processes_that_contend_for_the_lock_never_overlap(tmp_path: Path) -> None:
    path, log = tmp_path / "state.json", tmp_path / "log"
    runs = [PROCESSES.Process(target=contend, args=(path, log, 5)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
        assert run.exitcode == 0
        run.close()
    assert log.read_text() == "in\nout\n" * 15


def test_threads_of_one_process_exclude_each_other_too(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with (
        at_once(path, current_holder("apply")),
        pytest.raises(StateLockedError),
        at_once(path, current_holder("x")),
    ):
        pass


def test_the_lock_of_a_killed_process_is_taken_over_and_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with held_elsewhere(path) as other:
        other.kill()
        assert lock_status(path) == LockStatus(is_held=False, holder=other.holder, is_dead=True)
        ours = current_holder("apply")
        with at_once(path, ours) as held:
            assert held == Lock(ours, previous_holder=other.holder)
        assert lock_status(path) == LockStatus(is_held=False)


def leave_note(path: Path, holder: LockHolder) -> None:
    path.parent.mkdir(exist_ok=True)
    note_path(path).write_bytes(encode_holder(holder))


def test_a_run_on_another_machine_is_never_taken_for_dead(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    afar = replace(
        current_holder("apply"), host="elsewhere", boot_id="other", heartbeat="2001-01-01"
    )
    leave_note(path, afar)
    assert lock_status(path) == LockStatus(is_held=True, holder=afar)
    with (
        pytest.raises(StateLockedError, match="@elsewhere"),
        at_once(path, current_holder("apply")),
    ):
        pass


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        ({}, False),
        ({"started": "1"}, True),  # the number was given to another process
        ({"started": ""}, False),
        ({"pid": 2**22 + 1}, True),
        ({"boot_id": "before", "heartbeat": 120}, True),
        ({"boot_id": "before", "heartbeat": 5}, False),  # a namesake that is alive
        ({"boot_id": "before", "heartbeat": -86400}, True),  # the clock was moved back
        ({"heartbeat": -86400}, False),  # this very process
        ({"boot_id": "before", "heartbeat": "?"}, False),
        ({"boot_id": "before", "heartbeat": "", "created": 120}, True),
        ({"host": "elsewhere", "pid": 2**22 + 1, "heartbeat": 9999}, False),
    ],
)
def test_only_a_run_that_is_provably_over_counts_as_dead(
    change: dict[str, object], *, dead: bool
) -> None:
    """Times are given as seconds ago."""
    for name in change.keys() & {"heartbeat", "created"}:
        if isinstance(seconds := change[name], int):
            change = {**change, name: ago(seconds)}
    assert is_dead(replace(current_holder("apply"), **change)) is dead  # type: ignore[arg-type]


def test_a_system_without_proc_proves_death_by_the_process_id_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kplan.state.lock_holder._PROC", tmp_path)
    monkeypatch.setattr("kplan.state.lock_holder._BOOT_ID", tmp_path / "boot_id")
    holder = current_holder("apply")
    assert (holder.boot_id, holder.started) == ("", "")
    assert not is_dead(holder)
    assert not is_dead(replace(holder, pid=1))
    assert is_dead(replace(holder, pid=2**22 + 1))

    def forbidden(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    assert not is_dead(holder)  # a process of somebody else is a process


def test_a_process_that_ended_unnoticed_by_its_parent_is_dead() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        holder = replace(current_holder("apply"), pid=child.pid, started="")
        assert not is_dead(holder)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert is_dead(holder)


def test_a_process_that_hides_its_start_counts_as_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = current_holder("apply")
    (tmp_path / "self").touch()
    (tmp_path / str(os.getpid()) / "stat").mkdir(parents=True)
    monkeypatch.setattr("kplan.state.lock_holder._PROC", tmp_path)
    assert not is_dead(holder)


@pytest.mark.parametrize("leave", [lambda note: note.write_bytes(b"{}"), Path.mkdir])
def test_a_note_that_cannot_be_read_still_locks(
    tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    path = tmp_path / "state.json"
    leave(note_path(path))
    assert lock_status(path) == LockStatus(is_held=True)
    with pytest.raises(StateLockedError) as caught, at_once(path, current_holder("apply")):
        pass
    assert str(note_path(path)) in caught.value.hint
    with pytest.raises(StateError) as refused:
        force_unlock(path, "x")
    assert str(note_path(path)) in refused.value.hint


def test_a_lock_that_cannot_be_opened_counts_as_held_and_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    holder = current_holder("apply")
    leave_note(path, holder)
    lock_path(path).mkdir()

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(StateError, match="cannot be removed"):
        force_unlock(path, holder.id)
    monkeypatch.setattr(os, "open", refuse)
    assert lock_status(path).is_held


def test_force_unlock_asks_for_the_right_id(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(StateError, match="not locked"):
        force_unlock(path, "x")
    afar = replace(current_holder("apply"), host="elsewhere")
    leave_note(path, afar)
    with pytest.raises(StateError, match=afar.id):
        force_unlock(path, "x")
    assert force_unlock(path, afar.id) == afar
    with at_once(path, current_holder("apply")):
        pass


def test_force_unlock_frees_the_lock_of_a_live_process_and_its_end_harms_nobody(
    tmp_path: Path,
) -> None:
    """Terraform cannot do this: its lock is on the state file itself."""
    path = tmp_path / "state.json"
    with held_elsewhere(path) as other:
        force_unlock(path, other.holder.id)
        ours = current_holder("apply")
        with at_once(path, ours):
            other.end()
            assert lock_status(path) == LockStatus(is_held=True, holder=ours)


def test_a_waiting_run_notices_that_the_file_it_waits_for_was_replaced(tmp_path: Path) -> None:
    file = tmp_path / "state.lock"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
    file.unlink()
    assert not lock._try_flock(descriptor, file)
    file.touch()
    assert not lock._try_flock(descriptor, file)
    os.close(descriptor)


def test_the_heartbeat_goes_on_while_the_lock_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_S", 0.01)
    path = tmp_path / "state.json"
    holder = replace(current_holder("apply"), heartbeat="2001-01-01T00:00:00Z")
    with at_once(path, holder):
        deadline = time.monotonic() + 5
        while lock_status(path).holder == holder and time.monotonic() < deadline:
            time.sleep(0.01)
        seen = lock_status(path).holder
        assert seen is not None
        assert seen.heartbeat > "2025"
        force_unlock(path, holder.id)
        time.sleep(0.05)
        assert not note_path(path).exists()  # a lock that was taken away is not taken back


def test_a_lock_that_is_taken_away_during_a_heartbeat_is_not_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_S", 0.01)
    path, holder = tmp_path / "state.json", current_holder("apply")
    came_between = threading.Event()

    def write_late(note: Path, data: bytes) -> None:
        if not came_between.is_set():
            force_unlock(path, holder.id)
        write_atomically(note, data)
        came_between.set()

    with at_once(path, holder):
        monkeypatch.setattr(lock, "write_atomically", write_late)
        assert came_between.wait(5)
        time.sleep(0.05)
        assert not note_path(path).exists()


def test_a_folder_that_takes_no_lock_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StateError, match="cannot be made"),
        at_once(tmp_path / "file" / "state.json", current_holder("apply")),
    ):
        pass
    lock_path(tmp_path / "state.json").mkdir()
    with (
        pytest.raises(StateError, match="cannot be made"),
        at_once(tmp_path / "state.json", current_holder("apply")),
    ):
        pass


def test_another_machine_that_is_faster_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where flocks are not shared, the hard link decides; only one can be first."""
    path = tmp_path / "state.json"
    afar = replace(current_holder("apply"), host="elsewhere")

    def slow(note: Path, data: bytes) -> Path:
        leave_note(path, afar)
        return write_temporary(note, data)

    monkeypatch.setattr(lock, "write_temporary", slow)
    with (
        pytest.raises(StateLockedError, match="@elsewhere"),
        at_once(path, current_holder("apply")),
    ):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["state.lock", "state.lock.json"]


def test_the_lock_lies_beside_the_file_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "state.json")
    assert lock_path(tmp_path / "link.json") == tmp_path / "real" / "state.lock"


def test_a_holder_is_read_as_written_and_later_fields_are_ignored() -> None:
    holder = current_holder("apply", ci="https://ci/1")
    assert decode_holder(encode_holder(holder)) == holder
    more = {**json.loads(encode_holder(holder)), "format": 2, "later": True}
    assert decode_holder(json.dumps(more).encode()) == holder
    assert holder.host == socket.gethostname()


@pytest.mark.parametrize("text", ["", "[]", "nothing", "[" * 100_000])
def test_what_is_no_note_of_a_holder_names_none(text: str) -> None:
    assert decode_holder(text.encode()) is None


def test_a_user_without_a_name_is_named_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError

    monkeypatch.setattr("getpass.getuser", nameless)
    assert current_holder("apply").who == f"uid {os.getuid()}"


def test_a_full_disk_makes_no_lock_and_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with (
        files_limited_to(10),
        pytest.raises(StateError, match="cannot be made"),
        at_once(path, current_holder("apply")),
    ):
        pass
    assert lock_status(path) == LockStatus(is_held=False)
    assert [each.name for each in tmp_path.iterdir()] == ["state.lock"]


def test_a_full_disk_without_a_lock_needs_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 8192):
        with suppress(OSError):
            (disk / "other").write_bytes(bytes(16384))
        with (
            pytest.raises(StateError, match="No space left on device") as caught,
            at_once(disk / "state.json", current_holder("apply")),
        ):
            pass
    assert caught.value.hint.startswith("Make room in that file system")


@pytest.mark.parametrize("folder", ["/", "."])
def test_a_folder_is_no_state_file(folder: str) -> None:
    """Of "/" not even the name of a lock can be made."""
    with pytest.raises(StateError, match="is to be the state file, and is a folder"):
        lock_path(Path(folder))
