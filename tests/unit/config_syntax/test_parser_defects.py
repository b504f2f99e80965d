"""The fifteen known defects of python-hcl2 8.1.4 do not reach users (hcl.md section 1).

Values are those that Terraform 1.11.4 gave.
"""

from pathlib import Path

import pytest

from kplan.config.console import Console
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS
from tests.unit.config.load_helper import load_files

SCOPE = """
locals {
  x = "v"
  a = 10
  b = true
  l = [{ b = [{ c = 1 }, { c = 2 }] }, { b = [{ c = 3 }] }]
}
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    folder = tmp_path_factory.mktemp("defects")
    (folder / "main.tf").write_text(SCOPE, encoding="utf-8")
    return Console(folder, Inputs(), KINDS)


@pytest.mark.parametrize(
    ("row", "text", "value"),
    [
        (1, '"$${${local.x}}"', "${v}"),
        (1, '"$${a ${local.x}}"', "${a v}"),
        (2, '"a ${~ local.x ~} b"', "avb"),
        (3, '"${\n  local.x\n}"', "v"),
        (4, "(local.a\n - 3)", 7),
        (5, "(local.b\n # why\n && true)", True),
        (6, "(local.b # why\n && true)", True),
        (7, "5-12", -7),
        (7, "local.a -12", -2),
        (8, "--1", 1),
        (8, "!!local.b", True),
        (9, "/* c */ 1", 1),
        (9, "[1, /* c */ 2]", (1, 2)),
        (10, "<<EOT\nx\nEOT  \n", "x\n"),
        (11, "<<EOT\n\ta\n\nb\nEOT\n", "\ta\n\nb\n"),
        (11, "<<-EOT\n    a\n      b\n    EOT\n", "a\n  b\n"),
        (11, "<<EOT\nEOT\n", ""),
        (12, "local.l[*].b[*].c", ((1, 2), (3,))),
        (12, "local.l.*.b[0]", ({"c": 1}, {"c": 2})),
        (15, "+".join(["1"] * 1000), 1000),
    ],
)
def test_what_the_parser_gets_wrong_has_its_right_value(
    console: Console, row: int, text: str, value: object
) -> None:
    answer = console.evaluate_text(text)
    assert answer.diagnostics == (), row
    assert answer.value == value, row


@pytest.mark.parametrize(
    ("row", "text", "code", "place"),
    [
        (13, "x = {a=1 b=2}", "KP112", "2:10"),
        (13, "x = 1 y = 2", "KP111", "2:7"),
        (13, "x = 1\n+ 2", "KP102", "3:1"),
        (13, 'x = "a\nb"', "KP106", "2:7"),
        (13, r'x = "\q"', "KP108", "2:6"),
        (13, "x = 1\nx = 1", "KP113", "3:1"),
        (14, 'x = "open', "KP106", "2:10"),
        (15, "x = " + "(" * 1000 + "1" + ")" * 1000, "KP114", "2:104"),
    ],
)
def test_what_the_parser_wrongly_accepts_is_an_error_at_its_place(
    tmp_path: Path, row: int, text: str, code: str, place: str
) -> None:
    found = load_files(tmp_path, {"main.tf": f"locals {{\n{text}\n}}\n"})
    problem = found.diagnostics[0]
    assert (problem.code, str(problem.subject)) == (code, f"main.tf:{place}"), row


def test_comments_and_letters_of_any_alphabet_in_headers(tmp_path: Path) -> None:
    text = 'output /* why */ "größe" {\n  value = local.größe # so\n}\nlocals {\n  größe = 1\n}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert found.diagnostics == ()
    assert [(each.name, each.value) for each in found.outputs] == [("größe", 1)]


def test_a_template_is_no_label(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": 'output "${x}" {\n  value = 1\n}\n'})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP125", "main.tf:1:8")
    ]


def test_one_broken_block_does_not_hide_the_others(tmp_path: Path) -> None:
    text = 'locals {\n  a = "open\n}\noutput "x" {\n  value = 1\n}\nlocals {\n  b = [1,\n}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert [str(each.subject) for each in found.diagnostics] == ["main.tf:2:12", "main.tf:9:1"]
    assert [each.value for each in found.outputs] == [1]


def test_what_is_declared_in_a_broken_block_is_not_called_undeclared(tmp_path: Path) -> None:
    text = 'variable "x" {\n  default = [\n}\noutput "y" {\n  value = var.x\n}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP105"]
