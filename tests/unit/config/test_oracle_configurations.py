"""Whole configurations have the outputs that Terraform 1.11.4 gave, or are refused as by it.

The fixtures were written by `record_configurations.py`.
"""

import json
from pathlib import Path

import pytest

from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.config.values.number import number_text, parse_number
from kplan.kinds import KINDS

CONFIGURATIONS = Path(__file__).parent / "fixtures" / "configurations"
NAMES = sorted(each.name for each in CONFIGURATIONS.iterdir())


def plain(value: object) -> object:
    """Write a value with its numbers as text, whether ours or as recorded."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"$number"}:
            return number_text(parse_number(value["$number"]))
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, float | int) and not isinstance(value, bool):
        return number_text(parse_number(str(value)))
    return value


@pytest.mark.parametrize("name", [each for each in NAMES if not each.startswith("error-")])
def test_a_configuration_has_terraforms_outputs(name: str) -> None:
    found = load_configuration(CONFIGURATIONS / name, Inputs(), KINDS)
    recorded = json.loads((CONFIGURATIONS / name / "terraform.json").read_text(encoding="utf-8"))
    assert found.diagnostics == ()
    ours = {each.name: (plain(each.value), each.type, each.sensitive) for each in found.outputs}
    assert ours == {
        key: (plain(each["value"]), each["type"], each["sensitive"])
        for key, each in recorded["outputs"].items()
    }


@pytest.mark.parametrize("name", [each for each in NAMES if each.startswith("error-")])
def test_a_configuration_is_refused_at_as_many_places_as_by_terraform(name: str) -> None:
    """Terraform stops after a phase; kplan tells the problems of all, so it may tell more."""
    found = load_configuration(CONFIGURATIONS / name, Inputs(), KINDS)
    recorded = json.loads((CONFIGURATIONS / name / "terraform.json").read_text(encoding="utf-8"))
    errors = [each for each in found.diagnostics if each.is_error]
    assert len(errors) >= len(recorded["errors"])
    assert all(each.subject for each in errors)
