"""Processes are told apart from others with the same number."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kplan.sandbox import process
from kplan.sandbox.process import (
    Process,
    ProcessState,
    end_processes,
    hold_signals,
    is_alive,
    process_state,
    send_signal,
    spawn,
)


def sleeper(tmp_path: Path, script: str = "exec sleep 600") -> Process:
    return spawn(("/bin/sh", "-c", script), tmp_path / "out")


def until(wanted: ProcessState, of: Process) -> None:
    deadline = time.monotonic() + 5
    while process_state(of) is not wanted:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_runs_pauses_goes_on_and_ends(tmp_path: Path) -> None:
    started = sleeper(tmp_path)
    assert process_state(started) is ProcessState.RUNNING
    assert send_signal(started, signal.SIGSTOP)
    until(ProcessState.PAUSED, started)
    assert is_alive(started)
    assert send_signal(started, signal.SIGCONT)
    until(ProcessState.RUNNING, started)
    end_processes([started], grace_s=5)
    assert process_state(started) is ProcessState.ENDED
    assert not send_signal(started, signal.SIGTERM)


def test_its_output_goes_to_a_file_for_its_owner(tmp_path: Path) -> None:
    started = sleeper(tmp_path, "echo out; echo err >&2")
    until(ProcessState.ENDED, started)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "out\nerr\n"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


def test_it_is_in_a_session_of_its_own(tmp_path: Path) -> None:
    """A terminal's Ctrl-C does not reach it."""
    started = sleeper(tmp_path)
    assert os.getsid(started.pid) == started.pid
    end_processes([started], grace_s=0)


def test_a_process_that_got_a_dead_ones_number_is_left_alone(tmp_path: Path) -> None:
    stranger = sleeper(tmp_path)
    ours = Process(stranger.pid, "another time")
    assert process_state(ours) is ProcessState.ENDED
    assert not send_signal(ours, signal.SIGKILL)
    end_processes([ours], grace_s=0)
    assert is_alive(stranger)
    end_processes([stranger], grace_s=0)


def test_one_that_ignores_the_wish_is_killed_after_the_grace(tmp_path: Path) -> None:
    stubborn = sleeper(tmp_path, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    while not (tmp_path / "out").read_text(encoding="utf-8"):
        time.sleep(0.01)
    before = time.monotonic()
    end_processes([stubborn], grace_s=0.3)
    assert 0.3 <= time.monotonic() - before < 5
    assert not is_alive(stubborn)


def test_a_paused_process_hears_the_wish_to_end(tmp_path: Path) -> None:
    paused = sleeper(tmp_path)
    send_signal(paused, signal.SIGSTOP)
    before = time.monotonic()
    end_processes([paused], grace_s=10)
    assert time.monotonic() - before < 5
    assert not is_alive(paused)


def test_signals_wait_while_processes_are_noted() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    try:
        with pytest.raises(KeyboardInterrupt):
            _interrupted_inside()
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted_inside() -> None:
    noted = False
    try:
        with hold_signals():
            os.kill(os.getpid(), signal.SIGINT)
            noted = True
    finally:
        assert noted


def test_a_child_does_not_inherit_the_hold(tmp_path: Path) -> None:
    with hold_signals():
        started = sleeper(tmp_path)
    before = time.monotonic()
    end_processes([started], grace_s=10)
    assert time.monotonic() - before < 5


def test_where_there_is_no_proc_ps_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROC_FOLDER", Path("/nowhere"))
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        if not Path("/bin/ps").exists():
            pytest.skip("no ps here")
        first, second = process._read_status(child.pid), process._read_status(child.pid)
        assert first is not None
        assert second is not None
        assert first.began == second.began
    assert process._read_status(child.pid) is None
