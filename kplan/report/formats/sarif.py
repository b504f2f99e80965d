"""SARIF 2.1.0 (OASIS), which code scanning services show at the line of a file."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath
from urllib.parse import quote

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.version import VERSION
from kplan.report.data import Case, Data, Finding, Level
from kplan.report.links import code_address

MAX_RESULTS = 25_000
"""Results of a run that GitHub's code scanning takes; it refuses a file with more of them."""
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


@dataclass(frozen=True, slots=True)
class RuleTexts:
    """Title, explanation and fix of rules by their code, and where the manual is, "" if nowhere."""

    texts: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    docs_url: str = ""


NO_TEXTS = RuleTexts()


def sarif_data(cases: Iterable[Case], folder: str = "", texts: RuleTexts = NO_TEXTS) -> Data:
    """Write every finding as a result with its rule.

    `folder` leads from the top of the repository to the configuration; it ends in a slash.
    """
    findings = [finding for case in cases for finding in case.findings]
    left_out = len(findings) - MAX_RESULTS
    if left_out > 0:
        findings = _worst_findings(findings)
    rules = _rules(findings, texts)
    places = {rule: at for at, rule in enumerate(rules)}
    driver: Data = {
        "name": "kplan",
        "semanticVersion": VERSION,
        "rules": list(rules.values()),
    }
    run: dict[str, Data] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, places[each.rule_id], folder) for each in findings],
    }
    if left_out > 0:
        run["invocations"] = [_truncation_notice(left_out)]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _worst_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Keep as many as are taken, errors before warnings, warnings before notes."""
    levels = list(Level)
    return sorted(findings, key=lambda each: -levels.index(each.level))[:MAX_RESULTS]


def _truncation_notice(left_out: int) -> Data:
    text = f"Findings left out, of the lowest levels: {left_out:,}."
    found: Data = {"level": "warning", "message": {"text": text}}
    return {"executionSuccessful": True, "toolExecutionNotifications": [found]}


def _rules(findings: Sequence[Finding], texts: RuleTexts) -> Mapping[str, Data]:
    """Name each code once, and each policy, with the gravest level it was met at."""
    levels = list(Level)
    worst: dict[str, Finding] = {}
    for each in sorted(findings, key=lambda each: (each.rule_id, -levels.index(each.level))):
        worst.setdefault(each.rule_id, each)
    return {rule: _rule(rule, each, texts) for rule, each in worst.items()}


def _rule(rule: str, finding: Finding, texts: RuleTexts) -> Data:
    title, explanation, fix = texts.texts.get(finding.code, ("", "", ""))
    found: dict[str, Data] = {
        "id": rule,
        "shortDescription": {"text": _rule_title(rule, title or finding.summary, finding.code)},
        "fullDescription": {"text": explanation or finding.summary},
        "help": {"text": fix or f"kplan explain {finding.code}"},
        "defaultConfiguration": {"level": finding.level.value},
    }
    if finding.code in texts.texts and texts.docs_url:
        found["helpUri"] = code_address(texts.docs_url, finding.code)
    return found


def _rule_title(rule: str, title: str, code: str) -> str:
    """Name a policy, which shares the code of all policies, after the title of the code."""
    return title if rule == code else f"{title}: {rule}"


def _result(finding: Finding, rule: int, folder: str) -> Data:
    said = [finding.detail or finding.summary, finding.hint]
    found: dict[str, Data] = {
        "ruleId": finding.rule_id,
        "ruleIndex": rule,
        "level": finding.level.value,
        "message": {"text": "\n".join(each for each in said if each)},
        "locations": [_location(finding, folder)],
        "partialFingerprints": {"kplan/v1": _fingerprint(finding)},
    }
    if finding.related:
        found["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place, folder)},
                    "region": _region(place),
                },
                "message": {"text": label},
            }
            for number, (label, place) in enumerate(finding.related)
        ]
    return found


def _uri(place: SourceRange | None, folder: str) -> str:
    """Return the address of a file; one of a trusted checkout is outside of the folder."""
    file = PurePath(place.file) if place else PurePath()
    if file.is_absolute():
        return file.as_uri()
    return quote(f"{folder}{file.as_posix() if place else ''}") or "."


def _location(finding: Finding, folder: str) -> Data:
    """Point at a line; a finding outside any file is attributed to the folder.

    Code scanning refuses a whole file for one result without a physical location.
    """
    uri = _uri(finding.source_range, folder)
    physical: dict[str, Data] = {"artifactLocation": {"uri": uri}}
    if finding.source_range is not None:
        physical["region"] = _region(finding.source_range)
    found: dict[str, Data] = {"physicalLocation": physical}
    if finding.address:
        found["logicalLocations"] = [{"fullyQualifiedName": finding.address, "kind": "resource"}]
    return found


def _region(place: SourceRange) -> Data:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _fingerprint(finding: Finding) -> str:
    """Know a finding again after lines above it have moved."""
    file = finding.source_range.file if finding.source_range else ""
    detail = f"{finding.code}\0{finding.address}\0{file}\0{finding.detail}"
    return hashlib.sha256(detail.encode()).hexdigest()[:32]
