"""Files that kplan writes do not follow a link that a request placed (review S4, M6)."""

import os
import stat
import zipfile
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.model.place import link_target_outside, repository_root
from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (tmp_path / "victim").mkdir()
    return memory_command(folder, capsys, monkeypatch)


def test_a_link_is_looked_at_from_the_top_of_the_repository(
    desk: MemoryCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / ".git").mkdir()
    (desk.folder / "live").mkdir()
    (desk.folder / "shared").mkdir()
    monkeypatch.chdir(desk.folder / "live")
    assert repository_root(Path.cwd()) == desk.folder
    Path("state").symlink_to(desk.folder / "shared")
    assert link_target_outside(Path("state/kplan.json")) is None
    Path("out").symlink_to(tmp_path / "victim")
    assert link_target_outside(Path("out/p.kplan")) == tmp_path / "victim" / "p.kplan"
    assert link_target_outside(tmp_path / "victim" / "p.kplan") is None


@pytest.mark.parametrize("verb", ["plan", "apply", "state list"])
def test_a_state_folder_that_leads_out_of_the_repository_is_refused(
    desk: MemoryCommand, tmp_path: Path, verb: str
) -> None:
    (desk.folder / "state").symlink_to(tmp_path / "victim")
    assert run([*verb.split(), *(["-auto-approve"] if verb == "apply" else [])], {}) == 1
    assert "is a link out of the repository" in desk.capture.readouterr().err
    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.parametrize("option", ["-out=p", "-report=md=p", "-report=html=p"])
def test_an_output_file_that_is_a_link_out_of_the_repository_is_refused(
    desk: MemoryCommand, tmp_path: Path, option: str
) -> None:
    victim = tmp_path / "victim" / "file"
    victim.write_text("mine")
    (desk.folder / "p").symlink_to(victim)
    assert "is a link out of the repository" in desk.run_failing("plan", option)
    assert victim.read_text() == "mine"


def test_folders_of_kplan_are_for_their_owner_whatever_the_umask(desk: MemoryCommand) -> None:
    before = os.umask(0)
    try:
        desk.run("apply", "-auto-approve")
        desk.write(MAIN_TF.replace("86400000", "3600000"))
        desk.run("apply", "-auto-approve")
    finally:
        os.umask(before)
    for name in ("state", "state/backup"):
        assert stat.S_IMODE((desk.folder / name).stat().st_mode) == 0o700, name


def test_a_saved_plan_is_unpacked_within_a_bound(desk: MemoryCommand) -> None:
    """3 MB of zeros took 6 GiB."""
    with (
        zipfile.ZipFile(desk.folder / "bomb.kplan", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("plan.json", "w", force_zip64=True) as member,
    ):
        for _ in range(600):
            member.write(bytes(1 << 20))
    assert "unpacks to more than 512 MiB" in desk.run_failing("show", "bomb.kplan")
