"""Every document times every format: what each says, as one table; the rest is refused.

Issue: plan, apply outcome, drift, access diff, policy result, blast radius (and answers, and
tables of the fleet) as text, JSON, NDJSON, Markdown, HTML, JUnit, SARIF and GitLab's report.
"""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.impact import (
    AccessChange,
    AccessDiff,
    AccessEffect,
    AllowedPrincipal,
    GroupImpact,
    Impact,
)
from kplan.model.plan import Plan
from kplan.model.policy import Level, Operation, Violation, ViolationStatus
from kplan.model.policy import RuleEffect as Verdict
from kplan.model.resource import Identity
from kplan.model.table import Figures, FigureTable
from kplan.policy.risk import add_impacts
from kplan.report.documents.access import allowed_principals_data, allowed_principals_document
from kplan.report.documents.drift import DriftCoverage
from kplan.report.format import ALL_FORMATS, ANSWER_FORMATS, UNCOUNTED_FORMATS, Format
from kplan.report.render import FormatOptions, Report, render_report
from kplan.report.subject import (
    PlanPart,
    answer_report,
    apply_report,
    drift_report,
    figures_report,
    plan_part_report,
    plan_report,
    problems_report,
)
from tests.schemas import Schema
from tests.unit.report.test_tool_formats import AT, PROBLEMS, SOURCES, drifted, outcomes, planned

REFUSED = Violation(
    "retention", Operation.DELETE, "kafka_topic", Identity("old"), Verdict.DENY, Level.HARD,
    ViolationStatus.REFUSED, "Keep it for a week.",
    Diagnostic(
        "KP301", Severity.ERROR, "Refused by a policy", "Keep it for a week.",
        subject=SourceRange("topics/a b.tf", 1, 1, 1, 9),
    ),
)  # fmt: skip
LOST = AccessChange(AccessEffect.LOSS, "User:billing", "*", "TOPIC", ("READ",), ("orders*",), 3)
HOLDERS = [AllowedPrincipal("User:billing", "*", "ALLOW READ on TOPIC orders")]
WHAT = ("TOPIC", "orders")
TABLES = Figures(
    "Drift", (FigureTable("drift", ("cluster", "topic"), (("blue", "orders"), ("red", "audit"))),)
)


def full() -> Plan:
    found = Impact(1_204_118, 3 << 30, 240_000, (GroupImpact("etl", is_live=True),), 1)
    plan = planned()
    (old,) = [each for each in plan.changes if each.address.name == "old"]
    plan = add_impacts(plan, {old.key: found})
    return replace(plan, violations=(REFUSED,), access=AccessDiff((LOST,), ("red is down",)))


def reports() -> dict[str, Report]:
    coverage = DriftCoverage(unread={"kafka_acl": "no right"})
    return {
        "plan": plan_report(full(), SOURCES, AT),
        "apply": apply_report(planned(), outcomes(), SOURCES, AT, "kplan apply"),
        "drift": drift_report(drifted(), coverage, AT),
        "access": plan_part_report(full(), PlanPart.ACCESS, AT),
        "policies": plan_part_report(full(), PlanPart.POLICIES, AT),
        "blast": plan_part_report(full(), PlanPart.BLAST, AT),
        "problems": problems_report("kplan validate", PROBLEMS, SOURCES, AT),
        "answer": answer_report(
            lambda: allowed_principals_document("READ", WHAT, HOLDERS, ()),
            lambda: allowed_principals_data("READ", WHAT, HOLDERS, ()),
            (allowed_principals_data("READ", WHAT, HOLDERS, ()),),
            AT,
        ),
        "fleet": figures_report(TABLES, AT),
    }


