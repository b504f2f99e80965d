"""Single expressions against a folder: what is printed, what is secret, what is refused."""

import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from kplan.config.console import MAX_DEPTH, Console, ConsoleResult
from kplan.config.inputs import Inputs, VariableText
from kplan.kinds import KINDS

FIXTURES = Path(__file__).parent / "fixtures"
PRINTED = [
    json.loads(line)
    for line in (FIXTURES / "console.jsonl").read_text(encoding="utf-8").splitlines()
]


def console(folder: Path, text: str = "", **given: str) -> Console:
    """Open a folder with one file of this text; an empty text is no file."""
    if text:
        (folder / "main.tf").write_text(text, encoding="utf-8")
    variables = tuple(VariableText(name, raw, f"-var {name}") for name, raw in given.items())
    return Console(folder, Inputs(variables=variables), KINDS)


def codes(answer: ConsoleResult) -> list[str]:
    assert not answer.is_value
    return [each.code for each in answer.diagnostics]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Console:
    folder = tmp_path_factory.mktemp("console")
    shutil.copy(FIXTURES / "console.tf", folder / "main.tf")
    return Console(folder, Inputs(), KINDS)


@pytest.mark.parametrize("case", PRINTED, ids=lambda each: each["expression"])
def test_a_value_is_printed_as_terraform_prints_it(recorded: Console, case: dict[str, str]) -> None:
    answer = recorded.evaluate_text(case["expression"])
    assert answer.diagnostics == ()
    assert f"{answer.text}\n" == case["printed"]


def test_a_text_that_steers_terminals_is_printed_on_one_line_with_escapes(tmp_path: Path) -> None:
    """Terraform prints it as it is, and the terminal obeys."""
    answer = console(tmp_path).evaluate_text(r'"one\n\u001b[2Jtwo\u009b"')
    assert answer.text == r'"one\n\x1b[2Jtwo\u009b"'


def test_json_has_every_digit_and_the_type(tmp_path: Path) -> None:
    answer = console(tmp_path).evaluate_text('{a = 1/3, b = 9007199254740993, c = "é\u2028"}')
    found = json.loads(answer.json, parse_float=Decimal)
    assert found["ok"] is True
    assert found["type"] == ["object", {"a": "number", "b": "number", "c": "string"}]
    assert len(str(found["value"]["a"])) > 150
    assert found["value"]["b"] == 9007199254740993
    assert found["value"]["c"] == "é\u2028"
    assert answer.json.isascii(), "some readers take U+2028 for the end of a line"


def test_json_masks_what_is_sensitive_and_nothing_else(recorded: Console) -> None:
    answer = recorded.evaluate_text("{a = var.secret, b = [1, {c = sensitive([2])}]}")
    found = json.loads(answer.json)
    assert found["sensitive"] is True
    assert found["value"] == {"a": "(sensitive value)", "b": [1, {"c": "(sensitive value)"}]}
    assert "hush" not in answer.json + answer.text + repr(answer)
    assert "sensitive" not in json.loads(recorded.evaluate_text("1").json)


def test_a_folder_without_files_is_an_empty_module(tmp_path: Path) -> None:
    empty = console(tmp_path)
    assert empty.diagnostics == ()
    assert empty.evaluate_text("1 + 1").text == "2"
    assert codes(empty.evaluate_text("local.x")) == ["KP141"]


