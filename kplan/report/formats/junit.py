"""Cases as JUnit XML, which CI services show."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from kplan.model.test_result import RunStatus
from kplan.report.data import Case
from kplan.report.format import PLAIN
from kplan.report.formats.text import render_text

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(cases: Sequence[Case]) -> str:
    """Write one suite for each group."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for group in dict.fromkeys(each.group for each in cases):
        lines += _suite(group, [each for each in cases if each.group == group])
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(group: str, cases: Sequence[Case]) -> Iterator[str]:
    grades = [each.grade for each in cases]
    counts = {
        "tests": len(cases),
        "skipped": grades.count(RunStatus.SKIP),
        "failures": grades.count(RunStatus.FAIL),
        "errors": grades.count(RunStatus.ERROR),
    }
    counted = "".join(f' {name}="{count}"' for name, count in counts.items())
    yield f'  <testsuite name="{_text(group)}"{counted}>'
    for each in cases:
        yield from _case(each)
    yield "  </testsuite>"


def _case(case: Case) -> Iterator[str]:
    head = f'    <testcase name="{_text(case.name)}" classname="{_text(case.group)}"'
    head += f' time="{case.elapsed_s:.3f}"'
    told = list(_inside(case))
    if not told:
        yield f"{head}></testcase>"
        return
    yield f"{head}>"
    yield from told
    yield "    </testcase>"


def _inside(case: Case) -> Iterator[str]:
    match case.grade:
        case RunStatus.SKIP:
            yield f'      <skipped message="{_text(case.said)}"></skipped>'
        case RunStatus.FAIL | RunStatus.ERROR:
            word = "failure" if case.grade is RunStatus.FAIL else "error"
            yield f'      <{word} message="{_text(case.said)}">\n{_told(case)}</{word}>'
        case RunStatus.PASS if case.story.blocks:
            yield f"      <system-out>\n{_told(case)}</system-out>"
        case RunStatus.PASS:
            return


def _told(case: Case) -> str:
    """Take away the bar that a terminal has at the left of a problem."""
    lines = [re.sub("^[╷│╵] ?", "", each) for each in render_text(case.story, PLAIN).splitlines()]
    return _text(re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n")) + "\n"


def _text(said: str) -> str:
    return escape(_NO_XML.sub("\ufffd", said))
