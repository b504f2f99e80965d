"""Cycles by `depends_on`; each shape was given to `terraform validate` 1.11.4, with its verdict."""

from pathlib import Path

import pytest

from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from kplan.model.diagnostic import Diagnostic


def block(name: str, body: str = "") -> str:
    return f'resource "terraform_data" "{name}" {{\n  {body}\n}}\n'


def call(name: str, body: str = "") -> str:
    return f'module "{name}" {{\n  source = "./m"\n  {body}\n}}\n'


def problems(folder: Path, text: str, module: str) -> list[Diagnostic]:
    (folder / "m").mkdir()
    (folder / "m" / "main.tf").write_text(module, encoding="utf-8")
    (folder / "main.tf").write_text(text, encoding="utf-8")
    return [
        each for each in load_configuration(folder, Inputs(), KINDS).diagnostics if each.is_error
    ]


A, B = "terraform_data.a", "terraform_data.b"
OUT = 'output "o" {\n  value = "x"\n}\n'
IN = 'variable "v" {}\n'
INSIDE = block("i", "input = var.v")
DATA = 'data "terraform_remote_state" "d" {\n  backend    = "local"\n  depends_on = [%s]\n}\n'


@pytest.mark.parametrize(
    ("text", "module", "where", "way"),
    [
        (
            block("a", f"depends_on = [{B}]") + block("b", f"depends_on = [{A}]"),
            "",
            "main.tf:2:17",
            (A, B),
        ),
        (
            block("a", f'depends_on = ["{B}"]') + block("b", f'depends_on = ["{A}"]'),
            "",
            "main.tf:2:18",
            (A, B),
        ),
        (
            block("a", f"count = 2\n  depends_on = [{B}[0]]") + block("b", f"depends_on = [{A}]"),
            "",
            "main.tf:3:17",
            (A, B),
        ),
        (
            block("a", f"depends_on = [{B}]") + block("b", f"input = {A}.output"),
            "",
            "main.tf:2:17",
            (A, B),
        ),
        (
            f"locals {{\n  x = {B}.output\n}}\n"
            + block("a", "input = local.x")
            + block("b", f"depends_on = [{A}]"),
            "",
            "main.tf:8:17",
            (B, A, "local.x"),
        ),
        (
            block("a", "input = module.m.o") + call("m", f"depends_on = [{A}]"),
            OUT,
            "main.tf:6:17",
            ("module.m", A, "module.m.output.o"),
        ),
        (
            block("a", "depends_on = [module.m]") + call("m", f"v = {A}.output"),
            IN + OUT,
            "main.tf:2:17",
            (A, "module.m", "module.m.var.v"),
        ),
        (
            block("a", "depends_on = [module.m]") + call("m", f"depends_on = [{A}]"),
            "",
            "main.tf:2:17",
            (A, "module.m"),
        ),
        (
            block("a", "input = module.m.o") + call("m", f"v = {A}.output"),
            IN + INSIDE + OUT.replace("}", "  depends_on = [terraform_data.i]\n}"),
            "m/main.tf:7:17",
            ("module.m.output.o", "module.m.terraform_data.i", "module.m.var.v", A),
        ),
        (
            call("m"),
            block("a", f"depends_on = [{B}]") + block("b", f"depends_on = [{A}]"),
            "m/main.tf:2:17",
            (f"module.m.{A}", f"module.m.{B}"),
        ),
        (
            call("m", "depends_on = [module.n]") + call("n", "depends_on = [module.m]"),
            OUT,
            "main.tf:3:17",
            ("module.m", "module.n"),
        ),
        (
            DATA % A + block("a", "input = data.terraform_remote_state.d.outputs"),
            "",
            "main.tf:3:17",
            ("data.terraform_remote_state.d", A),
        ),
    ],
    ids=[
        "two resources",
        "quoted",
        "an instance",
        "mixed with a reference",
        "mixed through a local value",
        "into a module whose output is used",
        "of a module whose input is used",
        "of and into a module",
        "of an output",
        "inside of a module",
        "two modules",
        "of a data source",
    ],
)
def test_a_cycle_by_depends_on_is_an_error_at_the_reference(
    tmp_path: Path, text: str, module: str, where: str, way: tuple[str, ...]
) -> None:
    found = [each for each in problems(tmp_path, text, module) if each.code == "KP145"]
    assert [str(each.subject) for each in found] == [where]
    chain = " -> ".join((*way, way[0]))
    assert found[0].detail == f"These depend on each other in a circle: {chain}."
    assert found[0].hint.startswith("Remove this reference from depends_on")


def test_a_module_that_waits_for_itself_is_a_cycle(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, call("m", "depends_on = [module.m]"), OUT)
    assert (found.code, found.detail) == ("KP145", "module.m depends on itself.")


@pytest.mark.parametrize(
    ("text", "module"),
    [
        (block("a", f"depends_on = [{A}]"), ""),
        (block("a", "input = module.m.o") + call("m", f"v = {A}.output"), IN + OUT + INSIDE),
        (call("m", "v = module.m.o"), IN + OUT + INSIDE),
        (
            call("m", f"v = {A}.output")
            + call("n", f"v = module.m.o\n  depends_on = [{A}]")
            + block("a"),
            IN + INSIDE + OUT.replace('"x"', "var.v"),
        ),
        (
            block("a", "depends_on = [module.n]")
            + call("m", f"v = {A}.output")
            + call("n", 'v = "x"'),
            IN + OUT.replace('"x"', "var.v"),
        ),
        (
            block("a", f"depends_on = [{B}]\n  lifecycle {{\n    ignore_changes = [input]\n  }}")
            + block("b"),
            "",
        ),
        (
            block("a") + f'output "o" {{\n  value = {A}.output\n  depends_on = [{A}]\n}}\n',
            "",
        ),
    ],
    ids=[
        "a resource that names itself",
        "an output that does not use the input",
        "a module that gets its own output",
        "two calls of a module",
        "another call of a module",
        "ignored changes",
        "an output of what it waits for",
    ],
)
def test_what_terraform_takes_is_no_cycle(tmp_path: Path, text: str, module: str) -> None:
    assert [each for each in problems(tmp_path, text, module) if each.code == "KP145"] == []


def test_a_cycle_of_references_is_reported_once(tmp_path: Path) -> None:
    text = "locals {\n  a = local.b\n  b = local.a\n}\n" + block(
        "a", "input = local.a\n  depends_on = [terraform_data.b]"
    )
    found = problems(tmp_path, text + block("b", "input = local.b"), "")
    assert [each.code for each in found] == ["KP145"]


def test_a_long_cycle_is_one_error_with_few_names(tmp_path: Path) -> None:
    """2,000 blocks took 5 s when each of them began a search of its own."""
    count = 300
    text = "".join(
        block(f"b{n}", f"depends_on = [terraform_data.b{(n + 1) % count}]") for n in range(count)
    )
    (found,) = problems(tmp_path, text, "")
    assert found.code == "KP145"
    assert found.detail.count(" -> ") == 12
    assert "terraform_data.b10 -> 289 more -> terraform_data.b0." in found.detail
    assert len(found.related) == 11
