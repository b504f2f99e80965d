"""Values of variables: where they come from, and which of them wins."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.config.inputs import Inputs, VariableText
from tests.unit.config.load_helper import load_files

ONE = 'variable "x" {\n  type = string\n}\noutput "x" {\n  value = var.x\n}\n'


def value_of_x(folder: Path, files: dict[str, str], inputs: Inputs) -> object:
    found = load_files(folder, {"main.tf": ONE, **files}, inputs)
    assert found.diagnostics == ()
    return found.outputs[0].value


def test_each_source_beats_the_one_before(tmp_path: Path) -> None:
    """As in Terraform: environment, tfvars, auto.tfvars by name, then the command line."""
    environ = {"TF_VAR_x": "terraform"}
    steps: list[tuple[str, dict[str, str], Inputs]] = []
    files: dict[str, str] = {}
    steps.append(("terraform", dict(files), Inputs(environ=environ)))
    environ = {**environ, "KPLAN_VAR_x": "kplan"}
    steps.append(("kplan", dict(files), Inputs(environ=environ)))
    for name, text, wanted in (
        ("terraform.tfvars", 'x = "tfvars"', "tfvars"),
        ("terraform.tfvars.json", '{"x": "json"}', "json"),
        ("a.auto.tfvars", 'x = "a"', "a"),
        ("b.auto.tfvars.json", '{"x": "b"}', "b"),
    ):
        files[name] = text
        steps.append((wanted, dict(files), Inputs(environ=environ)))
    var_file = tmp_path / "prod.tfvars"
    var_file.write_text('x = "file"\n', encoding="utf-8")
    steps.append(("file", dict(files), Inputs((var_file,), environ=environ)))
    option = VariableText("x", "option", "-var")
    steps.append(("option", dict(files), Inputs((var_file, option), environ=environ)))
    steps.append(("file", dict(files), Inputs((option, var_file), environ=environ)))
    for at, (wanted, present, inputs) in enumerate(steps):
        assert value_of_x(tmp_path / str(at), present, inputs) == wanted


def test_the_last_of_several_options_wins(tmp_path: Path) -> None:
    inputs = Inputs((VariableText("x", "first", "-var"), VariableText("x", "second", "-var")))
    assert value_of_x(tmp_path, {}, inputs) == "second"


@pytest.mark.parametrize(
    ("declared", "raw", "wanted"),
    [
        ("string", "a b ${c}", "a b ${c}"),
        ("number", "12", 12),
        ("bool", "true", True),
        ("list(string)", '["a", "b"]', ["a", "b"]),
        ("map(number)", "{ a = 1\n b = 2 }", {"a": 1, "b": 2}),
        ("any", "[1, true]", [1, True]),
        ("object({ a = string, b = optional(number, 7) })", '{ a = "x" }', {"a": "x", "b": 7}),
    ],
)
def test_text_is_an_expression_where_the_type_is_not_primitive(
    tmp_path: Path, declared: str, raw: str, wanted: object
) -> None:
    text = f'variable "x" {{\n  type = {declared}\n}}\noutput "x" {{\n  value = var.x\n}}\n'
    found = load_files(tmp_path, {"main.tf": text}, Inputs((VariableText("x", raw, "-var"),)))
    assert found.diagnostics == ()
    assert found.outputs[0].value == wanted


def test_text_for_a_variable_without_type_stays_text(tmp_path: Path) -> None:
    text = 'variable "x" {}\noutput "x" {\n  value = var.x\n}\n'
    found = load_files(tmp_path, {"main.tf": text}, Inputs((VariableText("x", "[1]", "-var"),)))
    assert found.outputs[0].value == "[1]"


def test_an_undeclared_name_is_an_error_only_as_an_option(tmp_path: Path) -> None:
    found = load_files(
        tmp_path,
        {"main.tf": ONE, "terraform.tfvars": 'x = "a"\ny = 1\n'},
        Inputs((VariableText("xx", "1", "-var"),), environ={"KPLAN_VAR_z": "1", "TF_VAR_z": "1"}),
    )
    assert [(str(each.severity), each.code) for each in found.diagnostics] == [
        ("error", "KP174"),
        ("warning", "KP174"),
    ]
    assert found.diagnostics[0].hint == 'Did you mean "x"?'


def test_a_bad_value_from_an_option_names_the_option_and_the_block(tmp_path: Path) -> None:
    text = 'variable "x" {\n  type = number\n}\n'
    found = load_files(tmp_path, {"main.tf": text}, Inputs((VariableText("x", "many", "-var"),)))
    (problem,) = found.diagnostics
    assert problem.code == "KP171"
    assert str(problem.subject) == "main.tf:1:1"
    assert "from -var" in problem.detail
    assert 'got string "many"' in problem.detail


def test_a_secret_that_does_not_fit_is_not_shown(tmp_path: Path) -> None:
    text = 'variable "x" {\n  type = number\n  sensitive = true\n}\n'
    inputs = Inputs((VariableText("x", "hunter2", "-var"),))
    found = load_files(tmp_path, {"main.tf": text}, inputs)
    assert found.diagnostics[0].code == "KP171"
    assert "hunter2" not in repr(found)
    assert "hunter2" not in repr(inputs)


def test_null_keeps_null_unless_not_nullable(tmp_path: Path) -> None:
    text = """
    variable "kept" { default = "d" }
    variable "replaced" {
      default  = "d"
      nullable = false
    }
    output "o" { value = [var.kept, var.replaced] }
    """
    files = {"main.tf": text, "terraform.tfvars": "kept = null\nreplaced = null\n"}
    assert load_files(tmp_path, files).outputs[0].value == [None, "d"]


def test_a_missing_variables_file_is_an_error(tmp_path: Path) -> None:
    inputs = Inputs((VariableText("x", "1", "-var"), tmp_path / "nope.tfvars"))
    found = load_files(tmp_path, {"main.tf": ONE}, inputs)
    assert [each.code for each in found.diagnostics] == ["KP118"]
    (told,) = found.diagnostics
    assert told.subject is None, "the option is the place"
    assert told.detail == f"-var-file={tmp_path / 'nope.tfvars'}: there is no such file."


def test_a_variables_file_that_cannot_be_looked_at_is_an_error_beside_the_others(
    tmp_path: Path,
) -> None:
    inputs = Inputs((Path("a" * 300 + ".tfvars"), tmp_path / "nope.tfvars"))
    found = load_files(tmp_path, {"main.tf": ONE}, inputs)
    assert [each.code for each in found.diagnostics] == ["KP118", "KP118", "KP170"]


def test_a_folder_that_cannot_be_listed_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exists, so the automatic variables files are looked for first."""

    def refuse(folder: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    (told,) = load_files(tmp_path, {"main.tf": ONE}).diagnostics
    assert told.code == "KP118"
    assert told.detail == f"The folder {tmp_path} cannot be read: Permission denied."
    assert "-chdir=DIR" in told.hint


def test_broken_json_is_told_with_line_and_column(tmp_path: Path) -> None:
    files = {"main.tf": ONE, "terraform.tfvars.json": '{\n  "x": \n}'}
    found = load_files(tmp_path, files, Inputs((VariableText("x", "1", "-var"),)))
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP119", "terraform.tfvars.json:3:1")
    ]


