"""`kplan cluster versions` in this process."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.memory_desk import Desk, desk_at


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    return desk_at(tmp_path, capsys, monkeypatch)


def test_what_the_brokers_offer_is_a_table_or_json(desk: Desk) -> None:
    """K117-17."""
    told = desk.types("cluster", "versions")
    assert "broker 3" in told
    assert "CreateTopics" in told
    tables = json.loads(desk.types("cluster", "versions", "-json"))["tables"]
    assert {*tables} == {"brokers", "apis", "features"}


def test_a_configuration_with_mistakes_is_told(desk: Desk) -> None:
    desk.write("locals { a = local.b }\n", "v.tf")
    assert "local" in desk.fails("cluster", "versions")
