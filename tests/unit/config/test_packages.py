"""Sources of modules as Terraform reads them, and modules that `terraform init` installed."""

import json
from pathlib import Path

import pytest

from kplan.config.diagnostic import OperandError
from kplan.config.inputs import Inputs
from kplan.config.packages.source import parse_source
from tests.unit.config.load_helper import load_files


@pytest.mark.parametrize(
    ("text", "kind", "address", "subfolder", "ref"),
    [
        ("git::https://a.b/c.git", "git", "git::https://a.b/c.git", "", ""),
        ("git::https://a.b/c.git?ref=v1", "git", "git::https://a.b/c.git?ref=v1", "", "v1"),
        ("git::https://a.b/c.git//d/e?ref=v1", "git", "git::https://a.b/c.git?ref=v1", "d/e", "v1"),
        ("git::file:///c//d?depth=1&ref=x", "git", "git::file:///c?depth=1&ref=x", "d", "x"),
        ("github.com/o/r", "git", "git::https://github.com/o/r.git", "", ""),
        ("github.com/o/r//m?ref=1", "git", "git::https://github.com/o/r.git?ref=1", "m", "1"),
        ("git@github.com:o/r.git", "git", "git::ssh://git@github.com/o/r.git", "", ""),
        ("git@a.b:o/r.git//m?ref=1", "git", "git::ssh://git@a.b/o/r.git?ref=1", "m", "1"),
        ("git::ssh://git@a.b:22/r.git", "git", "git::ssh://git@a.b:22/r.git", "", ""),
        ("git::git@a.b:o/r.git", "git", "git::ssh://git@a.b/o/r.git", "", ""),
        ("ns/name/sys", "registry", "registry.terraform.io/ns/name/sys", "", ""),
        ("ns/name/sys//m/x", "registry", "registry.terraform.io/ns/name/sys", "m/x", ""),
        ("app.example.io/ns/name/sys", "registry", "app.example.io/ns/name/sys", "", ""),
        ("https://a.b/m.zip//x", "archive", "https://a.b/m.zip", "x", ""),
        ("https://a.b/m?archive=zip", "archive", "https://a.b/m?archive=zip", "", ""),
        ("/abs/m", "absolute path", "/abs/m", "", ""),
        ("s3::https://a.b/m.zip", "s3", "s3::https://a.b/m.zip", "", ""),
        ("hg::https://a.b/c", "hg", "hg::https://a.b/c", "", ""),
        ("modules/x", "unknown", "modules/x", "", ""),
    ],
)  # fmt: skip
def test_sources_are_read_as_terraform_reads_them(
    text: str, kind: str, address: str, subfolder: str, ref: str
) -> None:
    found = parse_source(text)
    assert (found.kind, found.address, found.subfolder, found.ref) == (
        kind, address, subfolder, ref
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "git::https://user:secret@a.b/c.git",
        "git::http://a.b/c.git",
        "git::git://a.b/c.git",
        "git::ext::sh -c id",
        "git::--upload-pack=id",
        "git::ssh://-oProxyCommand=id/x",
        "git::https://a.b/c.git?ref=--upload-pack=id",
        "git::https://a.b/c.git//../../x",
        "git::https://a.b/c.git?sshkey=AAAA",
        "http://a.b/m.zip",
    ],
)
def test_sources_that_are_not_safe_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(OperandError) as refusal:
        parse_source(text)
    assert refusal.value.code == "KP194"
    assert "secret" not in refusal.value.detail + refusal.value.hint


MODULE = 'output "place" { value = path.module }\n'
GIT = "git::https://example.com/modules.git"


def load_with_terraform(
    folder: Path, source: str, entries: list[dict[str, str]], extra: str = ""
) -> list[str]:
    """Load a folder that `terraform init` has been in; give the output or the codes."""
    listed = {"Modules": [{"Key": "", "Source": "", "Dir": "."}, *entries]}
    files = {
        "main.tf": f'module "m" {{\n  source = "{source}"\n{extra}}}\n'
        'output "place" { value = module.m.place }\n',
        ".terraform/modules/modules.json": json.dumps(listed),
        ".terraform/modules/m/inner/main.tf": MODULE,
    }
    found = load_files(folder, files, Inputs())
    return [each.code for each in found.diagnostics] or [str(each.value) for each in found.outputs]


