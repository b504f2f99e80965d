"""Findings as lines of a log that GitHub and Azure show at the line of a file.

GitHub: "Workflow commands for GitHub Actions"; Azure Pipelines: "Logging commands". GitHub shows
ten of each sort per step, so no more are written; what is in no file is shown by the job.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath

from kplan.model.diagnostic import SourceRange
from kplan.report.data import Case, Finding, Level
from kplan.report.formats.text import clean_text
from kplan.report.links import code_address

MAX_PER_LEVEL = 10
_LEVEL_NAMES: Mapping[Level, str] = {Level.ERROR: "error", Level.WARNING: "warning"}


def github_lines(cases: Iterable[Case], folder: str = "", docs_url: str = "") -> str:
    """Write `::error file=...::` lines; `folder` leads from the top of the repository to files.

    Each ends with the page of its code if there is a manual at `docs_url`.
    """
    return _lines(cases, lambda each: _github_line(each, folder, docs_url))


def azure_lines(cases: Iterable[Case], folder: str = "", docs_url: str = "") -> str:
    """Write `##vso[task.logissue ...]` lines, with `folder` and `docs_url` as above."""
    return _lines(cases, lambda each: _azure_line(each, folder, docs_url))


def _lines(cases: Iterable[Case], write: Callable[[Finding], str]) -> str:
    return "".join(f"{write(each)}\n" for each in _top_findings(cases))


def _top_findings(cases: Iterable[Case]) -> Iterator[Finding]:
    findings = [each for case in cases for each in case.findings]
    for level in _LEVEL_NAMES:
        yield from [each for each in findings if each.level is level][:MAX_PER_LEVEL]


def _message(finding: Finding, docs_url: str) -> str:
    address = code_address(docs_url, finding.code)
    parts = (
        finding.address,
        finding.detail or finding.summary,
        finding.hint,
        f"docs: {address}" if address else "",
    )
    lines = "\n".join(each for each in parts if each).split("\n")
    return "\n".join(map(clean_text, lines))  # a name of a group may steer the terminal of a log


def _github_line(finding: Finding, folder: str, docs_url: str) -> str:
    place = finding.source_range
    known = {
        "file": _file_path(place, folder),
        "line": str(place.line) if place else "",
        "endLine": str(place.end_line) if place else "",
        "title": f"{finding.code} {finding.summary}",
    }
    detail = ",".join(f"{key}={_escape(value, ':,')}" for key, value in known.items() if value)
    return f"::{_LEVEL_NAMES[finding.level]} {detail}::{_escape(_message(finding, docs_url))}"


def _file_path(place: SourceRange | None, folder: str) -> str:
    """Name a file with forward slashes on every system; an absolute one is not in the folder."""
    file = PurePath(place.file) if place else PurePath()
    prefix = "" if file.is_absolute() else folder
    return f"{prefix}{file.as_posix()}" if place else ""


def _escape(text: str, also: str = "") -> str:
    """Percent-encode the characters that would end a command or one of its values."""
    return "".join(f"%{ord(each):02X}" if each in f"%\r\n{also}" else each for each in text)


def _azure_line(finding: Finding, folder: str, docs_url: str) -> str:
    place = finding.source_range
    known = {
        "type": _LEVEL_NAMES[finding.level],
        "sourcepath": _file_path(place, folder),
        "linenumber": str(place.line) if place else "",
        "columnnumber": str(place.column) if place else "",
        "code": finding.code,
    }
    detail = ";".join(f"{key}={_escape_azure(value)}" for key, value in known.items() if value)
    return f"##vso[task.logissue {detail}]{_escape_azure(_message(finding, docs_url))}"


def _escape_azure(text: str) -> str:
    return _escape(text.replace("%", "%AZP25"), ";]").replace("%25AZP25", "%AZP25")
