"""Environment variables: what kplan reads, and what it only warns about."""

import re
from pathlib import Path

import pytest

from kplan.cli.environment import PREFIXES, VARIABLES, unknown_variable_warnings
from kplan.model.ci_job import CI_VARIABLES, is_ci, is_enabled

PACKAGE = Path(__file__).parents[3] / "kplan"


def test_an_unknown_variable_is_told_with_the_name_that_was_meant() -> None:
    told = list(
        unknown_variable_warnings({"KPLAN_BOOTSTRAP_SERVER": "x", "HOME": "/", "KPLAN_XYZZY": "1"})
    )
    what = "Unknown environment variable"
    assert told == [
        f"{what} KPLAN_BOOTSTRAP_SERVER. Did you mean KPLAN_BOOTSTRAP_SERVERS?",
        f"{what} KPLAN_XYZZY.",
    ]


def test_known_variables_and_families_of_them_are_not_told() -> None:
    families = {f"{prefix}NAME": "x" for prefix in PREFIXES}
    assert list(unknown_variable_warnings(dict.fromkeys(VARIABLES, "x") | families)) == []
    assert len(list(unknown_variable_warnings({"KPLAN_VAR_": "a variable without a name"}))) == 1


def test_every_variable_that_the_code_reads_is_known() -> None:
    """A variable that works but is warned about would be worse than no warning."""
    read = {
        name
        for file in PACKAGE.rglob("*.py")
        for name in re.findall(r'"(KPLAN_[A-Z0-9_]+)"', file.read_text(encoding="utf-8"))
    }
    assert list(unknown_variable_warnings(dict.fromkeys(read - set(PREFIXES), "x"))) == []


@pytest.mark.parametrize("name", CI_VARIABLES)
def test_a_ci_job_is_known_by_any_of_its_variables(name: str) -> None:
    assert is_ci({name: "1"})
    assert not is_ci({name: "1", "KPLAN_DISABLE_CI_DETECTION": "true"})


def test_a_variable_that_says_no_does_not_count() -> None:
    assert not is_ci({"CI": "false"})
    assert not is_enabled({"A": "0", "B": "No", "C": ""}, "A", "B", "C", "D")
    assert is_enabled({"A": "0", "B": "yes"}, "A", "B")
