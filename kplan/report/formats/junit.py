"""Cases as JUnit XML, which CI services show."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from kplan.model.table import RunStatus
from kplan.report.data import Case
from kplan.report.format import PLAIN_STYLE
from kplan.report.formats.text import render_text

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(cases: Sequence[Case]) -> str:
    """Write one suite for each group."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for group in dict.fromkeys(each.group for each in cases):
        lines += _suite(group, [each for each in cases if each.group == group])
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(group: str, cases: Sequence[Case]) -> Iterator[str]:
    grades = [each.status for each in cases]
    counts = {
        "tests": len(cases),
        "skipped": grades.count(RunStatus.SKIP),
        "failures": grades.count(RunStatus.FAIL),
        "errors": grades.count(RunStatus.ERROR),
    }
    counted = "".join(f' {name}="{count}"' for name, count in counts.items())
    yield f'  <testsuite name="{_escape(group)}"{counted}>'
    for each in cases:
        yield from _case(each)
    yield "  </testsuite>"


def _case(case: Case) -> Iterator[str]:
    head = f'    <testcase name="{_escape(case.name)}" classname="{_escape(case.group)}"'
    head += f' time="{case.elapsed_s:.3f}"'
    found = list(_case_body(case))
    if not found:
        yield f"{head}></testcase>"
        return
    yield f"{head}>"
    yield from found
    yield "    </testcase>"


def _case_body(case: Case) -> Iterator[str]:
    match case.status:
        case RunStatus.SKIP:
            yield f'      <skipped message="{_escape(case.message)}"></skipped>'
        case RunStatus.FAIL | RunStatus.ERROR:
            word = "failure" if case.status is RunStatus.FAIL else "error"
            yield f'      <{word} message="{_escape(case.message)}">\n{_case_text(case)}</{word}>'
        case RunStatus.PASS if case.details.blocks:
            yield f"      <system-out>\n{_case_text(case)}</system-out>"
        case RunStatus.PASS:
            return


def _case_text(case: Case) -> str:
    """Take away the bar that a terminal has at the left of a problem."""
    lines = [
        re.sub("^[╷│╵] ?", "", each) for each in render_text(case.details, PLAIN_STYLE).splitlines()
    ]
    return _escape(re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n")) + "\n"


def _escape(said: str) -> str:
    return escape(_NO_XML.sub("\ufffd", said))
