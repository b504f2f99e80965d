"""Folders with mistakes, and all that is said about each: `mistakes/NAME/diagnostics.txt`.

`KPLAN_UPDATE_GOLDEN=1 pytest tests/unit/config/test_mistakes.py` writes the texts anew.
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
def test_every_mistake_of_a_folder_is_told_at_its_place(name: str) -> None:
    """Every file's problems are told in one run (plan-apply.md 7.7)."""
    folder = MISTAKES / name
    found = (
        "\n\n".join(
            diagnostic_text(each)
            for each in load_configuration(folder, Inputs(), KINDS).diagnostics
        )
        + "\n"
    )
    found = found.replace(str(folder), name)
    golden = folder / "diagnostics.txt"
    if "KPLAN_UPDATE_GOLDEN" in os.environ:
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
