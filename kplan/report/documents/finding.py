"""Diagnostics and risks as findings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.plan import Change, Risk
from kplan.model.test_result import RunStatus
from kplan.report.data import Case, Finding, Level
from kplan.report.documents.diagnostic import diagnostics_document

_NOTE = re.compile(r"(?P<code>KP\d+) (?P<text>.*)", re.DOTALL)
_LEVELS = {
    Risk.SAFE: Level.NOTE,
    Risk.UNKNOWN: Level.NOTE,
    Risk.REVIEW: Level.NOTE,
    Risk.DANGEROUS: Level.WARNING,
}
_GOOD_NEWS = {"KP2103": "Nothing is at stake"}
"""Codes that no change is to be stopped for, with what they say."""
CONFIGURATION = "configuration"


def diagnostic_finding(each: Diagnostic) -> Finding:
    """Return a problem."""
    return Finding(
        each.code,
        Level.ERROR if each.is_error else Level.WARNING,
        each.summary,
        each.detail,
        each.hint,
        each.subject,
        str(each.address or ""),
    )


def risk_findings(change: Change) -> Iterator[Finding]:
    """Return every note of a change that has a code."""
    for note in change.notes:
        if found := _NOTE.fullmatch(note):
            yield Finding(
                found["code"],
                Level.NOTE if found["code"] in _GOOD_NEWS else _LEVELS[change.risk],
                _GOOD_NEWS.get(found["code"], f"{change.risk.value.capitalize()} change"),
                found["text"],
                place=change.declared_at,
                address=str(change.address),
            )


def problem_cases(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], group: str = CONFIGURATION
) -> Iterator[Case]:
    """Make a case of each problem; a warning is no failure. `sources` maps file to its text."""
    for each in sort_diagnostics(diagnostics):
        yield Case(
            str(each.subject or each.address or each.summary),
            group,
            RunStatus.FAIL if each.is_error else RunStatus.PASS,
            headline((each,)),
            (diagnostic_finding(each),),
            story=diagnostics_document([each], sources),
        )


def headline(diagnostics: Sequence[Diagnostic]) -> str:
    """Say on one line what is wrong: the first problem, and how many more there are."""
    said = f"{diagnostics[0].summary}: {diagnostics[0].detail}".splitlines()[0]
    return said if len(diagnostics) == 1 else f"{said} (and {len(diagnostics) - 1} more)"