REPORTS = reports()
SENSE = {
    "plan": ALL_FORMATS,
    "apply": ALL_FORMATS,
    "drift": ALL_FORMATS,
    "access": UNCOUNTED_FORMATS,
    "policies": UNCOUNTED_FORMATS,
    "blast": UNCOUNTED_FORMATS,
    "problems": UNCOUNTED_FORMATS,
    "answer": ANSWER_FORMATS,
    "fleet": ANSWER_FORMATS,
}
READ = (Format.TEXT, Format.MARKDOWN, Format.HTML)
SAYS: dict[str, dict[tuple[Format, ...], str]] = {
    "plan": {
        READ: "to destroy.",
        (Format.JSON,): '"resource_changes"',
        (Format.NDJSON,): '"change_summary"',
        (Format.JUNIT,): "kafka_topic.old",
        (Format.SARIF,): "KP2104",
        (Format.GITLAB,): '"delete": 1',
        (Format.GITHUB, Format.AZURE): "Keep it for a week.",
        (Format.PROMETHEUS,): "kplan_plan_changes",
        (Format.SLACK, Format.TEAMS): "kplan plan",
    },
    "apply": {
        READ: "1 ok",
        (Format.JSON,): '"outcomes"',
        (Format.NDJSON,): '"apply_errored"',
        (Format.JUNIT,): "<failure",
        (Format.SARIF,): "TOPIC_AUTHORIZATION_FAILED",
        (Format.GITLAB,): '"create": 1',
        (Format.GITHUB, Format.AZURE): "kafka_topic.kept",
        (Format.PROMETHEUS,): "kplan_apply_outcomes",
        (Format.SLACK, Format.TEAMS): "kplan apply",
    },
    "drift": {
        READ: "kafka_topic.audit",
        (Format.JSON,): '"kafka_topic.audit"',
        (Format.NDJSON,): '"resource_drift"',
        (Format.JUNIT,): "<failure",
        (Format.SARIF,): "KP2502",
        (Format.GITLAB,): '"delete": 1',
        (Format.GITHUB, Format.AZURE): "KP2501",
        (Format.PROMETHEUS,): "kplan_drift_objects",
        (Format.SLACK, Format.TEAMS): "kplan drift",
    },
    "access": {
        READ: "User:billing",
        (Format.JSON,): '"effect": "loss"',
        (Format.NDJSON,): '"access_shift"',
        (Format.JUNIT,): "User:billing loses READ",
        (Format.SARIF,): "KP2301",
        (Format.GITHUB, Format.AZURE): "User:billing loses READ",
        (Format.PROMETHEUS,): 'effect="loss"} 1',
        (Format.SLACK, Format.TEAMS): "Effective access",
    },
    "policies": {
        READ: "Keep it for a week.",
        (Format.JSON,): '"standing": "refused"',
        (Format.NDJSON,): '"policy"',
        (Format.JUNIT,): "<failure",
        (Format.SARIF,): "KP301",
        (Format.GITHUB, Format.AZURE): "KP301",
        (Format.PROMETHEUS,): 'standing="refused"} 1',
        (Format.SLACK, Format.TEAMS): "Policies",
    },
    "blast": {
        READ: "1,204,118",
        (Format.JSON,): '"records": 1204118',
        (Format.NDJSON,): '"impact"',
        (Format.JUNIT,): "kafka_topic.old",
        (Format.SARIF,): "KP2104",
        (Format.GITHUB, Format.AZURE): "kafka_topic.old",
        (Format.PROMETHEUS,): "kplan_plan_records_at_risk",
        (Format.SLACK, Format.TEAMS): "Blast radius",
    },
    "problems": {
        READ: "It is 0.",
        (Format.JSON,): '"valid": false',
        (Format.NDJSON,): '"diagnostic"',
        (Format.JUNIT,): "<failure",
        (Format.SARIF,): "KP201",
        (Format.GITHUB, Format.AZURE): "It is 0.",
        (Format.PROMETHEUS,): "kplan_run_success",
        (Format.SLACK, Format.TEAMS): "kplan validate",
    },
    "answer": {
        READ: "User:billing",
        (Format.JSON,): '"holders"',
        (Format.NDJSON,): '"answer"',
    },
    "fleet": {
        READ: "orders",
        (Format.JSON,): '"tables"',
        (Format.NDJSON,): '"table":"drift"',
    },
}
CELLS = [
    (name, format_, phrase)
    for name, row in SAYS.items()
    for formats, phrase in row.items()
    for format_ in formats
]


def test_the_table_has_every_cell_that_makes_sense() -> None:
    assert {(name, format_) for name, format_, _ in CELLS} == {
        (name, format_) for name, formats in SENSE.items() for format_ in formats
    }
    assert SENSE.keys() == REPORTS.keys()


@pytest.mark.parametrize(("name", "format_", "phrase"), CELLS)
def test_each_format_says_what_each_document_has_to_tell(
    name: str, format_: Format, phrase: str
) -> None:
    assert phrase in render_report(REPORTS[name], format_, FormatOptions())


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_each_document_is_well_formed_for_the_tools_that_read_it(name: str) -> None:
    told = {each: render_report(REPORTS[name], each, FormatOptions()) for each in SENSE[name]}
    assert json.loads(told[Format.JSON])
    lines = [json.loads(each) for each in told[Format.NDJSON].splitlines()]
    assert lines[0]["type"] == "version"
    assert all({"@message", "@level", "@timestamp", "type"} <= each.keys() for each in lines)
    assert told[Format.HTML].startswith("<!doctype html>")
    assert "http" not in told[Format.HTML].replace("http-equiv", "")
    if Format.GITLAB in told:
        assert json.loads(told[Format.GITLAB]).keys() == {"create", "update", "delete"}


@pytest.mark.parametrize("name", sorted(set(SENSE) - {"answer", "fleet"}))
def test_sarif_and_junit_hold_before_the_official_schemas(
    name: str, sarif_schema: Schema, junit_schema: Schema
) -> None:
    sarif_schema.validate(json.loads(render_report(REPORTS[name], Format.SARIF, FormatOptions())))
    junit_schema.validate(render_report(REPORTS[name], Format.JUNIT, FormatOptions()))


@pytest.mark.parametrize("name", sorted(set(SENSE) - {"answer", "fleet"}))
def test_junit_counts_what_it_holds(name: str) -> None:
    tree = ET.fromstring(render_report(REPORTS[name], Format.JUNIT, FormatOptions()))  # noqa: S314 - our own text
    for suite in tree:
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))


def test_a_part_of_which_a_plan_says_nothing_says_so() -> None:
    nothing = replace(planned(), changes=(), batches=())
    for part, phrase in zip(PlanPart, ("No ACL", "No policy", "No change"), strict=True):
        assert phrase in render_report(
            plan_part_report(nothing, part, AT), Format.TEXT, FormatOptions()
        )
        for format_ in UNCOUNTED_FORMATS:
            report = plan_part_report(nothing, part, AT)
            assert render_report(report, format_, FormatOptions()) or format_ in {
                Format.GITHUB, Format.AZURE,
            }  # fmt: skip


def test_what_is_not_known_of_one_topic_is_not_known_of_all() -> None:
    plan = planned()
    (old,) = [each for each in plan.changes if each.address.name == "old"]
    report = plan_part_report(
        add_impacts(plan, {old.key: Impact(unread=("no",))}), PlanPart.BLAST, AT
    )
    assert "unknown records, unknown at risk." in render_report(
        report, Format.TEXT, FormatOptions()
    )
    assert "records_at_risk" not in render_report(report, Format.PROMETHEUS, FormatOptions())
