"""`kplan reconcile` as somebody types it."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.run("apply", "-auto-approve")
    return found


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
