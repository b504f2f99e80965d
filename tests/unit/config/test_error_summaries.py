"""First errors have the summary and the place that Terraform 1.11.4 gives.

The record was written by `record_errors.py`. It names the differences that are accepted, with
their reasons, and those that are open, with what kplan says today (null: no error). A case that
gets Terraform's words has to leave these lists, so the share only grows.
"""

import json
from pathlib import Path

import pytest

from tests.unit.config.load_helper import load_files
from tests.unit.config.record_errors import RECORD, case_files, cases

CASES = cases()
FOUND = json.loads(RECORD.read_text(encoding="utf-8"))
ERRORS, ACCEPTED, OPEN = FOUND["errors"], FOUND["accepted"], FOUND["open"]
DIFFERENT = {**ACCEPTED, **OPEN}


def kplan_error(folder: Path, name: str) -> dict[str, object] | None:
    """Return the first error of a case, in the form of the record."""
    found = load_files(folder, case_files(CASES[name])).diagnostics
    first = next((each for each in found if each.is_error), None)
    if first is None:
        return None
    at = first.subject
    return {
        "summary": first.summary,
        "line": at.line if at else 0,
        "column": at.column if at else 0,
    }


def test_every_case_is_recorded_and_every_difference_is_of_a_case() -> None:
    assert ERRORS.keys() == CASES.keys()
    assert DIFFERENT.keys() <= CASES.keys()
    assert not ACCEPTED.keys() & OPEN.keys()


@pytest.mark.parametrize("name", sorted(CASES.keys() - DIFFERENT.keys()))
def test_a_first_error_is_terraforms(name: str, tmp_path: Path) -> None:
    assert kplan_error(tmp_path, name) == ERRORS[name]


@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_an_accepted_difference_is_one_and_is_refused(name: str, tmp_path: Path) -> None:
    assert kplan_error(tmp_path, name) not in (None, ERRORS[name])


@pytest.mark.parametrize("name", sorted(OPEN))
def test_an_open_difference_is_as_recorded(name: str, tmp_path: Path) -> None:
    assert kplan_error(tmp_path, name) == OPEN[name] != ERRORS[name]
