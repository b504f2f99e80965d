"""`kplan schema` needs no folder and no cluster."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_three_ways_of_saying_the_same(desk: MemoryCommand) -> None:
    (desk.folder / "main.tf").unlink()
    assert "$schema" in json.loads(desk.run("schema"))
    assert "provider_schemas" in json.loads(desk.run("schema", "-json"))
    assert desk.run("schema", "-markdown").startswith("# Blocks")
    assert "cannot be combined with" in desk.run("schema", "-markdown", "-json", code=1)
