"""The front door tells the truth."""

import re
from pathlib import Path

import pytest

from kplan.cli.app import VERBS
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from kplan.report.format import PLAIN_STYLE
from kplan.report.views import plan_text
from tests.values import make_plan, snapshot, state

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", blocks("hcl"))
def test_every_block_of_hcl_is_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(text)
    found = load_configuration(tmp_path, Inputs(), KINDS)
    assert found.diagnostics == ()
    assert found.resources


def test_the_plan_that_is_shown_is_the_plan_of_the_example(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(blocks("hcl")[0])
    found = load_configuration(tmp_path, Inputs(), KINDS)
    text = plan_text(make_plan(found.resources, state(), snapshot()), PLAIN_STYLE)
    shown = blocks("text")[0].partition("\n")[2]
    assert shown.rstrip() in text


def test_the_two_commands_are_one_line_each_and_ci_runs_them() -> None:
    for heading in ("## Try it", "## Test it"):
        section = README.partition(f"{heading}\n")[2].partition("\n## ")[0]
        (command,) = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        assert len(command.strip().splitlines()) == 1
        assert heading in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_verb_that_is_named_exists() -> None:
    named = re.findall(r"^kplan ([a-z]+)", blocks("text")[1], re.MULTILINE)
    known = {verb.split()[0] for verb in VERBS}
    assert named
    assert set(named) <= known
