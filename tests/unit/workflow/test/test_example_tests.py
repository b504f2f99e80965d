"""The tests that examples bring along pass."""

from pathlib import Path

import pytest

from kplan.config.inputs import Inputs
from kplan.model.table import RunStatus
from kplan.workflow.ports import Project
from kplan.workflow.test.test import open_suite

EXAMPLES = Path(__file__).parents[4] / "examples"
TESTED = sorted({each.parent for each in EXAMPLES.rglob("*.kptest.hcl")})


@pytest.mark.parametrize("folder", TESTED, ids=lambda each: each.name)
def test_every_test_of_an_example_passes(folder: Path) -> None:
    found = open_suite(Project(folder, folder / "state" / "kplan.json", Inputs()))
    results = [each for script in found.test_files for each in found.run_file(script, lambda: 0.0)]
    assert [each for each in results if each.status is not RunStatus.PASS] == []
    assert results


def test_the_quickstart_shows_how_tests_are_written() -> None:
    assert EXAMPLES / "quickstart" in TESTED
