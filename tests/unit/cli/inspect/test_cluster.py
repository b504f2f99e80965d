"""`kplan cluster versions` in this process."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_what_the_brokers_offer_is_a_table_or_json(desk: MemoryCommand) -> None:
    """K117-17."""
    told = desk.run("cluster", "versions")
    assert "broker 3" in told
    assert "CreateTopics" in told
    tables = json.loads(desk.run("cluster", "versions", "-json"))["tables"]
    assert {*tables} == {"brokers", "apis", "features"}


def test_a_configuration_with_mistakes_is_told(desk: MemoryCommand) -> None:
    desk.write("locals { a = local.b }\n", "v.tf")
    assert "local" in desk.run_failing("cluster", "versions")
