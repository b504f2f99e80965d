"""`kplan schema` needs no folder and no cluster."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_desk import Desk, desk_at


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    return desk_at(tmp_path, capsys, monkeypatch)


def test_three_ways_of_saying_the_same(desk: Desk) -> None:
    (desk.folder / "main.tf").unlink()
    assert "$schema" in json.loads(desk.types("schema"))
    assert "provider_schemas" in json.loads(desk.types("schema", "-json"))
    assert desk.types("schema", "-markdown").startswith("# Blocks")
    assert "exclude each other" in desk.types("schema", "-markdown", "-json", code=1)
