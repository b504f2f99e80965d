"""The installed command's verbs about the configuration language; no Kafka is asked."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.e2e.commands import KPLAN, environ, kplan

TOPIC = """
variable "size" { default = 3 }
resource "kafka_topic" "orders" {
  name       = "orders"
  partitions = var.size
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(TOPIC, encoding="utf-8")
    return tmp_path


def test_the_console_answers_a_pipe(folder: Path) -> None:
    ran = kplan(folder, "console", "-var=size=6", typed='kafka_topic.orders.partitions\n"a"\n')
    assert (ran.code, ran.out, ran.err) == (0, '6\n"a"\n', "")
    ran = kplan(folder, "console", "-json", typed='{"expr": "1/3"}\n{"expr": "var.nosuch"}\n')
    assert ran.code == 0
    assert [json.loads(line)["ok"] for line in ran.out.splitlines()] == [True, False]


def test_the_console_talks_with_a_person(folder: Path) -> None:
    """K4o-15: at a terminal there is a prompt, errors do not end it, and Ctrl-D does."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*KPLAN, "console"],
        cwd=folder,
        env=environ({"TERM": "dumb"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        _until_prompt(ours)
        assert "Error: Invalid reference" in _typed(ours, "nosuch")
        _typed(ours, "upper(", prompt=": ")
        assert '"ABC"' in _typed(ours, '"abc")')
        os.write(ours, b"\x04")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _typed(terminal: int, text: str, prompt: str = "> ") -> str:
    """Type a line behind a prompt, and give what is written until the next prompt."""
    os.write(terminal, f"{text}\n".encode())
    return _until_prompt(terminal, prompt)


def _until_prompt(terminal: int, prompt: str = "> ") -> str:
    written = b""
    while not f"\n{written.decode(errors='replace')}".endswith(f"\n{prompt}"):
        more = _read(terminal)
        assert more, written
        written += more
    return written.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # how Linux tells that the other side of a terminal is gone
        return b""


def test_the_schema_is_written_without_a_configuration(tmp_path: Path) -> None:
    ran = kplan(tmp_path, "schema")
    assert (ran.code, ran.err) == (0, "")
    assert "kafka_topic" in json.loads(ran.out)["$defs"]


def test_the_graph_is_drawn_in_two_languages(folder: Path) -> None:
    ran = kplan(folder, "graph")
    assert (ran.code, ran.err) == (0, "")
    assert '"kafka_topic.orders" -> "var.size";' in ran.out
    assert "kafka_topic_orders --> var_size" in kplan(folder, "graph", "-format=mermaid").out


def test_tests_run_in_memory_and_report_to_ci(folder: Path) -> None:
    text = 'run "r" {\n  assert {\n    condition     = kafka_topic.orders.partitions == 3\n'
    text += '    error_message = "No."\n  }\n}\n'
    (folder / "orders.kptest.hcl").write_text(text, encoding="utf-8")
    ran = kplan(folder, "test", "-junit-xml=report.xml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Success! 1 passed, 0 failed.\n")
    assert 'failures="0"' in (folder / "report.xml").read_text(encoding="utf-8")
    ran = kplan(folder, "test", "-var=size=4")
    assert ran.code == 1
    assert "Test assertion failed" in ran.err
    assert {path.name for path in folder.iterdir()} == {
        "main.tf",
        "orders.kptest.hcl",
        "report.xml",
    }
