"""Results of tests as text, as messages and as JUnit XML."""

import json
from xml.etree import ElementTree as ET

from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.plan import Plan, PlanBasis
from kplan.model.table import RunResult, RunStatus
from kplan.report import run_views
from kplan.report.format import PLAIN_STYLE, TextStyle

AT = "2026-01-02T03:04:05.000+00:00"
SOURCES = {"a.kptest.hcl": 'run "bad" {\n  condition = output.o == 4\n}\n'}
FAILED = Diagnostic(
    "KP701",
    Severity.ERROR,
    "Test assertion failed",
    'It is <3> & "not" 4\x07.',
    subject=SourceRange("a.kptest.hcl", 2, 15, 2, 28),
    values=(("output.o", "is 3"),),
)
PLAN = Plan(PlanBasis("", "", 0, ""), (), ())
RESULTS = (
    RunResult("a.kptest.hcl", "good", RunStatus.PASS, elapsed_s=0.25, plan=PLAN),
    RunResult("a.kptest.hcl", "bad", RunStatus.FAIL, (FAILED, FAILED)),
    RunResult("tests/b.kptest.hcl", "broken", RunStatus.ERROR, (FAILED,)),
    RunResult("tests/b.kptest.hcl", "left", RunStatus.SKIP, reason='Run "broken" came to no end.'),
)


def test_text_has_the_words_of_terraform() -> None:
    assert run_views.result_file_line("a", None, PLAIN_STYLE) == "a... in progress"
    assert run_views.result_file_line("a", RunStatus.ERROR, PLAIN_STYLE) == "a... fail"
    lines = [run_views.result_run_line(each, PLAIN_STYLE) for each in RESULTS]
    assert lines == [
        '  run "good"... pass',
        '  run "bad"... fail',
        '  run "broken"... fail',
        '  run "left"... skip',
    ]
    assert run_views.result_summary_line(RESULTS, PLAIN_STYLE) == (
        "Failure! 1 passed, 2 failed, 1 skipped."
    )
    assert run_views.result_summary_line(RESULTS[:1], PLAIN_STYLE) == "Success! 1 passed, 0 failed."
    assert run_views.result_summary_line((), PLAIN_STYLE) == "Success! 0 passed, 0 failed."


def test_a_terminal_shows_grades_in_colour_and_words() -> None:
    shown = run_views.result_run_line(RESULTS[0], TextStyle(colour=True))
    assert shown == '  run "good"... \x1b[32mpass\x1b[0m'


def test_messages_carry_file_run_status_and_problems() -> None:
    names = {"a.kptest.hcl": ("good", "bad")}
    first = json.loads(run_views.result_abstract_json(names, AT))
    assert first["@message"] == "Found 1 file and 2 run blocks"
    assert first["test_abstract"] == {"a.kptest.hcl": ["good", "bad"]}
    began = json.loads(run_views.result_file_json("a", None, AT))
    assert began["test_file"] == {"path": "a", "progress": "starting"}
    ended = json.loads(run_views.result_file_json("a", RunStatus.PASS, AT))
    assert ended["test_file"] == {"path": "a", "progress": "complete", "status": "pass"}
    found = [
        json.loads(line)
        for line in run_views.result_run_json(RESULTS[1], SOURCES, AT, has_plan=True).splitlines()
    ]
    assert [each["type"] for each in found] == ["test_run", "diagnostic", "diagnostic"]
    assert all(each["@testrun"] == "bad" for each in found)
    assert found[0]["test_run"]["status"] == "fail"
    assert found[1]["diagnostic"]["snippet"]["values"][0]["statement"] == "is 3"
    last = json.loads(run_views.result_summary_json(RESULTS, AT))["test_summary"]
    assert last == {"status": "error", "passed": 1, "failed": 1, "errored": 1, "skipped": 1}


def test_a_plan_is_told_where_it_is_asked_for() -> None:
    lines = run_views.result_run_json(RESULTS[0], SOURCES, AT, has_plan=True).splitlines()
    told = [json.loads(line) for line in lines]
    assert [each["type"] for each in told] == ["test_run", "test_plan"]
    assert "resource_changes" in told[1]["test_plan"]
    assert told[0]["test_run"]["elapsed"] == 250
    alone = run_views.result_run_json(RESULTS[0], SOURCES, AT, has_plan=False)
    assert len(alone.splitlines()) == 1


def test_junit_counts_and_shows_what_failed() -> None:
    text = run_views.result_junit(RESULTS, SOURCES)
    suites = ET.fromstring(text).findall("testsuite")  # noqa: S314 - our own text
    assert [each.attrib for each in suites] == [
        {"name": "a.kptest.hcl", "tests": "2", "skipped": "0", "failures": "1", "errors": "0"},
        {
            "name": "tests/b.kptest.hcl",
            "tests": "2",
            "skipped": "1",
            "failures": "0",
            "errors": "1",
        },
    ]
    good, bad = suites[0].findall("testcase")
    assert good.attrib == {"name": "good", "classname": "a.kptest.hcl", "time": "0.250"}
    assert list(good) == []
    (failure,) = bad
    assert failure.tag == "failure"
    assert failure.get("message") == (
        'Test assertion failed: It is <3> & "not" 4\ufffd. (and 1 more)'
    )
    assert "output.o is 3" in (failure.text or "")
    assert "│ Error" not in (failure.text or "")
    assert "\n\n\n" not in (failure.text or "")
    broken, left = suites[1].findall("testcase")
    assert broken[0].tag == "error"
    assert left[0].attrib == {"message": 'Run "broken" came to no end.'}
