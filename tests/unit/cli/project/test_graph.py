"""`kplan graph` in this process."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_a_graph_needs_no_values(desk: MemoryCommand) -> None:
    desk.write('variable "v" {}\nlocals { v = var.v }\n', "v.tf")
    assert '"local.v" -> "var.v";' in desk.run("graph")
    assert "local_v --> var_v" in desk.run("graph", "-format=mermaid")
    assert desk.run("graph") == desk.run("graph", "-format", "dot")


def test_mistakes_and_unknown_formats_are_told(desk: MemoryCommand) -> None:
    assert "svg" in desk.run_failing("graph", "-format=svg")
    desk.write("locals { a = local.b }\n", "v.tf")
    assert "Reference to undeclared local value" in desk.run_failing("graph")
