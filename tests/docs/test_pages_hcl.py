"""HCL in the topics of `kplan help` can be read, and the policy there refuses what it says."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from tests.unit.cli.memory_command import MemoryCommand, memory_command

HELP = Path(__file__).parents[2] / "kplan" / "cli" / "help"
INDENTED = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
BLOCK = re.compile(r'^ {4}\w+(?: "[^"]+")? \{', re.MULTILINE)
FENCED = re.compile(r"^```hcl\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    fenced = FENCED.findall(text)
    text = FENCED.sub("", text)  # the blocks inside of a block are not blocks of the page
    found = [dedent(each).lstrip("\n") for each in INDENTED.findall(text) if BLOCK.search(each)]
    return [*fenced, *found]


PAGES = [(page.name, each) for page in sorted(HELP.glob("*.md")) for each in blocks(page)]


@pytest.mark.parametrize(("name", "text"), PAGES)
def test_every_block_of_hcl_in_a_page_can_be_read(name: str, text: str) -> None:
    assert parse_file(Source(name, text)).diagnostics == ()
    assert parse_file(Source(name, text)).items


def test_the_policy_that_is_shown_refuses_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk: MemoryCommand = memory_command(tmp_path, capsys, monkeypatch)
    (shown,) = (
        text for name, text in PAGES if name == "policies.md" and text.startswith("policy ")
    )
    topic = '\nresource "kafka_topic" "t" {\n  name = "t"\n  partitions = 13\n}\n'
    desk.write(f'provider "kafka" {{}}\n{shown}{topic}')
    assert "13 partitions are more than 12" in desk.run_failing("plan")
    assert "Declare fewer." in desk.run_failing("plan")
