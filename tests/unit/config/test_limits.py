"""Whatever a file holds ends in a value or a problem with a place, never in a traceback."""

import json
import random
from pathlib import Path

import pytest

from kplan.config.console import Console
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS
from tests.unit.config.load_helper import load_files

HERE = Path(__file__).parent


def evaluate_text(folder: Path, text: str) -> tuple[object, list[str]]:
    """Evaluate an expression in an empty folder: its value, or the codes of the problems."""
    (folder / "main.tf").write_text("locals {}\n", encoding="utf-8")
    answer = Console(folder, Inputs(), KINDS).evaluate_text(text)
    return answer.value, [each.code for each in answer.diagnostics]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("+".join(["1"] * 3000), 3000),
        ("+".join(["1"] * 10_000), 10_000),
        ("&&".join(["true"] * 3000), True),
        ("(" * 90 + "1" + ")" * 90, 1),
        ("-" * 1001 + "1", -1),
        ("".join(f"{at} == 0 ? {at} : " for at in range(1, 400)) + "7", 7),
    ],
    ids=["sum", "long sum", "conjunction", "parentheses", "signs", "conditionals"],
)
def test_long_and_deep_expressions_have_their_value(
    tmp_path: Path, text: str, value: object
) -> None:
    assert evaluate_text(tmp_path, text) == (value, [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(" * 1000 + "1" + ")" * 1000, "KP114"),
        ("[" * 1000 + "]" * 1000, "KP114"),
        ("!" * 20_000 + "true", "KP114"),
        ("(" * 20_000 + "1" + ")" * 20_000, "KP114"),
        ("{a=" * 20_000 + "1" + "}" * 20_000, "KP114"),
        ("max(" * 20_000 + "1" + ")" * 20_000, "KP114"),
        ('"${' * 500 + "1" + '}"' * 500, "KP114"),
        ("[for a in range(999) : [for b in range(999) : [for c in range(999) : 1]]]", "KP169"),
        ("9" * 5000, "KP101"),
        ("1e999999999", "KP101"),
    ],
    ids=[
        "parentheses",
        "lists",
        "negations",
        "more",
        "objects",
        "calls",
        "templates",
        "loops",
        "digits",
        "exponent",
    ],
)
def test_what_is_too_deep_or_too_large_is_an_error(tmp_path: Path, text: str, code: str) -> None:
    assert evaluate_text(tmp_path, text)[1] == [code]


def test_a_long_chain_of_local_values_has_its_value(tmp_path: Path) -> None:
    chain = "".join(f"  a{at} = local.a{at - 1} + 1\n" for at in range(1, 1000))
    text = f'locals {{\n  a0 = 1\n{chain}}}\noutput "last" {{\n  value = local.a999\n}}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert found.diagnostics == ()
    assert found.outputs[0].value == 1000


def test_a_chain_without_end_is_an_error_and_no_crash(tmp_path: Path) -> None:
    chain = "".join(f"  a{at} = local.a{at + 1} + 1\n" for at in range(3000))
    found = load_files(tmp_path, {"main.tf": f"locals {{\n{chain}  a3000 = 1\n}}\n"})
    assert {each.code for each in found.diagnostics} == {"KP114"}


def test_text_that_doubles_again_and_again_ends_with_an_error(tmp_path: Path) -> None:
    lines = "".join(
        f'  d{at} = "${{local.d{at - 1}}}${{local.d{at - 1}}}"\n' for at in range(1, 40)
    )
    found = load_files(tmp_path, {"main.tf": f'locals {{\n  d0 = "xxxxxxxxxx"\n{lines}}}\n'})
    assert [each.code for each in found.diagnostics] == ["KP158"]


def test_a_value_that_doubles_again_and_again_ends_with_an_error(tmp_path: Path) -> None:
    lines = "".join(f"  d{at} = [local.d{at - 1}, local.d{at - 1}]\n" for at in range(1, 60))
    text = f'locals {{\n  d0 = {{ a = 1 }}\n{lines}}}\noutput "x" {{\n  value = local.d59\n}}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP114"]


PIECES = (
    '"', "${", "}", "{", "[", "]", "(", ")", "%{", "~}", "\n", "=", "<<EOT\n", "EOT\n", "#", "/*",
    "*/", "-", "!", ".", "*", "[*]", ".*", "...", "?", ":", "=>", "for ", "in ", "if ", "null",
    "1e9", "0.", "é", "\\", "$", "::", ",", '"x"', "each.key", "\t", "\r\n", "\x00", "\u2028",
)  # fmt: skip


def mutate(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.randint(0, 12))
        piece = chance.choice(("", text[start:end] * 2, *PIECES))
        text = text[:start] + piece + text[end:]
    return text


def seeds() -> list[str]:
    fixtures = (HERE / "fixtures" / "expressions.jsonl").read_text(encoding="utf-8")
    cases = [json.loads(line)["expression"] for line in fixtures.splitlines()]
    texts = [f"locals {{\n  x = {each}\n}}\n" for each in cases]
    return texts + [
        each.read_text(encoding="utf-8") for each in sorted(HERE.glob("mistakes/*/*.tf"))
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_ends_in_problems_with_places(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    texts = seeds()
    for _ in range(40):
        text = mutate(chance.choice(texts), chance)
        found = load_files(tmp_path, {"main.tf": text})
        lines = text.count("\n") + 1
        for each in found.diagnostics:
            place = each.subject
            assert place is None or 1 <= place.line <= place.end_line <= lines + 1, text
