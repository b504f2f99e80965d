"""A sandbox that is lent to a test never outlives it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kplan.sandbox import lifecycle
from kplan.sandbox.lifecycle import read_status, temporary_sandbox
from kplan.sandbox.process import is_alive
from kplan.sandbox.sandbox import Sandbox, read_sandbox
from tests.unit.sandbox.fake_kafka import FakeKafka

PRELUDE = """
import sys, time
from pathlib import Path
from kplan.sandbox import lifecycle
from tests.unit.sandbox.fake_kafka import FakeKafka
fake = FakeKafka(Path(sys.argv[1]))
lifecycle.prepare_runtime = lambda *_: fake.kit
"""
BORROW = f"""{PRELUDE}
with lifecycle.temporary_sandbox() as sandbox:
    print(sandbox.folder, flush=True)
    time.sleep(600)
"""
HANG = f"""{PRELUDE}
fake.tell("hang")
lifecycle.start_sandbox(Path(sys.argv[2]), lifecycle.SandboxSpec())
"""


def recorded(folder: Path) -> Sandbox:
    """Wait until the processes of a sandbox are on record."""
    deadline = time.monotonic() + 20
    while not (found := read_sandbox(folder)) or not found.processes:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_it_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeKafka(tmp_path / "java")
    monkeypatch.setattr(lifecycle, "prepare_runtime", lambda *_: fake.kit)
    with temporary_sandbox() as sandbox:
        assert read_status(sandbox.folder).is_running
    assert not is_alive(sandbox.processes[1])
    assert not sandbox.folder.exists()


def test_it_is_gone_when_its_borrower_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BORROW, str(tmp_path / "java")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as borrower:
        assert borrower.stdout is not None
        sandbox = recorded(Path(borrower.stdout.readline().strip()))
        borrower.kill()
    deadline = time.monotonic() + 10
    while sandbox.folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not sandbox.folder.exists()
    assert not is_alive(sandbox.processes[1])


def test_ctrl_c_during_the_start_leaves_no_process(tmp_path: Path) -> None:
    folder = tmp_path / "sandbox"
    command = [sys.executable, "-c", HANG, str(tmp_path / "java"), str(folder)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as starter:
        sandbox = recorded(folder)
        starter.send_signal(signal.SIGINT)
    assert not any(is_alive(each) for each in sandbox.processes.values())
