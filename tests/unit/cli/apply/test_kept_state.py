"""A CI job does not apply with a state that goes with its checkout (review F1)."""

import subprocess
from pathlib import Path

import pytest

from kplan.cli.run import run
from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
CI = {"CI": "true"}


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", "-C", str(folder), *args], check=True, capture_output=True)


def told(desk: MemoryCommand) -> str:
    captured = desk.capture.readouterr()
    return " ".join((captured.out + captured.err).replace("│", " ").split())


@pytest.mark.parametrize("verb", ["apply", "destroy"])
def test_a_job_does_not_apply_with_a_state_that_is_lost_with_it(
    desk: MemoryCommand, verb: str
) -> None:
    assert run([verb, "-auto-approve"], CI) == 1
    said = told(desk)
    assert "which git does not track: it is lost with this CI job" in said
    assert 'state { backend = "kafka" }' in said
    assert not desk.cluster.topics()


def test_a_saved_plan_is_not_applied_so_either(desk: MemoryCommand) -> None:
    assert run(["plan", "-out=p.kplan"], CI) == 0
    said = told(desk)
    assert "Warning: The plan cannot be applied in a CI job [KP252]" in said
    assert 'hint: Store it with state { backend = "kafka" }' in said
    assert run(["plan"], CI) == run(["plan", "-out=p.kplan"], {}) == 0
    assert run(["plan", "-out=p.kplan", "-state=kept.json"], CI) == 0
    assert "KP252" not in told(desk)
    assert run(["plan", "-out=p.kplan"], CI) == 0
    told(desk)
    assert run(["apply", "p.kplan"], CI) == 1
    assert "which git does not track" in told(desk)


def test_a_state_that_git_tracks_is_applied_with(desk: MemoryCommand) -> None:
    git(desk.folder, "init", "-q")
    assert run(["apply", "-auto-approve"], {}) == 0
    desk.write(MAIN_TF.replace("86400000", "3600000"))
    assert run(["apply", "-auto-approve"], CI) == 1
    git(desk.folder, "add", "-A")
    assert run(["apply", "-auto-approve"], CI) == 0


@pytest.mark.parametrize("named", [("-state=disk.json",), ()])
def test_a_state_file_that_is_named_is_meant_to_be_kept(
    desk: MemoryCommand, named: tuple[str, ...]
) -> None:
    env = CI if named else {**CI, "KPLAN_STATE": "disk.json"}
    assert run(["apply", "-auto-approve", *named], env) == 0
    assert (desk.folder / "disk.json").exists()


def test_a_person_applies_with_a_file_as_ever(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    assert run(["apply", "-auto-approve"], {**CI, "KPLAN_DISABLE_CI_DETECTION": "true"}) == 0


def test_a_plan_without_a_state_says_before_all_else_that_it_deletes_nothing(
    desk: MemoryCommand,
) -> None:
    desk.run("apply", "-auto-approve")
    (desk.folder / "state" / "kplan.json").rename(desk.folder / "lost.json")
    shown = " ".join(desk.run("plan", "-report=md=plan.md").split())
    first = "No state found: kplan owns nothing here and will delete nothing."
    assert shown.index(first) < shown.index("to adopt")
    assert "kplan state rebuild" in shown
    assert first in (desk.folder / "plan.md").read_text()
    desk.run("apply", "-auto-approve")
    assert "No state found" not in desk.run("plan")


def test_a_new_project_on_an_empty_cluster_is_not_told_of_a_lost_state(desk: MemoryCommand) -> None:
    assert "No state found" not in desk.run("plan")


def test_drift_without_a_state_is_an_error(desk: MemoryCommand) -> None:
    """It said "No drift" for ever where every job had lost the state."""
    assert run(["drift"], {}) == 1
    said = told(desk)
    assert "There is no state in state/kplan.json: kplan owns nothing here" in said
    assert "kplan state rebuild" in said
    desk.run("apply", "-auto-approve")
    desk.run("drift")
