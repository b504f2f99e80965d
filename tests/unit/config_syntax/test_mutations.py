"""Broken files of every sort are told as such: no exception, no hang.

    KPLAN_MUTATIONS=5000 pytest tests/unit/config/test_mutations.py -n0

tries many.
"""

import os
import random
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kplan.config.format.formatter import format_text
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from kplan.model.errors import ConfigError

UNIT = Path(__file__).parents[1]
SEEDS = sorted(
    [
        *UNIT.glob("config/fixtures/configurations/*/*.tf*"),
        *UNIT.glob("config/mistakes/*/*.tf"),
        *UNIT.glob("config_format/samples/*.tf"),
        *UNIT.glob("config_acceptance/mistakes/*/*.tf"),
        *UNIT.parents[1].glob("modules/*/*.tf"),
        *UNIT.parents[1].glob("examples/*/*.tf"),
    ]
)
ROUNDS = int(os.environ.get("KPLAN_MUTATIONS", "120"))
LONGEST_S = 20
PIECES = [
    "{", "}", "(", ")", "[", "]", '"', "${", "%{", "<<EOT\n", "EOT\n", "<<-X\n", "\n", "=", "=>",
    ",", ".", "*", "...", "?", ":", "/*", "*/", "#", "//", "\\", "'", "~", "&&", "||", "!", "-",
    "for ", " in ", " if ", "null", "0x", "1e999", "9" * 50, "é", "\x00", "\u2028", "\r", "\t",
    "dynamic ", "for_each = ", "count = ", "local.a", "var.x", "each.value", "self", "[*]", ".*",
    "%{ for x in y }", "%{ endif }", "::", "\ufeff",
]  # fmt: skip


def mutate(text: str, choose: random.Random) -> str:
    """Break a text at one to four places: take out, double, swap or put in."""
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(text) + 1)
        end = min(len(text), at + choose.choice([1, 1, 2, 5, 20, 80]))
        match choose.randrange(4):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + text[at:end] * choose.choice([2, 3, 50]) + text[end:]
            case 2:
                text = text[:at] + choose.choice(PIECES) + text[at:]
            case _:
                text = text[:at] + choose.choice(PIECES) + text[end:]
    return text


@pytest.mark.parametrize("part", range(4))
def test_a_broken_file_is_told_and_nothing_else_happens(tmp_path: Path, part: int) -> None:
    choose = random.Random(part)
    for number in range(ROUNDS // 4):
        seed = choose.choice(SEEDS)
        text = mutate(seed.read_bytes().decode("utf-8", "replace"), choose)
        name = "main.tf.json" if seed.name.endswith(".json") else "main.tf"
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_text(text, encoding="utf-8", newline="")
        began = time.monotonic()
        found = load_configuration(folder, Inputs(), KINDS)
        assert time.monotonic() - began < LONGEST_S, text
        assert all(each.detail for each in found.diagnostics), text
        with suppress(ConfigError):
            format_text(text, name)
