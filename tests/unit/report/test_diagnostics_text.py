import json
import re
from dataclasses import replace

import pytest

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.report.format import TextStyle
from kplan.report.views import diagnostics_text, validation_json

MAIN = """\
variable "x" {
}

resource "kafka_topic" "orders" {
\tname = "ördérs/${var.nme}"
  partitions = 3
  sasl_password = "hunter2"
}
"""
SOURCES = {"main.tf": MAIN}
ASCII = TextStyle(unicode=False)


def undeclared(**more: object) -> Diagnostic:
    fields: dict[str, object] = {
        "code": "KP140",
        "severity": Severity.ERROR,
        "summary": "Reference to undeclared input variable",
        "detail": 'An input variable with the name "nme" has not been declared.',
        "hint": 'Did you mean "x"?',
        "subject": SourceRange("main.tf", 5, 19, 5, 26),
    }
    return Diagnostic(**(fields | more))  # type: ignore[arg-type] # fields by name


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_problem_is_shown_in_a_frame_with_its_line_and_carets() -> None:
    """K4-05: file:line, code, message and hint."""
    shown = diagnostics_text([undeclared(values=(("var.x", "is 200"),))], SOURCES, TextStyle())
    assert shown == (
        "╷\n"
        "│ Error: Reference to undeclared input variable [KP140]\n"
        "│\n"
        '│   on main.tf line 5, column 19, in resource "kafka_topic" "orders":\n'
        '│    5:  name = "ördérs/${var.nme}"\n'
        "│                         ^^^^^^^\n"
        "│     ├────────────────\n"
        "│     │ var.x is 200\n"
        "│\n"
        '│ An input variable with the name "nme" has not been declared.\n'
        "│\n"
        '│ hint: Did you mean "x"?\n'
        "╵\n"
    )


def test_colour_changes_no_character_of_the_text() -> None:
    found = [undeclared(values=(("var.x", "is 200"),))]
    coloured = diagnostics_text(found, SOURCES, TextStyle(colour=True))
    assert plain(coloured) == diagnostics_text(found, SOURCES, TextStyle())
    assert "\x1b[4mvar.nme\x1b[0m" in coloured
    assert coloured.startswith("\x1b[31m╷")


def test_without_unicode_every_byte_is_ascii_and_carets_still_point_right() -> None:
    shown = diagnostics_text([undeclared()], SOURCES, ASCII)
    assert shown.isascii()
    code, carets = shown.split("\n")[3:5]
    assert code[carets.index("^") : carets.rindex("^") + 1] == "var.nme"


def test_every_problem_is_shown_once_errors_first() -> None:
    warning = undeclared(code="KP195", severity=Severity.WARNING, summary="Setting has no effect")
    shown = diagnostics_text([warning, undeclared(), undeclared()], SOURCES, ASCII)
    assert re.findall(r"^(?:Error|Warning): .*", shown, re.MULTILINE) == [
        "Error: Reference to undeclared input variable [KP140]",
        "Warning: Setting has no effect [KP195]",
    ]


def test_related_places_are_shown_with_their_own_line() -> None:
    """K4-04: a duplicate names both places."""
    twice = undeclared(
        address=Address("kafka_topic", "orders", "eu"),
        related=(("first declared here", SourceRange("main.tf", 6, 3, 6, 13)),),
    )
    shown = diagnostics_text([twice], SOURCES, ASCII)
    assert '  with kafka_topic.orders["eu"],\n  on main.tf line 5' in shown
    assert (
        "  first declared here\n"
        '  on main.tf line 6, column 3, in resource "kafka_topic" "orders":\n'
        "   6:   partitions = 3\n"
        "        ^^^^^^^^^^\n"
    ) in shown


def test_a_span_of_many_lines_is_pointed_at_where_it_begins() -> None:
    shown = diagnostics_text(
        [undeclared(subject=SourceRange("main.tf", 4, 1, 8, 2))], SOURCES, ASCII
    )
    assert '   4: resource "kafka_topic" "orders" {\n' in shown
    assert f"      {'^' * 33} ...\n" in shown


def test_an_empty_span_still_gets_a_caret() -> None:
    shown = diagnostics_text(
        [undeclared(subject=SourceRange("main.tf", 2, 2, 2, 2))], SOURCES, ASCII
    )
    assert "   2: }\n       ^\n" in shown


