"""Whatever is written, loading ends soon, with an error at a place: no hang, no flood of memory."""

import os
from pathlib import Path

import pytest

from kplan.config.load import Configuration
from kplan.config.values.jsonvalue import Json
from tests.unit.config.folders import loaded


def of_local(folder: Path, expression: str) -> Configuration:
    return loaded(folder, {"main.tf": f"locals {{\n  it = {expression}\n}}\n"})


def output_of(folder: Path, expression: str) -> Json:
    found = loaded(folder, {"main.tf": f'output "it" {{\n  value = {expression}\n}}\n'})
    assert found.diagnostics == ()
    return found.outputs[0].value


@pytest.mark.parametrize("call", ['file("{}")', 'filesha256("{}")', 'templatefile("{}", {{}})'])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, call: str) -> None:
    """A pipe would be waited for without end, a device read without end."""
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", "/dev/zero"):
        (told,) = of_local(tmp_path, call.format(path)).diagnostics
        assert "is no regular file" in told.detail
        assert told.subject


def test_a_file_pattern_of_many_stars_is_searched_without_going_back(tmp_path: Path) -> None:
    (tmp_path / ("a" * 200)).touch()
    (tmp_path / "topics-eu.v1.yaml").touch()
    assert output_of(tmp_path, f'fileset(".", "{"*a" * 50}b")') == []
    assert output_of(tmp_path, 'fileset(".", "*s*-*.v?.y*")') == ["topics-eu.v1.yaml"]
    assert output_of(tmp_path, 'fileset(".", "t*.{yaml,yml}")') == ["topics-eu.v1.yaml"]


def test_choices_beside_many_stars_are_refused(tmp_path: Path) -> None:
    (told,) = of_local(tmp_path, 'fileset(".", "*a*b*c*{d,e}")').diagnostics
    assert "more than 3 stars" in told.detail


@pytest.mark.parametrize("typo", ["local_nme_731", "ocal_name_731", "local_name_7a31"])
def test_one_of_thousands_of_names_is_suggested(tmp_path: Path, typo: str) -> None:
    names = "".join(f"  local_name_{number} = 1\n" for number in range(3000))
    text = f'locals {{\n{names}}}\noutput "it" {{\n  value = local.{typo}\n}}\n'
    (told,) = loaded(tmp_path, {"main.tf": text}).diagnostics
    assert told.hint.startswith('Did you mean "local_name_')
