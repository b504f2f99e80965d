"""The guides of `kplan help`: every block of code is run, or says why it is not."""

import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kplan.cli import exit_code
from kplan.cli.exit_code import ExitCode
from kplan.cli.run import run
from kplan.cluster.request import NewTopic
from tests.docs.guide_blocks import Block, all_blocks
from tests.unit.cli.memory_command import (
    MemoryCommand,
    memory_command,
    send_interrupt,
)

BLOCKS = all_blocks()
ELSEWHERE = {
    "codes": "one line each, read by test_manual.py",
    "tutorial": "run by test_manual.py and tests/e2e/test_tutorial.py",
}
GUIDES = sorted({each.page for each in BLOCKS} - ELSEWHERE.keys())
READ = {"hcl", "python", "yaml", "json", "properties", "text"}
"""Languages of blocks that are files or output."""


def run_line(desk: MemoryCommand, line: str, code: int, environ: dict[str, str]) -> str:
    words = shlex.split(line)
    if words[0] == "export":
        for each in words[1:]:
            name, _, environ[name] = each.partition("=")
        return ""
    assert words[0] == "kplan", f"{line}: note why it is not run"
    found = run(words[1:], environ)
    said = desk.capture.readouterr()
    assert found == code, (line, said)
    return said.out + said.err


ORDERS = """provider "kafka" {}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  replica_assignment = [[1, 2]]
}
"""

CHECKOUT = """
resource "kafka_topic" "returns" {
  name       = "shop.returns"
  partitions = 1
}

resource "kafka_acl" "checkout" {
  for_each            = toset(["Read", "Write"])
  resource_type       = "Topic"
  resource_name       = kafka_topic.orders.name
  acl_principal       = "User:checkout"
  acl_host            = "*"
  acl_operation       = each.key
  acl_permission_type = "Allow"
}
"""


def apply_topics(desk: MemoryCommand) -> None:
    desk.write(ORDERS)
    assert run(["apply", "-auto-approve"], {}) == ExitCode.DONE
    desk.capture.readouterr()


def lose_leader(desk: MemoryCommand) -> None:
    desk.cluster.stop_brokers(3)


def kill_apply(desk: MemoryCommand) -> None:
    desk.write(ORDERS + CHECKOUT)
    desk.cluster.run_before("create_acls", send_interrupt)
    assert run(["apply", "-auto-approve"], {}) == exit_code.signal_exit(signal.SIGINT)
    desk.capture.readouterr()


def start_brokers(desk: MemoryCommand) -> None:
    desk.cluster.start_brokers()


def lose_state(desk: MemoryCommand) -> None:
    shutil.rmtree(desk.folder / "state")


def create_topic(desk: MemoryCommand) -> None:
    desk.cluster.create_topics([NewTopic("shop.orders", 6, 1)])


def fill_cluster(desk: MemoryCommand) -> None:
    desk.write('provider "kafka" {}\n')
    desk.cluster.create_topics([NewTopic("audit", 3, 1)])


def write_folder(desk: MemoryCommand) -> None:
    (desk.folder / "topics").mkdir()
    desk.write(ORDERS.replace("shop.orders", "orders"), "topics/main.tf")


GIVEN: Mapping[str, Callable[[MemoryCommand], None]] = {
    "three brokers with applied topics": apply_topics,
    "a folder topics": write_folder,
    "an apply was killed": kill_apply,
    "a leader is lost": lose_leader,
    "all brokers run": start_brokers,
    "the state is lost": lose_state,
    "topic shop.orders exists": create_topic,
    "a cluster with topics": fill_cluster,
}


def run_lines(desk: MemoryCommand, text: str, code: int, environ: dict[str, str]) -> Iterator[str]:
    """Type each line; the last one ends with the exit code."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        yield run_line(desk, line, code if at + 1 == len(lines) else 0, environ)


def apply_block(desk: MemoryCommand, block: Block, environ: dict[str, str], said: str) -> str:
    """Write a file, type lines, or compare the output that a page shows; return the output."""
    if given := block.notes.get("given"):
        GIVEN[given](desk)
    if hidden := block.notes.get("without"):
        (desk.folder / hidden).unlink()
    if "file" in block.notes:
        desk.write(block.text, block.notes["file"])
    elif block.language == "text":
        for line in filter(str.strip, block.text.splitlines()):
            assert line.rstrip() in said, (block.line, line, said)
    elif block.language == "python":
        exec(compile(block.text, f"{block.page}:{block.line}", "exec"), {})  # noqa: S102 - of a guide
    else:
        assert block.language == "sh", (block.page, block.line)
        code = int(block.notes.get("exits", "0"))
        return "\n".join(run_lines(desk, block.text, code, environ))
    return said


@pytest.mark.parametrize("page", GUIDES)
def test_every_block_of_a_guide_works(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is there from its block on, and each line of a shell is typed, in their order."""
    for name in [each for each in os.environ if each.startswith("KPLAN_")]:
        monkeypatch.delenv(name)
    desk = memory_command(tmp_path, capsys, monkeypatch)
    environ: dict[str, str] = {}
    said = ""
    for block in BLOCKS:
        if block.page == page and "not run" not in block.notes:
            said = apply_block(desk, block, environ, said)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda each: f"{each.page}:{each.line}")
def test_a_block_is_run_or_says_why_not(block: Block) -> None:
    if block.page in ELSEWHERE:
        return
    assert block.language in {*READ, "sh"}, "indented code is not run: use a fence"
    if block.language not in {"sh", "text", "python"}:
        assert {"file", "not run"} & block.notes.keys()
    if reason := block.notes.get("not run"):
        for named in (word.rstrip(";,") for word in reason.split() if word.startswith("tests/")):
            assert (Path(__file__).parents[2] / named).exists(), named
