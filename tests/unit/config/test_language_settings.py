"""Settings of Terraform's language: acted upon or refused, never taken without effect."""

from pathlib import Path

import pytest

from kplan.kinds.topic_rules import Topic
from tests.unit.config.load_helper import load_files


def told(folder: Path, text: str) -> list[tuple[str, str, str]]:
    found = load_files(folder, {"main.tf": text}).diagnostics
    return [(each.severity.value, each.code, str(each.subject)) for each in found]


@pytest.mark.parametrize(
    "constraint",
    [">= 1.5", "~> 1.0", "~> 1.11.0", ">= 1.9, < 2.0", "1.11.4", "= v1.11.4", "!= 1.11.5", "> 0.12",
     " >=1.3 , <= 1.11.4", "~> 0", "~> 1", ">= 1.0.0.1", "1.11.4+x"],
)  # fmt: skip
def test_a_version_that_is_met_says_nothing(tmp_path: Path, constraint: str) -> None:
    assert told(tmp_path, f'terraform {{\n  required_version = "{constraint}"\n}}\n') == []


@pytest.mark.parametrize(
    ("constraint", "severity", "code"),
    [
        (">= 1.12", "error", "KP341"),
        ("> 1.11.4", "error", "KP341"),
        ("~> 1.12.0", "error", "KP341"),
        ("~> 2.0", "error", "KP341"),
        ("= 1.13.0", "error", "KP341"),
        ("< 1.6", "warning", "KP195"),
        ("~> 1.5.0", "warning", "KP195"),
        ("1.5.7", "warning", "KP195"),
        ("!= 1.11.4", "warning", "KP195"),
        ("", "error", "KP342"),
        (">= 1.5 nonsense", "error", "KP342"),
        ("=> 1.5", "error", "KP342"),
        (">= 1.5,", "error", "KP342"),
        (">= 1.11.0-beta1", "error", "KP342"),
    ],
)
def test_a_version_that_is_not_met_is_told(
    tmp_path: Path, constraint: str, severity: str, code: str
) -> None:
    text = f'terraform {{\n  required_version = "{constraint}"\n}}\n'
    column = 3 if code == "KP341" else 22  # the argument, or its value
    assert told(tmp_path, text) == [(severity, code, f"main.tf:2:{column}")]


def test_a_version_that_is_no_constant_is_refused(tmp_path: Path) -> None:
    text = 'variable "v" { default = ">= 1.0" }\nterraform {\n  required_version = var.v\n}\n'
    assert told(tmp_path, text) == [("error", "KP342", "main.tf:3:22")]


def test_a_module_may_require_a_version_too(tmp_path: Path) -> None:
    files = {
        "main.tf": 'module "m" { source = "./m" }\n',
        "m/main.tf": 'terraform { required_version = ">= 9" }\n',
    }
    (found,) = load_files(tmp_path, files).diagnostics
    assert (found.code, str(found.subject)) == ("KP341", "m/main.tf:1:13")


@pytest.mark.parametrize("name", ["string", "list", "map", "strng"])
def test_a_quoted_type_is_refused_with_the_type_to_write(tmp_path: Path, name: str) -> None:
    text = f'variable "x" {{\n  type    = "{name}"\n  default = null\n}}\n'
    (found,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert (found.code, str(found.subject)) == ("KP343", "main.tf:2:13")
    wanted = {"string": "type = string.", "list": "type = list(string).", "map": "map(string)"}
    assert wanted.get(name, "without quotes") in found.hint


def test_the_json_syntax_names_types_in_strings(tmp_path: Path) -> None:
    text = '{"variable": {"x": {"type": "string", "default": "a"}}}'
    assert load_files(tmp_path, {"main.tf.json": text}).diagnostics == ()


def test_a_replacement_because_of_another_object_is_refused(tmp_path: Path) -> None:
    text = """resource "kafka_topic" "a" { name = "a" }
resource "kafka_topic" "b" {
  name = "b"
  lifecycle {
    replace_triggered_by = [kafka_topic.a]
  }
}
"""
    assert told(tmp_path, text) == [("error", "KP344", "main.tf:5:5")]
    assert told(tmp_path, text.replace("[kafka_topic.a]", "[]")) == []


def test_minus_one_leaves_partitions_and_replicas_to_the_broker(tmp_path: Path) -> None:
    text = """resource "kafka_topic" "t" {
  name               = "t"
  partitions         = -1
  replication_factor = -1
}
"""
    found = load_files(tmp_path, {"main.tf": text})
    assert found.diagnostics == ()
    assert found.resources[0].value == Topic("t", None, None)
    assert told(tmp_path, text.replace("factor = -1", "factor = -2")) == [
        ("error", "KP205", "main.tf:4:24")
    ]
