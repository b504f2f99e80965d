"""First errors have the summary and the place that Terraform 1.11.4 gives.

The record was written by `record_errors.py`. It names the differences that are accepted, with
their reasons. A case that gets Terraform's words has to leave this list. Cases that begin with
`held-` were written and recorded before the code was changed for the others.
"""

import json
from pathlib import Path

import pytest

from kplan.model.codes import SUMMARIES
from kplan.model.summaries import OTHER_SUMMARIES, codes_of_summary
from tests.unit.config.load_helper import load_files
from tests.unit.config.record_errors import RECORD, case_files, cases

CASES = cases()
FOUND = json.loads(RECORD.read_text(encoding="utf-8"))
ERRORS, ACCEPTED = FOUND["errors"], FOUND["accepted"]


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
    assert ACCEPTED.keys() <= CASES.keys()


@pytest.mark.parametrize("name", sorted(CASES.keys() - ACCEPTED.keys()))
def test_a_first_error_is_terraforms(name: str, tmp_path: Path) -> None:
    assert kplan_error(tmp_path, name) == ERRORS[name]


@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_an_accepted_difference_is_one_and_is_refused(name: str, tmp_path: Path) -> None:
    assert kplan_error(tmp_path, name) not in (None, ERRORS[name])


def test_at_least_95_percent_of_the_first_errors_are_terraforms() -> None:
    assert len(CASES) - len(ACCEPTED) >= 0.95 * len(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_summary_is_listed_with_its_code(name: str, tmp_path: Path) -> None:
    for each in load_files(tmp_path, case_files(CASES[name])).diagnostics:
        assert each.code in codes_of_summary(each.summary)


def test_other_summaries_are_of_codes_and_none_is_the_title_of_its_code() -> None:
    for code, summaries in OTHER_SUMMARIES.items():
        assert SUMMARIES[code] not in summaries


@pytest.mark.parametrize(
    ("summary", "codes"),
    [
        ("Missing resource instance key", ("KP116",)),
        ("missing resource instance key", ("KP116",)),
        ("Extraneous label for variable", ("KP125",)),
        ('Duplicate resource "kafka_topic" configuration', ("KP123", "KP190")),
        ("Cycle", ("KP145",)),
        ("Nothing of the kind", ()),
    ],
)
def test_a_code_is_found_by_a_summary(summary: str, codes: tuple[str, ...]) -> None:
    assert codes_of_summary(summary) == codes