def test_the_workspace_has_both_names(tmp_path: Path) -> None:
    text = 'output "o" {\n  value = "${terraform.workspace}-${kplan.workspace}"\n}\n'
    found = load_files(tmp_path, {"main.tf": text}, Inputs(workspace="blue"))
    assert found.outputs[0].value == "blue-blue"


def test_files_of_other_tools_are_left_alone(tmp_path: Path) -> None:
    files = {
        "main.tf": 'output "x" {\n  value = 1\n}\n',
        ".terraform.lock.hcl": "nonsense {",
        ".hidden.tf": "nonsense {",
        "terragrunt.hcl": "include {}",
        "case.kptest.hcl": "run {}",
        "case.tftest.hcl": "run {}",
        "topics.tfquery.hcl": 'list "kafka_topic" "all" {}',
        "estate.tfdeploy.hcl": "deployment {}",
        "main.tf~": "nonsense {",
        "notes.txt": "nonsense {",
        "folder.tf/inner.tf": "nonsense {",
    }
    found = load_files(tmp_path, files)
    assert found.diagnostics == ()
    assert set(found.sources) == {"main.tf"}


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_bytes(
        b'\xef\xbb\xbfoutput "x" {\r\n  value = [\r\n    1,\r\n    2\r\n  ]\r\n}\r\n'
    )
    found = load_files(tmp_path, {})
    assert found.diagnostics == ()
    assert found.outputs[0].value == [1, 2]


def test_text_that_is_not_utf8_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_bytes(b'output "x" {\n  value = "\xff"\n}\n')
    found = load_files(tmp_path, {})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP115", "main.tf:2:12")
    ]


def test_a_value_from_the_command_line_has_the_form_of_every_other_string(tmp_path: Path) -> None:
    """Composed letters, and no half of a surrogate pair (which is how Python shows stray bytes)."""
    inputs = Inputs((VariableText("x", "e\u0301\udcff", "-var"),))
    assert value_of_x(tmp_path, {}, inputs) == "\xe9\ufffd"


@pytest.mark.parametrize("name", ["more.tf", "more.auto.tfvars"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path, name: str) -> None:
    """Read as nothing, it would have all that it declared deleted."""
    (tmp_path / name).symlink_to("gone")
    (tmp_path / "folder.tf").mkdir()
    found = load_files(tmp_path, {"main.tf": "locals {}"})
    assert [each.code for each in found.diagnostics] == ["KP118"]
