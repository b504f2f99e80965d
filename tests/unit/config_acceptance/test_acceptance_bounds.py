"""Whatever is written, loading ends soon, with an error at a place: no hang, no flood of memory."""

import os
from pathlib import Path

import pytest

from kplan.config.evaluation.scope import IterationLimit
from kplan.config.load import Configuration
from kplan.config.values.value_text import Json
from tests.unit.config.load_helper import load_files


def load_local(folder: Path, expression: str) -> Configuration:
    return load_files(folder, {"main.tf": f"locals {{\n  it = {expression}\n}}\n"})


def output_of(folder: Path, expression: str) -> Json:
    found = load_files(folder, {"main.tf": f'output "it" {{\n  value = {expression}\n}}\n'})
    assert found.diagnostics == ()
    return found.outputs[0].value


@pytest.mark.parametrize("call", ['file("{}")', 'filesha256("{}")', 'templatefile("{}", {{}})'])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, call: str) -> None:
    """A pipe would be waited for without end, a device read without end."""
    os.mkfifo(tmp_path / "pipe")
    for path, why in (("pipe", "is not a regular file"), ("/dev/zero", "is of the system")):
        (told,) = load_local(tmp_path, call.format(path)).diagnostics
        assert why in told.detail
        assert told.subject


@pytest.mark.parametrize("path", ["/proc/self/environ", "link", "/sys/kernel/notes"])
def test_the_environment_of_the_process_is_no_configuration(tmp_path: Path, path: str) -> None:
    """Review B4: a job's token went into the comment of its pull request."""
    (tmp_path / "link").symlink_to("/proc/self/environ")
    (told,) = load_local(tmp_path, f'filebase64("{path}")').diagnostics
    assert "is of the system and not read into a configuration" in told.detail


def test_a_file_pattern_of_many_stars_is_searched_without_going_back(tmp_path: Path) -> None:
    (tmp_path / ("a" * 200)).touch()
    (tmp_path / "topics-eu.v1.yaml").touch()
    assert output_of(tmp_path, f'fileset(".", "{"*a" * 50}b")') == []
    assert output_of(tmp_path, 'fileset(".", "*s*-*.v?.y*")') == ["topics-eu.v1.yaml"]
    assert output_of(tmp_path, 'fileset(".", "t*.{yaml,yml}")') == ["topics-eu.v1.yaml"]


def test_choices_beside_many_stars_are_refused(tmp_path: Path) -> None:
    (told,) = load_local(tmp_path, 'fileset(".", "*a*b*c*{d,e}")').diagnostics
    assert "more than 3 stars" in told.detail


@pytest.mark.parametrize("typo", ["local_nme_731", "ocal_name_731", "local_name_7a31"])
def test_one_of_thousands_of_names_is_suggested(tmp_path: Path, typo: str) -> None:
    names = "".join(f"  local_name_{number} = 1\n" for number in range(3000))
    text = f'locals {{\n{names}}}\noutput "it" {{\n  value = local.{typo}\n}}\n'
    (told,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert told.hint.startswith('Did you mean "local_name_')


@pytest.mark.parametrize(
    "expression",
    [
        "length([for a in range(100) : [for b in range(100) : [for c in range(100) : a]]])",
        'templatefile("loops.tftpl", { some = range(100) })',
        "try([for a in range(100) : [for b in range(100) : [for c in range(100) : a]]], 1)",
    ],
)
def test_loops_inside_loops_end_where_they_go_round_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    monkeypatch.setattr(
        "kplan.config.modules.root_module.IterationLimit", lambda: IterationLimit(20_000)
    )
    round_ = "%{ for a in some }%{ for b in some }%{ for c in some }x%{ endfor }%{ endfor }"
    (tmp_path / "loops.tftpl").write_text(f"{round_}%{{ endfor }}", encoding="utf-8")
    (told,) = load_local(tmp_path, expression).diagnostics
    assert "go round more than" in told.detail


def test_a_module_that_calls_itself_is_told_at_the_first_call(tmp_path: Path) -> None:
    """By whatever way: ten calls, thirty-two deep, would never end."""
    calls = "".join(f'module "m{n}" {{\n  source = "../b/link"\n}}\n' for n in range(10))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "link").symlink_to("../a")
    files = {"main.tf": 'module "a" {\n  source = "./a"\n}\n', "a/main.tf": calls}
    problems = load_files(tmp_path, files).diagnostics
    assert {each.code for each in problems} == {"KP145"}
    assert {each.subject.file for each in problems if each.subject} == {"a/main.tf"}
    assert len(problems) == 10


def test_an_empty_module_folder_is_told_where_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (told,) = load_files(
        tmp_path, {"main.tf": 'module "a" {\n  source = "./empty"\n}\n'}
    ).diagnostics
    assert str(told.subject) == "main.tf:2:12"