def test_a_place_without_its_source_is_named_all_the_same() -> None:
    at = Address("kafka_topic", "orders", "eu")
    known = undeclared(subject=SourceRange("gone.tf", 3, 1, 3, 2), address=at)
    assert '  on gone.tf line 3, column 1, in resource "kafka_topic" "orders":\n' in (
        diagnostics_text([known], SOURCES, ASCII)
    )
    lost = undeclared(subject=SourceRange("main.tf", 99, 1, 99, 2))
    assert "snippet" not in json.loads(validation_json([lost], SOURCES))["diagnostics"][0]
    gone = undeclared(subject=SourceRange("gone.tf", 3, 1, 3, 2))
    beyond = undeclared(subject=SourceRange("main.tf", 99, 1, 99, 2))
    assert "  on gone.tf line 3, column 1:\n\n" in diagnostics_text([gone], SOURCES, ASCII)
    assert "  on main.tf line 99, column 1" in diagnostics_text([beyond], SOURCES, ASCII)


def test_a_problem_without_a_place_has_summary_detail_and_hint() -> None:
    nobody = Diagnostic("KP911", Severity.ERROR, "Cannot reach the cluster", "Nobody.", "Check.")
    assert diagnostics_text([nobody], {}, ASCII) == (
        "Error: Cannot reach the cluster [KP911]\n\nNobody.\n\nhint: Check.\n"
    )
    there = undeclared(subject=None, address=Address("kafka_topic", "a"), values=(("x", "is 1"),))
    assert "\n    | x is 1\n\n  with kafka_topic.a\n" in diagnostics_text([there], {}, ASCII)


def test_no_problem_is_no_text() -> None:
    assert diagnostics_text([], {}, ASCII) == ""


def test_prose_is_wrapped_to_the_width_and_commands_stay_whole() -> None:
    long = "word " * 40 + "\n  kplan import " + "x" * 90
    lines = diagnostics_text([undeclared(detail=long)], SOURCES, TextStyle(width=60)).split("\n")
    assert max(len(each) for each in lines if "word" in each) <= 60
    assert any(each == "│   kplan import " + "x" * 90 for each in lines)


@pytest.mark.parametrize("before", [5, 5000, 10_000])
def test_a_very_long_line_is_cut_around_the_span(before: int) -> None:
    code = "x" * before + "BAD" + "y" * (10_000 - before)
    found = undeclared(subject=SourceRange("long.tf", 1, before + 1, 1, before + 4))
    shown = diagnostics_text([found], {"long.tf": code}, ASCII)
    line, carets = shown.split("\n")[3:5]
    assert line[carets.index("^") : carets.rindex("^") + 1] == "BAD"
    assert len(line) <= 80


@pytest.mark.parametrize(
    "code",
    ["日本語 = bad", "e\u0301e\u0301 = bad", "\t\tx = bad"],
    ids=["wide", "combining", "tabs"],
)
def test_carets_stand_under_the_span_whatever_characters_precede_it(code: str) -> None:
    start = code.index("bad") + 1
    found = undeclared(subject=SourceRange("w.tf", 1, start, 1, start + 3))
    line, carets = diagnostics_text([found], {"w.tf": code}, TextStyle()).split("\n")[4:6]
    wide = sum(each in "日本語" for each in line) - sum(each == "\u0301" for each in line)
    assert carets.index("^") == line.index("bad") + wide


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    nasty = "a\x1b[2Jb\u202ec\x07\U000e0001"
    found = undeclared(detail=nasty, hint=nasty, subject=SourceRange(nasty, 1, 1, 1, 3))
    shown = diagnostics_text([found], {nasty: nasty}, TextStyle())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)
    assert "a\\u001b[2Jb\\u202ec\\u0007\\U000e0001" in shown


def test_a_literal_secret_on_the_line_is_starred_out() -> None:
    """Design law 11."""
    found = undeclared(subject=SourceRange("main.tf", 7, 3, 7, 16))
    shown = diagnostics_text([found], SOURCES, TextStyle())
    assert 'sasl_password = "*******"' in shown
    assert "hunter2" not in shown + validation_json([found], SOURCES)


def test_validation_json_has_the_shape_of_terraform_with_a_code() -> None:
    found = json.loads(validation_json([undeclared(values=(("var.x", "is 200"),))], SOURCES))
    assert found == {
        "format_version": "1.0",
        "valid": False,
        "error_count": 1,
        "warning_count": 0,
        "diagnostics": [
            {
                "severity": "error",
                "summary": "Reference to undeclared input variable",
                "detail": 'An input variable with the name "nme" has not been declared.',
                "code": "KP140",
                "hint": 'Did you mean "x"?',
                "range": {
                    "filename": "main.tf",
                    "start": {"line": 5, "column": 19, "byte": 72},
                    "end": {"line": 5, "column": 26, "byte": 79},
                },
                "snippet": {
                    "context": 'resource "kafka_topic" "orders"',
                    "code": '\tname = "ördérs/${var.nme}"',
                    "start_line": 5,
                    "highlight_start_offset": 18,
                    "highlight_end_offset": 25,
                    "values": [{"traversal": "var.x", "statement": "is 200"}],
                },
            }
        ],
    }


