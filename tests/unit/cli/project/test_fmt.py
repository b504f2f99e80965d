"""`kplan fmt` in this process."""

import io
import sys
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.state.state_faults import files_limited_to

LOOSE = "locals {\na=1\n  bb   =  2\n}\n"
NEAT = "locals {\n  a  = 1\n  bb = 2\n}\n"


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    (tmp_path / "main.tf").unlink()
    return found


def test_files_are_laid_out_and_named(desk: MemoryCommand) -> None:
    desk.write(LOOSE, "loose.tf")
    desk.write("a=1", "x.auto.tfvars")
    desk.write(NEAT, "neat.hcl")
    desk.write("a=1", ".hidden.tf")
    desk.write("a=1", "notes.txt")
    assert desk.run("fmt") == "loose.tf\nx.auto.tfvars\n"
    assert (desk.folder / "loose.tf").read_text() == NEAT
    assert (desk.folder / "x.auto.tfvars").read_text() == "a = 1"
    assert (desk.folder / ".hidden.tf").read_text() == "a=1"
    assert desk.run("fmt") == ""


def test_a_check_writes_nothing_and_exits_with_3_as_terraform_does(desk: MemoryCommand) -> None:
    desk.write(LOOSE, "loose.tf")
    assert desk.run("fmt", "-check", code=3) == "loose.tf\n"
    assert desk.run("fmt", "-check", "-list=false", code=3) == ""
    assert (desk.folder / "loose.tf").read_text() == LOOSE
    desk.write(NEAT, "loose.tf")
    assert desk.run("fmt", "-check") == ""


def test_a_file_that_cannot_be_written_is_named_and_stays(desk: MemoryCommand) -> None:
    desk.write(LOOSE, "loose.tf")
    with files_limited_to(3):
        said = desk.run_failing("fmt")
    assert "loose.tf cannot be written: File too large. It is as it was." in said
    assert (desk.folder / "loose.tf").read_text() == LOOSE


def test_a_diff_is_that_of_diff_u(desk: MemoryCommand) -> None:
    desk.write("a=1\n", "a.tf")
    wanted = "a.tf\n--- old/a.tf\n+++ new/a.tf\n@@ -1 +1 @@\n-a=1\n+a = 1\n"
    assert desk.run("fmt", "-diff", "-write=false") == wanted
    assert (desk.folder / "a.tf").read_text() == "a=1\n"
    desk.write("a=1", "a.tf")
    end = "\\ No newline at end of file"
    assert f"-a=1\n{end}\n+a = 1\n{end}\n" in desk.run("fmt", "-diff", "-check", code=3)


def test_without_list_and_write_the_text_itself_is_shown(desk: MemoryCommand) -> None:
    desk.write(LOOSE, "loose.tf")
    assert desk.run("fmt", "-list=false", "-write=false") == NEAT


def test_folders_inside_are_gone_into_only_when_asked(desk: MemoryCommand) -> None:
    (desk.folder / "inner" / ".terraform").mkdir(parents=True)
    desk.write(LOOSE, "inner/a.tf")
    desk.write(LOOSE, "inner/.terraform/a.tf")
    assert desk.run("fmt") == ""
    assert desk.run("fmt", "-recursive") == "inner/a.tf\n"
    desk.write(LOOSE, "inner/a.tf")
    assert desk.run("fmt", "inner") == "inner/a.tf\n"
    assert desk.run("fmt", "inner/a.tf") == ""


def test_a_mistake_in_one_file_leaves_it_and_does_not_stop_the_others(desk: MemoryCommand) -> None:
    desk.write("locals {\na=\n}\n", "bad.tf")
    desk.write(LOOSE, "loose.tf")
    assert "A value is expected" in desk.run_failing("fmt")
    assert (desk.folder / "bad.tf").read_text() == "locals {\na=\n}\n"
    assert (desk.folder / "loose.tf").read_text() == NEAT


def test_what_is_not_there_or_no_such_file_is_told(desk: MemoryCommand) -> None:
    assert "There is no file or folder nope.tf" in desk.run_failing("fmt", "nope.tf")
    desk.write("a", "a.txt")
    assert "only .tf, .hcl, .tfvars files" in desk.run_failing("fmt", "a.txt")


def test_a_file_keeps_its_mode_and_its_links(desk: MemoryCommand) -> None:
    desk.write(LOOSE, "real.tf")
    (desk.folder / "real.tf").chmod(0o640)
    (desk.folder / "link.tf").symlink_to("real.tf")
    desk.run("fmt", "link.tf")
    assert (desk.folder / "link.tf").is_symlink()
    assert (desk.folder / "real.tf").read_text() == NEAT
    assert (desk.folder / "real.tf").stat().st_mode & 0o777 == 0o640


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))


def test_what_is_piped_in_comes_out_laid_out(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, 'a="é"\r\nbb=2'.encode())
    assert desk.run("fmt", "-") == 'a  = "é"\r\nbb = 2'
    piped(monkeypatch, b"a=1\n")
    assert desk.run("fmt", "-check", "-", code=3) == ""
    piped(monkeypatch, b"a=1\n")
    assert desk.run("fmt", "-diff", "-").startswith("--- old/<stdin>\n")
    piped(monkeypatch, b"a = {\n")
    assert "<stdin> line 1" in desk.run_failing("fmt", "-")
    piped(monkeypatch, b"\xff")
    assert "byte 0" in desk.run_failing("fmt", "-")