@pytest.mark.parametrize(
    ("source", "recorded"),
    [
        (f"{GIT}//inner?ref=v1", f"{GIT}//inner?ref=v1"),
        ("github.com/o/r//inner", "git::https://github.com/o/r.git//inner"),
        ("ns/name/sys//inner", "registry.terraform.io/ns/name/sys//inner"),
        ("/abs/m//inner", "/abs/m//inner"),
        ("s3::https://b.example/m.zip//inner", "s3::https://b.example/m.zip//inner"),
    ],
)
def test_modules_that_terraform_installed_are_used(
    tmp_path: Path, source: str, recorded: str
) -> None:
    """F5: modules.json names the folder, whatever the module came from."""
    entry = {"Key": "m", "Source": recorded, "Dir": ".terraform/modules/m/inner"}
    assert load_with_terraform(tmp_path, source, [entry]) == [".terraform/modules/m/inner"]


def test_a_source_that_terraform_has_not_installed_is_an_error(tmp_path: Path) -> None:
    entry = {"Key": "m", "Source": f"{GIT}//inner?ref=v1", "Dir": ".terraform/modules/m/inner"}
    assert load_with_terraform(tmp_path, f"{GIT}//inner?ref=v2", [entry]) == ["KP501"]
    assert load_with_terraform(tmp_path, "ns/name/sys", []) == ["KP194"]
    assert load_with_terraform(tmp_path, GIT, []) == ["KP500"]


def test_a_version_is_for_registries(tmp_path: Path) -> None:
    entry = {"Key": "m", "Source": GIT, "Dir": ".terraform/modules/m/inner"}
    version = '  version = "1.0.0"\n'
    assert load_with_terraform(tmp_path, GIT, [entry], version) == ["KP507"]


@pytest.mark.parametrize(
    ("constraint", "installed", "code"),
    [
        ("1.4.2", "1.4.2", ""),
        (">= 1.4, < 2", "1.4.2", ""),
        ("~> 2.0", "1.4.2", "KP580"),
        ("~> 2.0", "", "KP580"),
        (">= 1.4 < 2", "1.4.2", "KP342"),
        ("^1.4", "1.4.2", "KP342"),
    ],
)
def test_the_version_of_a_module_of_a_registry_is_that_of_the_call(
    tmp_path: Path, constraint: str, installed: str, code: str
) -> None:
    entry = {"Key": "m", "Source": "registry.terraform.io/a/b/c", "Version": installed}
    entry |= {"Dir": ".terraform/modules/m/inner"}
    found = load_with_terraform(tmp_path, "a/b/c", [entry], f'  version = "{constraint}"\n')
    assert found == [code or ".terraform/modules/m/inner"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"Modules": [1]}', '{"Modules": [{"Key": "m"}]}'])
def test_a_damaged_list_of_modules_is_one_error(tmp_path: Path, text: str) -> None:
    files = {
        "main.tf": f'module "m" {{\n  source = "{GIT}"\n}}\n',
        ".terraform/modules/modules.json": text,
    }
    found = load_files(tmp_path, files)
    assert [each.code for each in found.diagnostics] == ["KP500"]


def test_terraforms_data_folder_may_be_elsewhere(tmp_path: Path) -> None:
    listed = {"Modules": [{"Key": "m", "Source": GIT, "Dir": "data/modules/m"}]}
    files = {
        "main.tf": f'module "m" {{\n  source = "{GIT}"\n}}\n',
        "data/modules/modules.json": json.dumps(listed),
        "data/modules/m/main.tf": MODULE,
    }
    found = load_files(tmp_path, files, Inputs(environ={"TF_DATA_DIR": "data"}))
    assert found.diagnostics == ()
