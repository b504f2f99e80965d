"""File functions, on files of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kplan.config.functions.file_access import FileAccess
from kplan.config.functions.function import FunctionError, Host, TemplateError
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.values.value import Sensitive, Value


@dataclass(frozen=True)
class Rendering:
    """A host whose templates are the text and the variables, side by side."""

    files: FileAccess
    in_template: bool = False
    fault: TemplateError | None = None

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        if self.fault is not None:
            raise self.fault
        return (name, template, *variables.values())


def host(root: Path, *closed: Path) -> Rendering:
    return Rendering(FileAccess(root, closed))


def call(on: Host, name: str, *arguments: Value) -> Value:
    return FUNCTIONS[name].call(arguments, on)


def refused(on: Host, name: str, *arguments: Value) -> str:
    with pytest.raises(FunctionError) as caught:
        call(on, name, *arguments)
    return caught.value.message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "orders.yaml").write_text("partitions: 6\n", encoding="utf-8")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "kplan.json").write_text('{"secret": 1}', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("function", ["file", "filebase64", "filesha256", "filemd5"])
@pytest.mark.parametrize(
    "path", ["state/kplan.json", "./state/../state/kplan.json", "link.json", "door/kplan.json"]
)
def test_kplans_own_state_is_never_read(folder: Path, function: str, path: str) -> None:
    (folder / "link.json").symlink_to(folder / "state" / "kplan.json")
    (folder / "door").symlink_to(folder / "state")
    assert "kplan's own state" in refused(host(folder), function, path)


def test_a_state_kept_elsewhere_is_closed_too(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "state.json").write_text("{}", encoding="utf-8")
    assert call(host(folder), "file", str(other / "state.json")) == "{}"
    assert "kplan's own" in refused(host(folder, other), "file", str(other / "state.json"))


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "format": 1,\n  "kplan_version": "0.1.0",\n  "lineage": "6f1c", "serial": 1}',
        '{"format":1,"changes":2,"plan":"5c2e","lineage":"6f1c","from_serial":41}\n',
    ],
)
def test_a_state_is_known_by_its_beginning_wherever_it_lies(folder: Path, text: str) -> None:
    (folder / "copy.txt").write_text(text, encoding="utf-8")
    for function in ("file", "filebase64", "filemd5", "templatefile"):
        more: list[Value] = [{}] if function == "templatefile" else []
        assert "kplan's own state" in refused(host(folder), function, "copy.txt", *more)


def test_files_outside_of_the_folder_may_be_read(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    assert call(host(inner), "file", "../orders.yaml") == "partitions: 6\n"
    assert call(host(inner), "file", str(folder / "orders.yaml")) == "partitions: 6\n"


def test_existence_does_not_depend_on_reading(folder: Path) -> None:
    assert call(host(folder), "fileexists", "orders.yaml") is True
    assert call(host(folder), "fileexists", "nothing.yaml") is False
    assert "is a directory" in refused(host(folder), "fileexists", ".")


def test_an_odd_path_is_an_error_and_no_traceback(folder: Path) -> None:
    for path in ("\0", "a" * 5000, "orders.yaml/x", "loop"):
        if path == "loop":
            (folder / "loop").symlink_to(folder / "loop")
        assert refused(host(folder), "file", path)


def test_fileset_finds_files_below_a_folder(folder: Path) -> None:
    (folder / "topics" / "eu").mkdir(parents=True)
    for name in ("a.yaml", "b.yml", "eu/c.yaml", ".hidden.yaml"):
        (folder / "topics" / name).touch()
    on = host(folder)
    assert call(on, "fileset", "topics", "**/*.yaml") == (".hidden.yaml", "a.yaml", "eu/c.yaml")
    assert call(on, "fileset", "topics", "*.{yaml,yml}") == (".hidden.yaml", "a.yaml", "b.yml")
    assert call(on, "fileset", str(folder / "topics"), "[ab].y*") == ("a.yaml", "b.yml")
    assert call(on, "fileset", "topics/eu", "../*.yml") == ("../b.yml",)


def test_a_template_gets_the_text_of_the_file_and_the_variables(folder: Path) -> None:
    found = call(host(folder), "templatefile", "orders.yaml", {"x": 1})
    assert found == ("orders.yaml", "partitions: 6\n", 1)
    marked = call(host(folder), "templatestring", "t", Sensitive({"x": 1}))
    assert marked == Sensitive(("<templatestring argument>", "t", 1))


def test_templates_do_not_nest(folder: Path) -> None:
    inside = Rendering(FileAccess(folder), in_template=True)
    assert "recursively" in refused(inside, "templatefile", "orders.yaml", {})


def test_a_missing_variable_is_blamed_on_the_variables(folder: Path) -> None:
    fault = TemplateError('vars map does not contain key "x"', is_missing=True)
    on = Rendering(FileAccess(folder), fault=fault)
    assert refused(on, "templatefile", "orders.yaml", {}).startswith('Invalid value for "vars"')
    broken = Rendering(FileAccess(folder), fault=TemplateError("orders.yaml:1,1-2: broken"))
    assert refused(broken, "templatefile", "orders.yaml", {}) == (
        'Call to function "templatefile" failed: orders.yaml:1,1-2: broken.'
    )


def test_a_file_that_is_no_text_is_refused_by_file_alone(folder: Path) -> None:
    (folder / "bytes").write_bytes(b"\xff\xfe")
    assert "not valid UTF-8" in refused(host(folder), "file", "bytes")
    assert call(host(folder), "filebase64", "bytes") == "//4="
