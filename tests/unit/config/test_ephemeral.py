"""Ephemeral variables: of use to providers and conditions, and kept nowhere."""

from pathlib import Path

import pytest

from kplan.config.console import Console
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS
from tests.unit.config.load_helper import load_files

E = 'variable "e" {\n  ephemeral = true\n  default   = "hush"\n}\n'


def places(folder: Path, text: str) -> list[str]:
    found = load_files(folder, {"main.tf": E + text})
    assert "hush" not in repr(found.diagnostics)
    return [f"{each.code} {each.subject}" for each in found.diagnostics]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('output "o" {\n  value = var.e\n}\n', "6:11"),
        ('output "o" {\n  value = "${var.e}-x"\n}\n', "6:14"),
        ('output "o" {\n  sensitive = true\n  value = [nonsensitive(var.e)]\n}\n', "7:25"),
        ('locals {\n  l = upper(var.e)\n}\noutput "o" {\n  value = local.l\n}\n', "9:11"),
        ('output "o" {\n  ephemeral = true\n  value     = 1\n}\n', "5:1"),
        ('resource "kafka_topic" "t" {\n  name = "t"\n  partitions = length(var.e)\n}\n', "7:23"),
        ('output "o" {\n  value = ephemeralasnull("${var.e}x")\n  sensitive = true\n}\n', "6:30"),
    ],
)  # fmt: skip
def test_what_would_keep_the_value_is_an_error(tmp_path: Path, text: str, place: str) -> None:
    """As in Terraform, but for the last: of text made of the value kplan knows no null."""
    assert places(tmp_path, text) == [f"KP148 main.tf:{place}"]


@pytest.mark.parametrize(
    "text",
    [
        'output "o" {\n  value = ephemeralasnull(var.e)\n}\n',
        'output "o" {\n  value = can(var.e) && issensitive(var.e)\n}\n',
        'provider "kafka" {\n  sasl_password = var.e\n}\n',
        'check "c" {\n  assert {\n    condition = var.e != ""\n    error_message = "no"\n  }\n}\n',
    ],
)  # fmt: skip
def test_where_nothing_is_kept_it_may_stand(tmp_path: Path, text: str) -> None:
    assert places(tmp_path, text) == []


def test_a_module_takes_it_in_a_variable_that_is_ephemeral_too(tmp_path: Path) -> None:
    call = 'module "m" {\n  source = "./m"\n  x      = var.e\n}\n'
    for flag, wanted in ((" ephemeral = true\n", []), ("", ["KP148 main.tf:7:12"])):
        folder = tmp_path / str(len(flag))
        (folder / "m").mkdir(parents=True)
        (folder / "m" / "main.tf").write_text(f'variable "x" {{\n{flag}}}\n')
        assert places(folder, call) == wanted


def test_the_console_shows_what_it_is_and_no_value(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(E)
    console = Console(tmp_path, Inputs(), KINDS)
    shown = {
        "var.e": "(ephemeral value)",
        "issensitive(var.e)": "false",
        "ephemeralasnull([var.e, 1])": "[\n  tostring(null),\n  1,\n]",
        "upper(var.e)": "(sensitive value)",
    }
    assert {each: console.evaluate_text(each).text for each in shown} == shown


def test_the_value_is_not_among_those_that_a_saved_plan_keeps(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": E})
    assert found.variables["e"].value is None
    assert "hush" not in repr(found.variables)


def test_a_write_only_argument_takes_it_and_its_version_does_not(tmp_path: Path) -> None:
    text = """resource "kafka_user_scram_credential" "u" {
  username            = "a"
  scram_mechanism     = "SCRAM-SHA-256"
  password_wo         = var.e
  password_wo_version = VERSION
}
"""
    assert places(tmp_path, text.replace("VERSION", '"1"')) == []
    assert places(tmp_path, text.replace("VERSION", "var.e")) == ["KP148 main.tf:9:25"]
    assert places(tmp_path, text.replace("password_wo  ", "password  ").replace("VERSION", "null"))


BLOCK = """
ephemeral "vault_kv_secret_v2" "kafka" {
  mount = "kv"
}
resource "kafka_user_scram_credential" "u" {
  username            = "a"
  scram_mechanism     = "SCRAM-SHA-256"
  password_wo         = VALUE
  password_wo_version = "1"
}
"""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("var.e", "KP126 main.tf:6:1"),
        ('ephemeral.vault_kv_secret_v2.kafka.data["p"]', "KP126 main.tf:6:1 KP509 main.tf:12:25"),
        ("ephemeral.vault_kv_secret_v2.kafak.data", "KP126 main.tf:6:1 KP142 main.tf:12:25"),
        ("ephemeral.vault_kv_secret_v2", "KP116 main.tf:12:25 KP126 main.tf:6:1"),
        ("ephemeral", "KP116 main.tf:12:25 KP126 main.tf:6:1"),
    ],
)
def test_blocks_of_ephemeral_resources_are_of_other_providers(
    tmp_path: Path, value: str, told: str
) -> None:
    """They are left out as other resources are; only what needs one is an error."""
    assert " ".join(sorted(places(tmp_path, BLOCK.replace("VALUE", value)))) == told


def test_a_provider_argument_of_an_ephemeral_resource_is_left_out(tmp_path: Path) -> None:
    value = "ephemeral.vault_kv_secret_v2.kafka.data.p"
    text = BLOCK.replace("VALUE", "var.e") + f'provider "kafka" {{\n  sasl_password = {value}\n}}\n'
    found = load_files(tmp_path, {"main.tf": E + text})
    assert not [each for each in found.diagnostics if each.is_error]
    (told,) = (each for each in found.diagnostics if each.code == "KP509")
    assert "environment" in told.hint
    assert "ephemeral = true" in told.hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('resource "kafka_topic" "t" {\n  name = ephemeral.x.y.z\n}\n', "KP148 main.tf:7:10"),
        ("locals {\n  l = ephemeral.x.y.z\n}\noutput {\n  value = local.l\n}\n", ""),
        ('output "o" {\n  value = ephemeral.x.y.z\n}\n', "KP148 main.tf:7:11"),
        ('module "m" {\n  source = "./m"\n  x      = ephemeral.x.y.z\n}\n', "KP148 main.tf:8:12"),
    ],
)
def test_their_values_are_stored_nowhere(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('variable "x" {}\n')
    found = places(tmp_path, f'ephemeral "x" "y" {{}}\n{text}')
    assert [each for each in found if each.startswith("KP148")] == ([place] if place else [])


def test_kplan_has_none_of_its_own(tmp_path: Path) -> None:
    assert places(tmp_path, 'ephemeral "kafka_topic" "t" {}\n') == ["KP126 main.tf:5:11"]
    twice = 'ephemeral "x" "y" {}\n' * 2
    assert places(tmp_path, twice) == ["KP190 main.tf:6:1", "KP126 main.tf:5:1"]
    json = '{"ephemeral": {"x": {"y": {}}}}'
    found = load_files(tmp_path, {"main.tf.json": json})
    assert {each.code for each in found.diagnostics} == {"KP190", "KP126"}
