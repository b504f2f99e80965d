"""`kplan graph` in this process."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_desk import Desk, desk_at


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    return desk_at(tmp_path, capsys, monkeypatch)


def test_a_graph_needs_no_values(desk: Desk) -> None:
    desk.write('variable "v" {}\nlocals { v = var.v }\n', "v.tf")
    assert '"local.v" -> "var.v";' in desk.types("graph")
    assert "local_v --> var_v" in desk.types("graph", "-format=mermaid")
    assert desk.types("graph") == desk.types("graph", "-format", "dot")


def test_mistakes_and_unknown_formats_are_told(desk: Desk) -> None:
    assert "svg" in desk.fails("graph", "-format=svg")
    desk.write("locals { a = local.b }\n", "v.tf")
    assert "Reference to undeclared local value" in desk.fails("graph")
