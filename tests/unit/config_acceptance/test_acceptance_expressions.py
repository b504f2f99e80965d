"""Expressions that were once evaluated otherwise than by Terraform 1.11.4.

`expressions.jsonl` holds what Terraform made of each, as the value of an output beside
`preamble.tf`: type and value as `terraform output -json` writes them (fractions as
`{"$number": "0.1"}`, to keep every digit), or the summaries of the errors.
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

HERE = Path(__file__).parent
CASES = [
    json.loads(line)
    for line in (HERE / "expressions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Console:
    folder = tmp_path_factory.mktemp("acceptance")
    shutil.copy(HERE / "preamble.tf", folder)
    made = Console(folder, Inputs(), KINDS)
    assert made.diagnostics == ()
    return made


def ours(value: Value) -> object:
    """Write a value with its numbers as text."""
    if isinstance(value, tuple):
        return [ours(each) for each in value]
    if isinstance(value, dict):
        return {key: ours(each) for key, each in value.items()}
    if is_null(value):
        return None
    return f"number {number_text(value)}" if is_number(value) else value


def theirs(value: object) -> object:
    """Read what is recorded, numbers as their text."""
    if isinstance(value, list):
        return [theirs(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"$number"}:
            return f"number {number_text(parse_number(value['$number']))}"
        return {key: theirs(each) for key, each in value.items()}
    if isinstance(value, int) and not isinstance(value, bool):
        return f"number {value}"
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda each: each["expression"])
def test_an_expression_is_evaluated_as_by_terraform(console: Console, case: dict[str, Any]) -> None:
    answer = console.evaluate_text(case["expression"])
    if "errors" in case:
        assert not answer.is_value
        assert all(each.subject for each in answer.diagnostics)
        return
    assert answer.diagnostics == ()
    assert ours(bare(answer.value)) == theirs(case["value"])
    if not is_null(answer.value):  # Terraform leaves out an output that is null, type and all
        assert type_json(type_of(answer.value)) == case["type"]
