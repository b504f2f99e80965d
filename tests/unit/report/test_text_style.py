"""Every golden plan in every look: narrow, without colour, in ASCII, for a screen reader."""

import re
import unicodedata
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.report import views
from kplan.report.format import TextStyle
from tests.golden.case import CASES, Told, told

NAMES = sorted(each.name for each in CASES.iterdir() if (each / "main.hcl").exists())
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_MARK = re.compile(r"^\s*(?:-/\+|\+/-|[+~!.-]) ", re.MULTILINE)


@cache
def case(name: str) -> Told:
    with TemporaryDirectory() as scratch:
        return told(CASES / name, Path(scratch))


def shown(name: str, **look: object) -> str:
    found = case(name)
    wanted = TextStyle(**look)  # type: ignore[arg-type] # by name
    plan = views.plan_text(found.plan, wanted) if found.plan else ""
    return plan + views.diagnostics_text(found.diagnostics, found.sources, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    """No meaning stands in the colour alone: without it the text is the same."""
    assert _ANSI.sub("", shown(name, colour=True)) == shown(name)
    assert "\x1b" not in shown(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_without_utf_8_gets_ascii(name: str) -> None:
    assert shown(name, unicode=False).isascii()


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_reader_hears_words_and_no_drawings(name: str) -> None:
    text = shown(name, accessible=True)
    assert not _MARK.search(text), _MARK.search(text)
    drawn = {
        each for each in text if unicodedata.category(each) == "So" or "\u2500" <= each < "\u2580"
    }
    assert drawn == set()
    if "Symbols:" in shown(name):
        assert "Symbols:" not in text, "words need no legend"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_prose_keeps_to_the_width_of_the_terminal(width: int) -> None:
    """What others copy or find by a pattern is never wrapped: bodies, tables, totals, places."""
    problem = Diagnostic(
        "KP201", Severity.ERROR, "Bad", "One two three four five six seven. " * 9, "Do it. " * 9
    )
    text = views.diagnostics_text([problem], {}, TextStyle(width=width))
    lines = text.splitlines()[2:]
    assert max(len(each) for each in lines) <= max(width, 22)
    assert len(lines) > 300 // width


def test_a_place_is_pointed_at_in_words_for_a_screen_reader() -> None:
    problem = Diagnostic(
        "KP201", Severity.ERROR, "Bad",
        subject=SourceRange("a.tf", 2, 3, 2, 7), values=(("var.x", "is 3"),),
    )  # fmt: skip
    text = views.diagnostics_text(
        [problem], {"a.tf": "one\n  nmae = 1\n"}, TextStyle(accessible=True)
    )
    assert "      here: nmae\n" in text
    assert "^" not in text
    assert "    where:\n     var.x is 3\n" in text