def test_resources_modules_and_given_variables_are_in_sight(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('output "o" {\n  value = path.module\n}\n')
    text = """
variable "n" { type = number }
resource "kafka_topic" "t" {
  for_each   = toset(["a", "b"])
  name       = "t.${each.key}"
  partitions = var.n
}
module "m" { source = "./m" }
"""
    opened = console(tmp_path, text, n="3")
    assert opened.evaluate_text('kafka_topic.t["a"].partitions').text == "3"
    assert opened.evaluate_text("values(kafka_topic.t)[*].name").text.count("t.") == 2
    assert opened.evaluate_text("module.m.o").text == '"m"'


def test_a_failure_is_told_each_time_it_is_met(tmp_path: Path) -> None:
    """What failed once fails in silence for what depends on it; whoever types sees one line."""
    opened = console(
        tmp_path, 'locals {\n  bad  = upper(1, 2)\n  uses = local.bad\n}\nvariable "r" {}\n'
    )
    assert opened.diagnostics == ()
    for _ in range(2):
        assert codes(opened.evaluate_text("local.uses")) == ["KP165"]
        assert codes(opened.evaluate_text("var.r")) == ["KP170"]
    assert opened.evaluate_text("can(local.bad)").is_value is False
    assert opened.evaluate_text("1").text == "1"


def test_what_a_broken_file_hides_is_no_value_and_says_why(tmp_path: Path) -> None:
    opened = console(tmp_path, 'variable "v" {\n  default = [\n}\n')
    assert [each.code for each in opened.diagnostics] == ["KP105"]
    assert codes(opened.evaluate_text("var.v")) == ["KP147", "KP105"]
    assert opened.evaluate_text("2").text == "2"


def test_the_type_of_a_value_is_asked_for_alone(tmp_path: Path) -> None:
    opened = console(tmp_path)
    assert json.loads(opened.evaluate_text("type([1])").json)["value"] == "tuple([\n    number,\n])"
    assert codes(opened.evaluate_text("[type(1)]")) == ["KP153"]
    assert codes(opened.evaluate_text("type(1, 2)")) == ["KP153"]
    assert codes(opened.evaluate_text("type(nosuch)")) == ["KP116"]


def test_open_brackets_and_heredocs_may_go_on(tmp_path: Path) -> None:
    opened = console(tmp_path)
    for text in ("[", "{a = 1,", "upper(", "<<E\nabc", "[for a in [1] :"):
        assert opened.is_incomplete(text), text
    for text in ("1", "1 +", '"a', "", "nosuch", "[1]"):
        assert not opened.is_incomplete(text), text


@pytest.mark.parametrize(
    "text",
    ["", "# comment", "1 1", "x = 1", "\x00", '"', "${", "\ud800", "(" * 5000, "]", "é", "\t"],
)
def test_any_text_gets_an_answer_with_a_place(tmp_path: Path, text: str) -> None:
    answer = console(tmp_path).evaluate_text(text)
    assert not answer.is_value
    for each in answer.diagnostics:
        assert each.subject is not None
        assert each.subject.line >= 1
        assert each.subject.column >= 1


def test_a_value_that_no_screen_could_take_is_refused(tmp_path: Path) -> None:
    """Forty locals that hold the one before twice come to a million million parts."""
    lines = [f"  l{at} = [local.l{at - 1}, local.l{at - 1}]" for at in range(1, 41)]
    wide = console(tmp_path, "\n".join(["locals {", "  l0 = 1", *lines, "}\n"]))
    assert codes(wide.evaluate_text("local.l40")) == ["KP114"]
    assert codes(wide.evaluate_text("type(local.l40)")) == ["KP114"]
    assert wide.evaluate_text("local.l3").text.count("1,") == 8


@pytest.mark.parametrize("text", ["range(20)", '["0123456789", "0123456789"]'])
def test_a_value_with_more_parts_or_letters_than_can_be_shown_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("kplan.config.console.MAX_PARTS", 10)
    monkeypatch.setattr("kplan.config.console.MAX_CHARACTERS", 10)
    answer = console(tmp_path).evaluate_text(text)
    assert codes(answer) == ["KP114"]
    assert answer.diagnostics[0].detail == "The value is too large to be shown."


def test_an_expression_that_python_cannot_follow_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_deep(*_: object) -> None:
        raise RecursionError

    opened = console(tmp_path)
    monkeypatch.setattr("kplan.config.console.evaluate", too_deep)
    assert codes(opened.evaluate_text("1")) == ["KP114"]


def test_a_value_that_nests_too_deeply_is_refused(tmp_path: Path) -> None:
    lines = [f"  l{at} = [local.l{at - 1}]" for at in range(1, MAX_DEPTH + 101)]
    deep = console(tmp_path, "\n".join(["locals {", "  l0 = 1", *lines, "}\n"]))
    assert codes(deep.evaluate_text(f"local.l{MAX_DEPTH + 100}")) == ["KP114"]
    most = deep.evaluate_text(f"local.l{MAX_DEPTH - 1}")
    assert most.text.count("[") == MAX_DEPTH - 1
    assert json.loads(most.json)["ok"] is True
