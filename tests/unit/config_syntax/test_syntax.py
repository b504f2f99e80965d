"""What is HCL and what is not, as Terraform 1.11.4 has it, and several mistakes told at once.

The fixtures were written by `record_syntax.py`.
"""

import json
from pathlib import Path

import pytest

from kplan.config.syntax.parse import ParsedFile, parse_file
from kplan.config.syntax.source import Source
from tests.unit.config.load_helper import diagnostic_text

SYNTAX = Path(__file__).parent / "fixtures" / "syntax.jsonl"
DIFFERENT = {
    "locals {\n a = {a.b=1}\n}\n": "told as ambiguous; Terraform says so when it evaluates",
    "locals {\n a = {a[0]=1}\n}\n": "told as ambiguous; Terraform says so when it evaluates",
    "locals {\n a = a.0.1\n}\n": "two indexes after points are read as the two that they are",
    "locals {\n a = a::b()\n}\n": "there is no function of such a name in either",
    'a "b\\n" {}\n': "no label of any block may have an escape",
    "a = 1\na = 2\n": "in a variables file it is told as set twice, elsewhere as out of place",
}


def parse(text: str) -> ParsedFile:
    return parse_file(Source("main.tf", text.removeprefix("\ufeff")), is_body=True)


def test_what_terraform_takes_for_hcl_is_hcl_and_nothing_else() -> None:
    cases = [json.loads(line) for line in SYNTAX.read_text(encoding="utf-8").splitlines()]
    assert len(cases) > 350
    wrong = {
        each["text"]
        for each in cases
        if bool(parse(each["text"]).diagnostics) is each["is_accepted"]
    }
    assert wrong == DIFFERENT.keys()


def places(text: str) -> list[str]:
    return [
        f"{each.code} {each.subject}".replace(" main.tf", "") for each in parse(text).diagnostics
    ]


def test_all_mistakes_of_a_block_are_told_at_once() -> None:
    text = """resource "kafka_topic" "t" {
  name       = "t" "u"
  partitions =
  config = {
    "a" = 1 2
    b   = [1, 2]
  }
}
locals {
  a = "open
  b = f(1 2)
  e = 5
  "c" = 1
  d = ${x}
}
"""
    assert sorted(places(text), key=lambda each: int(each.split(":")[1])) == [
        "KP111:2:20", "KP101:3:15", "KP112:5:13",
        "KP106:10:12", "KP112:11:11", "KP102:13:3", "KP110:14:7",
    ]  # fmt: skip


def test_the_rest_of_a_statement_is_no_mistake_of_its_own() -> None:
    text = "locals {\n  a = x ?\n    1 :\n    2\n  b = [\n    1 2,\n    3\n  ]\n}\n"
    assert places(text) == ["KP101:2:10", "KP112:6:7"]


def test_mistakes_beyond_twenty_are_not_told() -> None:
    text = "locals {\n" + "".join(f"  a{at} = 1 2\n" for at in range(50)) + "}\n"
    assert len(parse(text).diagnostics) == 20


def test_a_block_on_one_line_that_goes_on_is_told_with_a_way_out() -> None:
    (problem,) = parse("a { b { c = 1 } }\n").diagnostics
    assert diagnostic_text(problem) == (
        "error KP103 main.tf:1:5-1:6 Invalid block definition\n"
        '  The block "b" is on the line of the enclosing block.\n'
        "  hint: Put it on its own line, or write b = ... if it is an argument."
    )


@pytest.mark.parametrize("text", ["a {}}\n", "a {\n  b = 1 }\n", "a {\n  b {} }\n", "a {} b {}\n"])
def test_what_ends_on_a_line_has_nothing_behind_it(text: str) -> None:
    assert parse(text).diagnostics[0].code == "KP111"
