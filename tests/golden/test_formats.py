"""A plan in every format but text and JSON, which each case has; no format tells a secret."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.report.format import Format
from kplan.report.render import FormatOptions, Report, render_report
from kplan.report.subject import plan_report, problems_report
from tests.golden.case import CASES, NOW, told
from tests.golden.test_golden import COUNTS, NAMES, NOTHING

SHOWN = ("mixed", "no_changes", "protected", "invalid_configuration")
FILES = {
    Format.MARKDOWN: "md",
    Format.HTML: "html",
    Format.NDJSON: "ndjson",
    Format.JUNIT: "xml",
    Format.SARIF: "sarif",
    Format.GITLAB: "gitlab.json",
}


def report(name: str, scratch: Path) -> Report:
    found, at = told(CASES / name, scratch), NOW.isoformat()
    if found.plan is None:
        return problems_report("kplan plan", found.diagnostics, found.sources, at)
    return plan_report(found.plan, found.sources, at)


@pytest.mark.parametrize("name", SHOWN)
def test_a_plan_is_written_in_every_format(
    name: str, tmp_path: Path, golden: Callable[[Path, str], None]
) -> None:
    found = report(name, tmp_path)
    for format_, suffix in FILES.items():
        file = Path(__file__).parent / "formats" / f"{name}.{suffix}"
        golden(file, render_report(found, format_, FormatOptions(folder="topics/")))


@pytest.mark.parametrize("name", NAMES)
def test_no_format_of_any_case_shows_a_secret(name: str, tmp_path: Path) -> None:
    """Design law 11."""
    found = report(name, tmp_path)
    for format_ in Format:
        told = render_report(found, format_, FormatOptions())
        assert not [each for each in ("hunter", "424242") if each in told], format_


@pytest.mark.parametrize("name", NAMES)
def test_every_format_counts_what_the_text_counts(name: str, tmp_path: Path) -> None:
    found = report(name, tmp_path)
    text = render_report(found, Format.TEXT, FormatOptions())
    gitlab = json.loads(render_report(found, Format.GITLAB, FormatOptions()))
    counted = COUNTS.search(text)
    numbers = [int(each) for each in counted.groups()[1:]] if counted else [0, 0, 0]
    assert [gitlab["create"], gitlab["update"], gitlab["delete"]] == numbers
    comment = render_report(found, Format.MARKDOWN, FormatOptions())
    assert bool(NOTHING.search(text)) == (
        "**No changes. Your infrastructure matches the configuration.**" in comment
    )
