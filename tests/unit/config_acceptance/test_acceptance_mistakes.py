"""Mistakes that were once told badly, or not at all: `mistakes/NAME/diagnostics.txt`.

`KPLAN_UPDATE_GOLDEN=1 pytest tests/unit/config_acceptance` writes the texts anew.
"""

import os
from pathlib import Path

import pytest

from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from tests.unit.config.load_helper import diagnostic_text

MISTAKES = Path(__file__).parent / "mistakes"


@pytest.mark.parametrize("name", sorted(each.name for each in MISTAKES.iterdir()))
def test_every_mistake_is_told_at_its_place_with_a_way_out(name: str) -> None:
    folder = MISTAKES / name
    found = load_configuration(folder, Inputs(), KINDS).diagnostics
    assert all(each.subject for each in found)
    text = "\n\n".join(diagnostic_text(each) for each in found).replace(str(folder), name) + "\n"
    golden = folder / "diagnostics.txt"
    if "KPLAN_UPDATE_GOLDEN" in os.environ:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
