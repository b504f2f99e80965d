"""The modules and their examples: documented as they are, and planned without a cluster."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.declarations.declaration import KnownKinds
from kplan.config.declarations.file import ModuleFolders
from kplan.config.format.formatter import format_text
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from kplan.model.plan import Reason
from kplan.workflow.ports import PolicyOptions
from tests.docs.tables import blocks, example_page, module_page
from tests.project_harness import ProjectHarness

ROOT = Path(__file__).parents[2]
MODULES = sorted(each.name for each in (ROOT / "modules").iterdir())
EXAMPLES = sorted([*MODULES, "composed"])
FILES = ("README.md", "main.tf", "outputs.tf", "variables.tf")


@pytest.mark.parametrize("name", MODULES)
def test_the_page_of_a_module_tells_its_inputs_and_outputs(
    name: str, golden: Callable[[Path, str], None]
) -> None:
    golden(ROOT / "modules" / name / "README.md", module_page(ROOT / "modules" / name))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_of_an_example_tells_what_it_declares(
    name: str, golden: Callable[[Path, str], None]
) -> None:
    golden(ROOT / "examples" / name / "README.md", example_page(ROOT / "examples" / name))


@pytest.mark.parametrize("name", MODULES)
def test_every_input_has_a_type_and_every_input_and_output_a_description(name: str) -> None:
    folder = ROOT / "modules" / name
    names = {each.name for each in folder.iterdir()}
    assert names - {"tests"} == set(FILES)
    found = ModuleFolders(folder, KnownKinds(tuple(kind.name for kind in KINDS))).declarations(".")
    assert found.diagnostics == []
    for each in found.variables.values():
        assert {"type", "description"} <= each.arguments.keys(), each.name
    for each in found.outputs.values():
        assert "description" in each.arguments, each.name


@pytest.mark.parametrize("name", MODULES)
def test_the_use_that_a_page_shows_is_valid(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "modules", tmp_path / "modules")
    page = (ROOT / "modules" / name / "README.md").read_text(encoding="utf-8")
    folder = tmp_path / "live" / "shop"
    folder.mkdir(parents=True)
    (use,) = blocks(page, "hcl")
    (folder / "main.tf").write_text(f'provider "kafka" {{}}\n{use}', encoding="utf-8")
    for each in blocks(page, "yaml"):
        (folder / "topics.yaml").write_text(each, encoding="utf-8")
    found = load_configuration(folder, Inputs(), KINDS)
    assert found.diagnostics == ()
    assert found.resources


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_applied_is_an_example_done(name: str, tmp_path: Path) -> None:
    for each in ("modules", f"examples/{name}"):
        shutil.copytree(ROOT / each, tmp_path / each)
    site = ProjectHarness(tmp_path / "examples" / name, MemoryCluster(1))
    policies = PolicyOptions(folder=site.folder, allows_python=True)
    before = site.plan(policies=policies).plan
    assert before.is_applyable
    assert before.diagnostics == ()
    site.apply(policies=policies)
    assert not site.plan(policies=policies).plan.is_applyable


def test_an_acl_that_two_modules_describe_is_created_once_and_outlives_one_of_them(
    tmp_path: Path,
) -> None:
    for each in ("modules", "examples/composed"):
        shutil.copytree(ROOT / each, tmp_path / each)
    site = ProjectHarness(tmp_path / "examples" / "composed", MemoryCluster(1))
    site.apply()
    bindings = len(site.cluster.acls())
    text = (site.folder / "main.tf").read_text(encoding="utf-8")
    start, end = text.index('module "export"'), text.index('module "replay"')
    site.write(text[:start] + text[end:])
    made = site.plan().plan
    assert not made.batches
    assert any(each.reason in {Reason.MOVED, Reason.DECLARATIONS} for each in made.changes)
    site.apply()
    assert len(site.cluster.acls()) == bindings


@pytest.mark.parametrize("folder", ["modules", "examples"])
def test_files_are_laid_out_as_terraform_fmt_does(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.tf"))
    assert files
    for each in files:
        text = each.read_text(encoding="utf-8")
        assert format_text(text, each.name) == text, each


@pytest.mark.skipif(shutil.which("terraform") is None, reason="there is no terraform here")
def test_terraform_itself_finds_the_files_well_formatted() -> None:
    for folder in ("modules", "examples"):
        command = ["terraform", "fmt", "-check", "-recursive", str(ROOT / folder)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
