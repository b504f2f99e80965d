"""Trouble on purpose."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.model.errors import SandboxError
from kplan.sandbox import fault, lifecycle
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import read_status, start_sandbox, stop_sandbox
from kplan.sandbox.process import ProcessState
from kplan.sandbox.sandbox import read_sandbox
from tests.unit.sandbox.fake_kafka import FakeKafka


@pytest.fixture
def kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    fake = FakeKafka(tmp_path / "java")
    for module in (lifecycle,):
        monkeypatch.setattr(module, "prepare_runtime", lambda *_: fake.kit)
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "sandbox"
    stop_sandbox(tmp_path / "sandbox", grace_s=0)


@pytest.mark.usefixtures("kafka")
def test_a_node_is_paused_and_resumed_and_restarted(folder: Path) -> None:
    before = start_sandbox(folder, SandboxSpec(brokers=2))
    fault.pause(folder, 1)
    assert read_status(folder).nodes[1] is ProcessState.PAUSED
    fault.resume(folder, 1)
    fault.kill(folder, 1)
    after = fault.restart(folder, 1)
    assert read_status(folder).is_running
    assert after.processes[1] != before.processes[1]
    assert after.processes[2] == before.processes[2]
    assert after.nodes == before.nodes
    assert read_sandbox(folder) == after


def test_a_restart_waits_for_the_new_process_not_for_the_old_ones_words(
    kafka: FakeKafka, folder: Path
) -> None:
    start_sandbox(folder, SandboxSpec())
    kafka.tell("hang")
    with pytest.raises(SandboxError, match="Not serving"):
        fault.restart(folder, 1, timeout_s=0.2)
    assert read_status(folder).nodes == {1: ProcessState.ENDED}


@pytest.mark.usefixtures("kafka")
def test_trouble_needs_a_sandbox_and_a_node_of_it(folder: Path) -> None:
    with pytest.raises(SandboxError, match="no sandbox"):
        fault.kill(folder, 1)
    start_sandbox(folder, SandboxSpec())
    with pytest.raises(SandboxError, match="no node 2"):
        fault.pause(folder, 2)
    stop_sandbox(folder)
    with pytest.raises(SandboxError, match="Node 1 of the sandbox was not started"):
        fault.kill(folder, 1)
