"""JUnit, SARIF, GitLab's report and streams: what each tool requires is there."""

import json
from dataclasses import replace
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from kplan.cluster.errors import refusal
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Change, Plan, Risk
from kplan.model.table import RunStatus
from kplan.policy.risk import add_risks
from kplan.report.data import Case, Finding, Level
from kplan.report.documents.diagnostic import risk_findings
from kplan.report.documents.drift import DriftCoverage
from kplan.report.format import Format
from kplan.report.formats.sarif import MAX_RESULTS, sarif_data
from kplan.report.render import FormatOptions, Report, render_report
from kplan.report.subject import apply_report, drift_report, plan_report, problems_report
from tests.schemas import Schema
from tests.values import acl, make_plan, owned, resource, snapshot, state, topic

AT = "2026-11-21T14:44:18.283+00:00"
SOURCES = {"topics/a b.tf": 'resource "kafka_topic" "x" {\n  partitions = 0\n}\n'}
PROBLEMS = (
    Diagnostic(
        "KP201", Severity.ERROR, "Bad number", "It is 0.", "Write 1.",
        subject=SourceRange("topics/a b.tf", 2, 16, 2, 17),
    ),
    Diagnostic("KP174", Severity.WARNING, "Value nobody asked for", "Nobody declares it."),
)  # fmt: skip


def planned() -> Plan:
    held = state(
        owned("kafka_topic.old", topic("old"), "1"),
        owned("kafka_topic.kept", topic("kept"), "2"),
        owned("kafka_acl.swap", acl()),
    )
    live = snapshot([(topic("old"), "1"), (topic("kept"), "2")], [acl()])
    wanted = [
        resource("kafka_topic.new", topic("new"), line=7),
        resource("kafka_topic.kept", topic("kept", partitions=6), line=12),
        resource("kafka_acl.swap", acl(acl_operation="Write")),
    ]
    return add_risks(make_plan(wanted, held, live))


def change(name: str) -> Change:
    (found,) = [each for each in planned().changes if each.address.name == name]
    return found


def outcomes() -> tuple[Outcome, ...]:
    return (
        Outcome(change("new"), OutcomeStatus.APPLIED, attempts=1, elapsed_ms=31, is_verified=True),
        Outcome(change("kept"), OutcomeStatus.FAILED, refusal(29), attempts=2, elapsed_ms=5),
        Outcome(change("old"), OutcomeStatus.UNKNOWN, attempts=1),
        Outcome(change("swap"), OutcomeStatus.SKIPPED),
    )


def drifted() -> tuple[Change, ...]:
    held = state(
        owned("kafka_topic.audit", topic("audit", config={"retention.ms": "1"}), "1"),
        owned("kafka_topic.lost", topic("lost"), "2"),
        owned("kafka_topic.again", topic("again"), "3"),
    )
    live = [(topic("audit", config={"retention.ms": "2"}), "1"), (topic("again"), "other")]
    return make_plan([], held, snapshot(live)).drift


REPORTS: dict[str, Report] = {
    "plan": plan_report(planned(), SOURCES, AT),
    "apply": apply_report(planned(), outcomes(), SOURCES, AT, "kplan apply"),
    "drift": drift_report(drifted(), DriftCoverage(unread={"kafka_acl": "no right"}), AT),
    "validate": problems_report("kplan validate", PROBLEMS, SOURCES, AT),
    "nothing": problems_report("kplan validate", (), {}, AT),
}


def sarif(name: str, folder: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        render_report(REPORTS[name], Format.SARIF, FormatOptions(folder=folder))
    )
    return found


def suites(name: str) -> list[ET.Element]:
    text = render_report(REPORTS[name], Format.JUNIT, FormatOptions())
    return ET.fromstring(text).findall("testsuite")  # noqa: S314 - our own text


@pytest.mark.parametrize("format_", list(Format))
@pytest.mark.parametrize("name", sorted(REPORTS))
def test_every_report_is_written_in_every_format(name: str, format_: Format) -> None:
    """M documents times N formats, of which nobody wrote M x N."""
    text = render_report(REPORTS[name], format_, FormatOptions())
    assert text.endswith("\n") or (format_ in {Format.GITHUB, Format.AZURE} and not text)
    assert text == render_report(REPORTS[name], format_, FormatOptions())


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_sarif_has_all_that_its_schema_and_code_scanning_require(name: str) -> None:
    """SARIF 2.1.0, 3.13 sarifLog, 3.14 run, 3.27 result; a result needs a physical location."""
    log = sarif(name)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "kplan"
    rules = driver["rules"]
    assert [each["id"] for each in rules] == sorted({each["id"] for each in rules})
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        for location in result["locations"]:
            assert location["physicalLocation"]["artifactLocation"]["uri"]
            region = location["physicalLocation"].get("region", {"startLine": 1, "startColumn": 1})
            assert min(region.values()) >= 1


