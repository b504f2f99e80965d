"""Results of tests as JUnit XML, which CI services show."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from kplan.model.testing import Grade, RunResult
from kplan.report.documents.diagnostics import diagnostics_document
from kplan.report.documents.tests import headline
from kplan.report.formats.text import text
from kplan.report.look import PLAIN

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Sequence[RunResult], sources: Mapping[str, str]) -> str:
    """Write one suite for each file; `sources` maps file to its text."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for path in dict.fromkeys(each.path for each in results):
        lines += _suite(path, [each for each in results if each.path == path], sources)
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(path: str, runs: Sequence[RunResult], sources: Mapping[str, str]) -> Iterator[str]:
    grades = [each.grade for each in runs]
    counts = {
        "tests": len(runs),
        "skipped": grades.count(Grade.SKIP),
        "failures": grades.count(Grade.FAIL),
        "errors": grades.count(Grade.ERROR),
    }
    counted = "".join(f' {name}="{count}"' for name, count in counts.items())
    yield f'  <testsuite name="{_text(path)}"{counted}>'
    for each in runs:
        yield from _case(each, sources)
    yield "  </testsuite>"


def _case(run: RunResult, sources: Mapping[str, str]) -> Iterator[str]:
    head = f'    <testcase name="{_text(run.name)}" classname="{_text(run.path)}"'
    head += f' time="{run.elapsed_s:.6f}"'
    if run.grade is Grade.PASS:
        yield f"{head}></testcase>"
        return
    yield f"{head}>"
    if run.grade is Grade.SKIP:
        yield f'      <skipped message="{_text(run.reason)}"></skipped>'
    else:
        word = "failure" if run.grade is Grade.FAIL else "error"
        told = _text(_unframed(text(diagnostics_document(run.diagnostics, sources), PLAIN)))
        yield f'      <{word} message="{_text(headline(run))}">\n{told}</{word}>'
    yield "    </testcase>"


def _unframed(told: str) -> str:
    """Take away the bar that a terminal has at the left of a problem."""
    lines = [re.sub("^[╷│╵] ?", "", each) for each in told.splitlines()]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _text(said: str) -> str:
    return escape(_NO_XML.sub("\ufffd", said))