def test_bytes_count_utf8_and_offsets_count_characters() -> None:
    found = json.loads(validation_json([undeclared()], SOURCES))["diagnostics"][0]
    start, end = (found["range"][key]["byte"] for key in ("start", "end"))
    assert MAIN.encode()[start:end] == b"var.nme"
    snippet = found["snippet"]
    inside = slice(snippet["highlight_start_offset"], snippet["highlight_end_offset"])
    assert snippet["code"][inside] == "var.nme"


def test_a_span_of_many_lines_is_whole_in_json() -> None:
    span = undeclared(
        subject=SourceRange("main.tf", 1, 1, 2, 2),
        related=(("here", SourceRange("main.tf", 99, 1, 99, 2)),),
    )
    found = json.loads(validation_json([span], SOURCES))["diagnostics"][0]
    snippet = found["snippet"]
    inside = slice(snippet["highlight_start_offset"], snippet["highlight_end_offset"])
    assert snippet["code"][inside] == 'variable "x" {\n}'
    assert found["related"][0]["range"]["start"]["byte"] == len(MAIN.encode())


def test_warnings_alone_are_valid_and_places_without_text_have_no_snippet() -> None:
    warning = undeclared(
        severity=Severity.WARNING, address=Address("kafka_topic", "a"), hint="",
        subject=SourceRange("gone.tf", 1, 1, 1, 2),
    )  # fmt: skip
    found = json.loads(validation_json([warning], {}))
    assert (found["valid"], found["error_count"], found["warning_count"]) == (True, 0, 1)
    assert found["diagnostics"][0]["address"] == "kafka_topic.a"
    assert "snippet" not in found["diagnostics"][0]
    assert found["diagnostics"][0]["range"]["start"] == {"line": 1, "column": 1}


def test_the_block_around_a_line_is_not_taken_from_a_block_that_ended_before() -> None:
    source = 'variable "x" {\n}\nnope\n'
    found = undeclared(subject=SourceRange("m.tf", 3, 1, 3, 5))
    assert "  on m.tf line 3, column 1:\n" in diagnostics_text([found], {"m.tf": source}, ASCII)


def warning(number: int, line: int, code: str = "KP403") -> Diagnostic:
    return undeclared(
        code=code,
        severity=Severity.WARNING,
        summary="ACL is covered by a wider ACL",
        detail=f"number {number}",
        subject=SourceRange("main.tf", line, 1, line, 5),
    )


def test_a_thousand_equal_warnings_are_three_and_a_count() -> None:
    many = [warning(number, 1 + number % 4) for number in range(1_000)]
    text = diagnostics_text([*many, undeclared()], SOURCES, ASCII)
    assert text.count("Warning: ") == 3
    assert len(set(re.findall(r"on main.tf line (\d)", text))) == 4  # three of them, and the error
    assert "(and 997 more warnings KP403; -json and -report list all of them)" in " ".join(
        text.replace("|", " ").split()
    )
    data = json.loads(validation_json(many, SOURCES))
    assert data["warning_count"] == len(data["diagnostics"]) == 1_000


def test_a_handful_of_warnings_and_every_error_is_shown() -> None:
    few = [warning(number, 1) for number in range(10)]
    errors = [undeclared(detail=f"number {number}") for number in range(50)]
    text = diagnostics_text([*few, *errors], SOURCES, ASCII)
    assert (text.count("Warning: "), text.count("Error: ")) == (10, 50)


def test_the_warnings_of_many_instances_of_a_block_are_one_with_their_count() -> None:
    many = [
        replace(
            warning(number, 1),
            address=Address("kafka_acl", "read", number // 2),
            detail=f"part {number % 2} of {number // 2}",
        )
        for number in range(2_398)
    ]
    other = replace(warning(1, 2), address=Address("kafka_acl", "write"))
    text = diagnostics_text([*many, other], SOURCES, ASCII)
    flat = " ".join(text.replace("|", " ").split())
    assert text.count("Warning: ") == 3  # both of the first instance, and the other line
    assert flat.count("(1,199 instances, first kafka_acl.read[0];") == 2
    assert "part 1 of 0" in flat
    assert "of 7" not in flat
    assert json.loads(validation_json(many, SOURCES))["warning_count"] == 2_398