def test_sarif_points_at_the_span_from_the_top_of_the_repository() -> None:
    (run,) = sarif("validate", "live/")["runs"]
    (error, warning) = run["results"]
    physical = error["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "live/topics/a%20b.tf"
    assert physical["region"] == {
        "startLine": 2, "startColumn": 16, "endLine": 2, "endColumn": 17,
    }  # fmt: skip
    assert error["message"]["text"] == "It is 0.\nWrite 1."
    assert warning["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "live/"


def test_sarif_keeps_within_what_code_scanning_takes(sarif_schema: Schema) -> None:
    """More than 25,000 results in a run and GitHub refuses the file; the gravest are kept."""
    notes = [Finding("KP1", Level.NOTE, "Note", str(number)) for number in range(MAX_RESULTS)]
    grave = Finding("KP2", Level.ERROR, "Grave")
    log = sarif_data([Case("all", "all", RunStatus.FAIL, findings=(*notes, grave))])
    (run,) = cast("dict[str, Any]", log)["runs"]
    assert len(run["results"]) == MAX_RESULTS
    sarif_schema.validate({**cast("dict[str, Any]", log), "runs": [{**run, "results": []}]})
    assert run["results"][0]["ruleId"] == "KP2"
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "Findings left out, of the lowest levels: 1."


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_code_scanning_finds_in_sarif_what_it_needs(name: str) -> None:
    """GitHub's subset: relative locations, all texts of a rule, at most 1,024 characters each."""
    for run in sarif(name, "live/")["runs"]:
        for rule in run["tool"]["driver"]["rules"]:
            for key in ("shortDescription", "fullDescription", "help"):
                assert 0 < len(rule[key]["text"]) <= 1024
        for result in run["results"]:
            (location,) = result["locations"]
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert not uri.startswith("/")
            assert ":" not in uri


def test_a_finding_is_known_again_when_lines_above_it_moved() -> None:
    def prints(line: int) -> list[str]:
        moved = Diagnostic(
            "KP201", Severity.ERROR, "Bad", "It is 0.", subject=SourceRange("a", line, 1, line, 2)
        )
        report = problems_report("", [moved], {}, AT)
        log = json.loads(render_report(report, Format.SARIF, FormatOptions()))
        return [each["partialFingerprints"]["kplan/v1"] for each in log["runs"][0]["results"]]

    assert prints(2) == prints(9)


def test_risks_and_refusals_are_findings() -> None:
    assert [each["ruleId"] for each in sarif("plan")["runs"][0]["results"]] == [
        "KP2101", "KP2301", "KP2203",
    ]  # fmt: skip
    assert [each["ruleId"] for each in sarif("apply")["runs"][0]["results"]] == [
        "TOPIC_AUTHORIZATION_FAILED", "KP2504",
    ]  # fmt: skip
    assert [each["ruleId"] for each in sarif("drift")["runs"][0]["results"]] == [
        "KP2503", "KP2501", "KP2502", "KP234",
    ]  # fmt: skip


def test_what_is_good_to_know_of_a_dangerous_change_is_no_warning() -> None:
    noted = replace(
        change("old"),
        risk=Risk.DANGEROUS,
        notes=("KP2101 every record is lost", "KP2103 nothing stands in it"),
    )
    assert [(each.code, each.level, each.summary) for each in risk_findings(noted)] == [
        ("KP2101", Level.WARNING, "Dangerous change"),
        ("KP2103", Level.NOTE, "Nothing is at stake"),
    ]


def test_junit_tells_refused_from_unknown_and_skipped() -> None:
    found = {
        case.get("name"): [inner.tag for inner in case]
        for suite in suites("apply")
        for case in suite
    }
    assert found == {
        "kafka_topic.new": [],
        "kafka_topic.kept": ["failure"],
        "kafka_topic.old": ["error"],
        "kafka_acl.swap": ["skipped"],
    }
    (failure,) = [each for suite in suites("apply") for each in suite.iter("failure")]
    assert "TOPIC_AUTHORIZATION_FAILED" in (failure.get("message") or "")
    assert "hint:" in (failure.text or "")


def test_junit_of_a_plan_fails_for_problems_only() -> None:
    assert {each.get("failures") for each in suites("plan")} == {"0"}
    shown = [
        case for suite in suites("plan") for case in suite if case.find("system-out") is not None
    ]
    assert {case.get("name") for case in shown} == {
        "kafka_topic.old", "kafka_topic.kept", "kafka_acl.swap",
    }  # fmt: skip
    (suite,) = suites("validate")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_every_drifted_object_fails_and_what_stayed_dark_is_an_error() -> None:
    found = {suite.get("name"): dict(suite.attrib) for suite in suites("drift")}
    assert found["kafka_topic"]["failures"] == "3"
    assert found["cluster"]["errors"] == "1"


@pytest.mark.parametrize(
    "format_",
    [Format.JUNIT, Format.SARIF, Format.GITHUB, Format.AZURE],
    ids=lambda each: each.value,
)
def test_every_format_of_an_apply_and_of_drift_tells_what_could_not_be_read(
    format_: Format,
) -> None:
    unread = {"kafka_quota": "no right"}
    hidden = DriftCoverage(unread=unread, hidden={"kafka_topic": ("secret",)})
    done = apply_report(replace(planned(), unread=unread), (), {}, AT, "kplan apply")
    found = render_report(done, format_, FormatOptions())
    assert "could not be read: no right" in found
    found = render_report(drift_report((), hidden, AT), format_, FormatOptions())
    assert "could not be read: no right" in found
    assert "kafka_topic/secret" in found


def test_a_report_with_nothing_in_it_is_still_one_that_services_take() -> None:
    """An empty JUnit file is a failure to some of them."""
    plan = make_plan([], state(), snapshot())
    for report in (
        plan_report(plan, {}, AT),
        apply_report(plan, (), {}, AT, ""),
        drift_report((), DriftCoverage(), AT),
        problems_report("kplan validate", (), {}, AT),
    ):
        root = ET.fromstring(render_report(report, Format.JUNIT, FormatOptions()))  # noqa: S314
        assert [each.get("tests") for each in root] == ["1"]
        assert json.loads(render_report(report, Format.GITLAB, FormatOptions())) == {
            "create": 0, "update": 0, "delete": 0,
        }  # fmt: skip


def test_gitlab_counts_a_replacement_on_both_sides() -> None:
    """GitLab's own component reads a plan so."""
    found = json.loads(render_report(REPORTS["plan"], Format.GITLAB, FormatOptions()))
    assert found == {"create": 2, "update": 1, "delete": 2}


def test_a_stream_begins_with_its_version_and_carries_the_problems() -> None:
    for name, last in (("plan", "change_summary"), ("apply", "change_summary"),
                       ("drift", "resource_drift"), ("validate", "diagnostic")):  # fmt: skip
        text = render_report(REPORTS[name], Format.NDJSON, FormatOptions())
        told = [json.loads(line) for line in text.splitlines()]
        assert told[0]["type"] == "version"
        assert told[-1]["type"] == last
        assert {each["@timestamp"] for each in told} == {AT}


def test_an_apply_as_json_tells_every_outcome() -> None:
    found = json.loads(render_report(REPORTS["apply"], Format.JSON, FormatOptions()))
    assert found["complete"] is False
    assert found["counts"] == {
        "applied": 1,
        "failed": 1,
        "skipped": 1,
        "unknown": 1,
        "in_progress": 0,
    }
    assert [each["status"] for each in found["outcomes"]] == ["ok", "failed", "unknown", "skipped"]


def test_an_incomplete_apply_as_a_comment_says_what_failed_and_how_to_go_on() -> None:
    text = render_report(REPORTS["apply"], Format.MARKDOWN, FormatOptions())
    assert text.index("**Apply incomplete: ") < text.index("### Needs attention")
    assert "kplan apply" in text
    assert "| not attempted |" in text


def test_annotations_cannot_be_broken_out_of() -> None:
    evil = Diagnostic(
        "KP201", Severity.ERROR, "Bad, name: here", "a\n::error::b\r\x1b[2J\u202e%]; ##vso[x]",
        subject=SourceRange("a,b:c.tf", 2, 16, 3, 17),
    )  # fmt: skip
    report = problems_report("", [evil], {}, AT)
    github = render_report(report, Format.GITHUB, FormatOptions(folder="live/"))
    assert github == (
        "::error file=live/a%2Cb%3Ac.tf,line=2,endLine=3,title=KP201 Bad%2C name%3A here"
        "::a%0A::error::b\\u000d\\u001b[2J\\u202e%25]; ##vso[x]\n"
    )
    azure = render_report(report, Format.AZURE, FormatOptions(folder="live/"))
    assert azure == (
        "##vso[task.logissue type=error;sourcepath=live/a,b:c.tf;linenumber=2;columnnumber=16;"
        "code=KP201]a%0A::error::b\\u000d\\u001b[2J\\u202e%AZP25%5D%3B ##vso[x%5D\n"
    )


def test_no_more_is_annotated_than_a_service_shows_errors_first() -> None:
    many = [
        Diagnostic(f"KP{number:03}", severity, "Bad")
        for severity in (Severity.WARNING, Severity.ERROR)
        for number in range(30)
    ]
    lines = render_report(
        problems_report("", many, {}, AT), Format.GITHUB, FormatOptions()
    ).splitlines()
    assert [each.partition(" ")[0] for each in lines] == ["::error"] * 10 + ["::warning"] * 10
