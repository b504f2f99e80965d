"""Expressions have the type and value that Terraform 1.11.4 gave them.

The fixtures were written by `record_oracle.py`.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kplan.config.console import Console
from kplan.config.inputs import Inputs
from kplan.config.modules.root_module import type_json
from kplan.config.values.number import number_text, parse_number
from kplan.config.values.sensitive import bare
from kplan.config.values.value import Value, is_null, is_number, type_of
from kplan.kinds import KINDS

FIXTURES = Path(__file__).parent / "fixtures"
CASES = [
    json.loads(line)
    for line in (FIXTURES / "expressions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    folder = tmp_path_factory.mktemp("oracle")
    shutil.copy(FIXTURES / "preamble.tf", folder / "main.tf")
    made = Console(folder, Inputs(), KINDS)
    assert made.diagnostics == ()
    return made


def plain(value: Value) -> object:
    """Write a value as the fixtures do, numbers as their text."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if is_null(value):
        return None
    return f"number {number_text(value)}" if is_number(value) else value


def recorded(value: object) -> object:
    """Read what the fixtures hold, numbers as their text."""
    if isinstance(value, list):
        return [recorded(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"$number"}:
            return f"number {number_text(parse_number(value['$number']))}"
        return {key: recorded(each) for key, each in value.items()}
    if isinstance(value, int) and not isinstance(value, bool):
        return f"number {value}"
    return value


@pytest.mark.parametrize(
    "case", [each for each in CASES if "errors" not in each], ids=lambda each: each["expression"]
)
def test_an_expression_has_terraforms_type_and_value(
    console: Console, case: dict[str, Any]
) -> None:
    answer = console.evaluate_text(case["expression"])
    assert answer.diagnostics == ()
    assert plain(bare(answer.value)) == recorded(case["value"])
    if not is_null(answer.value):  # Terraform leaves out an output that is null, type and all
        assert type_json(type_of(answer.value)) == case["type"]


@pytest.mark.parametrize(
    "case", [each for each in CASES if "errors" in each], ids=lambda each: each["expression"]
)
def test_what_terraform_refuses_is_an_error_with_a_place(
    console: Console, case: dict[str, Any]
) -> None:
    answer = console.evaluate_text(case["expression"])
    assert not answer.is_value
    for each in answer.diagnostics:
        assert each.subject is not None
        assert each.detail


SAME_SUMMARY = 0.5


def test_most_errors_have_terraforms_own_summary(console: Console) -> None:
    refused = [each for each in CASES if "errors" in each]
    same = [
        each
        for each in refused
        if console.evaluate_text(each["expression"]).diagnostics[0].summary in each["errors"]
    ]
    assert len(same) / len(refused) > SAME_SUMMARY
