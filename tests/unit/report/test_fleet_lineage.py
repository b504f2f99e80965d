"""Issue 6, lineage of every number: whatever the form, it says what its figures are of."""

from dataclasses import replace

import pytest

from kplan.model.table import Figures, FigureTable
from kplan.report.format import ANSWER_FORMATS, PLAIN_STYLE, Format
from kplan.report.render import FormatOptions, render_report
from kplan.report.subject import figures_report
from kplan.report.views import figures_html, figures_json, figures_text

LINEAGE = {
    "run": "monday",
    "snapshots": "2-of-3",
    "kplan_version": "7.8.9",
    "answered_by": "7.9.0",
}
FOUND = Figures(
    "Inventory", (FigureTable("inventory", ("group", "topics", "acls"), (("eu", 1, 2),)),), LINEAGE
)


@pytest.mark.parametrize("format_", sorted(ANSWER_FORMATS))
def test_every_format_of_a_report_names_what_its_figures_are_of(format_: Format) -> None:
    told = render_report(figures_report(FOUND, "2026-11-22T00:00:00Z"), format_, FormatOptions())
    assert not [each for each in LINEAGE.values() if each not in told]


def test_answers_and_pages_do_too() -> None:
    for told in (figures_json(FOUND), figures_text(FOUND, PLAIN_STYLE), figures_html(FOUND)):
        assert not [each for each in LINEAGE.values() if each not in told]


def test_every_form_of_an_answer_tells_notes_and_remarks() -> None:
    found = replace(FOUND, notes=("no-answer",), remarks=("not-counted",))
    report = figures_report(found, "2026-11-22T00:00:00Z")
    forms = [render_report(report, each, FormatOptions()) for each in ANSWER_FORMATS]
    for told in (
        *forms,
        figures_json(found),
        figures_text(found, PLAIN_STYLE),
        figures_html(found),
    ):
        assert "no-answer" in told
        assert "not-counted" in told


def test_a_long_malformed_line_is_cut_for_people_and_whole_for_programs() -> None:
    long = "x" * 3_000_000
    rows = (("eu", "a.log", long, 1), ("eu", "a.log", "y" * 300, 1))
    found = Figures(
        "Logs", (FigureTable("malformed", ("cluster", "source", "line", "count"), rows),)
    )
    told = figures_text(found, PLAIN_STYLE)
    assert f" {'x' * 300}... " in told
    assert f" {'y' * 300} " in told
    assert len(told) < 2_000
    assert long in figures_json(found)


def test_markdown_names_its_tables_and_sets_numbers_to_the_right() -> None:
    told = render_report(
        figures_report(FOUND, "2026-11-22T00:00:00Z"), Format.MARKDOWN, FormatOptions()
    )
    assert "**inventory**\n\n| group | topics | acls |\n| --- | ---: | ---: |\n| eu |" in told
