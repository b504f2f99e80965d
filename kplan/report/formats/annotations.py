"""Findings as lines of a log that GitHub and Azure show at the line of a file.

GitHub: "Workflow commands for GitHub Actions"; Azure Pipelines: "Logging commands". GitHub shows
ten of each sort per step, so no more are written; what stands in no file is shown by the job.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath

from kplan.model.diagnostic import SourceRange
from kplan.report.data import Case, Finding, Level

MOST = 10
_ISSUES: Mapping[Level, str] = {Level.ERROR: "error", Level.WARNING: "warning"}


def github_lines(cases: Iterable[Case], folder: str = "") -> str:
    """Write `::error file=...::` lines; `folder` leads from the top of the repository to files."""
    return _lines(cases, lambda each: _github(each, folder))


def azure_lines(cases: Iterable[Case], folder: str = "") -> str:
    """Write `##vso[task.logissue ...]` lines."""
    return _lines(cases, lambda each: _azure(each, folder))


def _lines(cases: Iterable[Case], write: Callable[[Finding], str]) -> str:
    return "".join(f"{write(each)}\n" for each in _worst(cases))


def _worst(cases: Iterable[Case]) -> Iterator[Finding]:
    findings = [each for case in cases for each in case.findings]
    for level in _ISSUES:
        yield from [each for each in findings if each.level is level][:MOST]


def _said(finding: Finding) -> str:
    parts = (finding.address, finding.text or finding.summary, finding.hint)
    return "\n".join(each for each in parts if each)


def _github(finding: Finding, folder: str) -> str:
    place = finding.place
    known = {
        "file": _file(place, folder),
        "line": str(place.line) if place else "",
        "endLine": str(place.end_line) if place else "",
        "title": f"{finding.code} {finding.summary}",
    }
    told = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in known.items() if value)
    return f"::{_ISSUES[finding.level]} {told}::{_escaped(_said(finding))}"


def _file(place: SourceRange | None, folder: str) -> str:
    """Name a file as services do, with slashes whatever the system has."""
    return f"{folder}{PurePath(place.file).as_posix()}" if place else ""


def _escaped(text: str, also: str = "") -> str:
    """Write what would end a command, or one of its values, as percent and number."""
    return "".join(f"%{ord(each):02X}" if each in f"%\r\n{also}" else each for each in text)


def _azure(finding: Finding, folder: str) -> str:
    place = finding.place
    known = {
        "type": _ISSUES[finding.level],
        "sourcepath": _file(place, folder),
        "linenumber": str(place.line) if place else "",
        "columnnumber": str(place.column) if place else "",
        "code": finding.code,
    }
    told = ";".join(f"{key}={_azure_escaped(value)}" for key, value in known.items() if value)
    return f"##vso[task.logissue {told}]{_azure_escaped(_said(finding))}"


def _azure_escaped(text: str) -> str:
    return _escaped(text.replace("%", "%AZP25"), ";]").replace("%25AZP25", "%AZP25")
