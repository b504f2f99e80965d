"""`kplan reconcile` as somebody types it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from kplan.cli.apply.health_server import ServiceHealth
from kplan.cli.run import run
from kplan.state.file_store import FileStore
from kplan.state.lock_holder import current_holder
from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.run("apply", "-auto-approve")
    return found


@contextmanager
def terminated_after(seconds: float) -> Iterator[None]:
    """Get a SIGTERM after so many seconds."""
    timer = Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def locked_by_another(desk: MemoryCommand) -> Iterator[None]:
    store = FileStore(desk.folder / "state/kplan.json")
    with store.hold_lock(current_holder("apply"), 0, lambda _: None):
        yield


def test_rounds_that_find_the_same_are_told_once(desk: MemoryCommand) -> None:
    desk.write((desk.folder / "main.tf").read_text().replace("86400000", "3600000"))
    with terminated_after(3.5):
        said = desk.run("reconcile", "-interval=1s")
    assert said.count('Left for kplan apply: kafka_topic.t["orders"]') == 1
    assert said.count("Reconciled: ") == 1


def test_rounds_without_a_state_are_told_once(desk: MemoryCommand) -> None:
    for name in ("main.tf", "state/kplan.json"):
        (desk.folder / name).unlink()
    desk.write('provider "kafka" {\n  bootstrap_servers = ["localhost:9092"]\n}\n')
    with terminated_after(3.5):
        said = desk.run_failing("reconcile", "-interval=1s", code=0)
    assert said.count("No state found") == 1


def test_a_signal_ends_the_wait_of_a_service_for_the_lock(desk: MemoryCommand) -> None:
    begun = time.monotonic()
    with locked_by_another(desk), terminated_after(1):
        said = desk.run_failing("reconcile", "-lock-timeout=60s", code=0)
    assert said.endswith("Stopped.")
    assert time.monotonic() - begun < 10


def test_one_round_that_another_run_keeps_from_the_state_is_no_success(desk: MemoryCommand) -> None:
    with locked_by_another(desk):
        said = desk.run_failing("reconcile", "-once")
    assert "Error: The state is locked [KP921]" in said
    assert "-lock-timeout=60s" in said


def test_a_round_that_cannot_read_a_kind_says_which_and_why(desk: MemoryCommand) -> None:
    desk.cluster.deny_operation("DESCRIBE", "CLUSTER")
    said = desk.run_failing("reconcile", "-once")
    assert "Warning: Kind could not be read [KP234]" in said
    assert "kafka_acl objects could not be read: " in said


def test_a_round_that_reads_everything_has_nothing_to_explain(desk: MemoryCommand) -> None:
    assert not desk.run_failing("reconcile", "-once", code=0)


def test_a_round_without_a_state_says_that_it_adopts_and_what_may_be_lost(
    desk: MemoryCommand,
) -> None:
    (desk.folder / "state/kplan.json").unlink()
    said = desk.run_failing("reconcile", "-once", code=0)
    assert "No state found: kplan owns nothing here and will delete nothing." in said
    assert "3 declared objects on the cluster will be adopted." in said
    assert not desk.run_failing("reconcile", "-once", code=0), "it has a state again"


@pytest.mark.parametrize(("content", "leads"), [("", 1), ('\nresource "kafka_topic" {}\n', 0)])
def test_an_instance_whose_round_failed_did_not_lead_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, content: str, leads: int
) -> None:
    health = ServiceHealth()
    monkeypatch.setattr("kplan.cli.apply.reconcile.ServiceHealth", lambda: health)
    desk.write((desk.folder / "main.tf").read_text() + content)
    with terminated_after(0.7):
        assert run(("reconcile",), {}) == 0
    assert f"kplan_reconcile_leader {leads}\n" in health.metrics
