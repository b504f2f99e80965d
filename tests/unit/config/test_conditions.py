"""Conditions: validation, precondition, postcondition and check."""

from pathlib import Path

import pytest

from tests.unit.config.load_helper import load_files

MAIN = """variable "size" {
  default = 3
}
resource "kafka_topic" "orders" {
  for_each   = { good = 3, bad = 300 }
  name       = each.key
  partitions = each.value
  lifecycle {
    precondition {
      condition     = each.value < 100
      error_message = "No more than 100, got ${each.value}."
    }
    postcondition {
      condition     = self.partitions > var.size
      error_message = "${self.name} is too small."
    }
  }
}
output "checked" {
  value = var.size
  precondition {
    condition     = var.size > 5
    error_message = "Too small."
  }
}
check "sizes" {
  assert {
    condition     = var.size == 4
    error_message = "Four would be better."
  }
}
"""


def test_conditions_are_told_with_their_message_and_place(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": MAIN})
    told = [
        (str(each.severity), each.code, str(each.subject), each.detail.splitlines()[0])
        for each in found.diagnostics
    ]
    assert told == [
        ("error", "KP196", "main.tf:10:23", "No more than 100, got 300."),
        ("error", "KP197", "main.tf:14:23", "good is too small."),
        ("error", "KP198", "main.tf:22:21", "Too small."),
        ("warning", "KP199", "main.tf:28:21", "Four would be better."),
    ]
    addresses = [str(each.address) for each in found.diagnostics[:2]]
    assert addresses == ['kafka_topic.orders["bad"]', 'kafka_topic.orders["good"]']


def test_conditions_that_hold_say_nothing(tmp_path: Path) -> None:
    text = MAIN.replace("default = 3", "default = 4").replace("300", "30")
    text = text.replace("> 5", "> 3").replace("self.partitions >", "self.partitions + 9 >")
    assert load_files(tmp_path, {"main.tf": text}).diagnostics == ()


def test_a_secret_in_a_message_is_not_shown(tmp_path: Path) -> None:
    text = """
    variable "password" {
      default   = "hunter2"
      sensitive = true
      validation {
        condition     = length(var.password) > 10
        error_message = "${var.password} is too short."
      }
    }
    """
    found = load_files(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP172"]
    assert "hunter2" not in repr(found)


def test_self_is_known_only_where_the_values_are(tmp_path: Path) -> None:
    text = 'resource "kafka_topic" "x" {\n  name = self.id\n}\n'
    assert [each.code for each in load_files(tmp_path, {"main.tf": text}).diagnostics] == ["KP116"]


def test_a_deprecated_variable_is_a_warning_where_a_value_is_given(tmp_path: Path) -> None:
    text = 'variable "old" {\n  default = 1\n  deprecated = "Use new."\n}\n'
    assert load_files(tmp_path, {"main.tf": text}).diagnostics == ()
    found = load_files(tmp_path, {"main.tf": text, "terraform.tfvars": "old = 2\n"})
    assert [(str(each.severity), each.code) for each in found.diagnostics] == [("warning", "KP183")]


RULED = """
variable "partitions" {
  default = 400
  validation {
    condition     = var.partitions < 100
    error_message = "Too many."
  }
}
"""


def test_a_validation_that_fails_in_a_module_is_shown_at_its_call_with_the_rule(
    tmp_path: Path,
) -> None:
    main = """
    module "t" {
      source     = "./t"
      for_each   = toset(["a"])
      partitions = 3 * 100
    }
    module "u" { source = "./t" }
    """
    found = load_files(tmp_path, {"main.tf": main, "t/main.tf": RULED})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP172", "main.tf:5:20"),
        ("KP172", "main.tf:7:5"),
    ]
    told = found.diagnostics[0]
    assert [(label, str(place)) for label, place in told.related] == [
        ("the rule", "t/main.tf:5:21")
    ]
    assert "checked by the validation rule at t/main.tf:4:3." in told.detail
    assert 'module.t["a"].var.partitions' in told.detail
    assert told.values == (("var.partitions", "is 300"),)


def test_a_validation_of_the_root_module_is_shown_at_the_variable_and_the_value(
    tmp_path: Path,
) -> None:
    found = load_files(tmp_path, {"main.tf": RULED, "terraform.tfvars": "partitions = 500\n"})
    (told,) = found.diagnostics
    assert (told.code, str(told.subject)) == ("KP172", "main.tf:2:1")
    assert [(label, str(place)) for label, place in told.related] == [
        ("the value", "terraform.tfvars:1:14"),
        ("the rule", "main.tf:5:21"),
    ]


VALUE_BLOCK = """
variable "size" {}
resource "terraform_data" "a" {
  input = 1
  lifecycle {
    precondition {
      condition     = var.size > 0
      error_message = "Too small."
    }
  }
}
output "a" { value = terraform_data.a.output }
"""


@pytest.mark.parametrize(("size", "codes"), [("1", []), ("0", ["KP196"])])
def test_a_block_of_values_is_refused_by_its_precondition(
    tmp_path: Path, size: str, codes: list[str]
) -> None:
    text = VALUE_BLOCK.replace('"size" {}', f'"size" {{ default = {size} }}')
    found = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert [each.code for each in found] == codes


def test_a_bad_value_for_a_module_is_one_error(tmp_path: Path) -> None:
    """The module's resources wait for the validation of its variables."""
    called = """
variable "size" {
  validation {
    condition     = var.size > 0
    error_message = "Too small."
  }
}
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = var.size
  replication_factor = 1
}
"""
    main = 'module "m" {\n  source = "./m"\n  size   = 0\n}\n'
    (found,) = load_files(tmp_path, {"main.tf": main, "m/main.tf": called}).diagnostics
    assert (found.code, str(found.subject)) == ("KP172", "main.tf:3:12")
    assert [str(place) for _, place in found.related] == ["m/main.tf:4:21"]


def test_a_condition_with_a_number_is_no_condition(tmp_path: Path) -> None:
    text = 'locals {\n  a = 1\n}\noutput "a" {\n  value = 1\n  precondition {\n'
    text += '    condition     = local.a\n    error_message = "No."\n  }\n}\n'
    (found,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert (found.code, found.summary) == ("KP156", "Invalid condition result")
