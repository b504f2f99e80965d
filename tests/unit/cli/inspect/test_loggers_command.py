"""`kplan loggers` as somebody types it."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_command import memory_command


def test_levels_of_a_node_that_no_broker_lists_are_refused_before_approval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = memory_command(tmp_path, capsys, monkeypatch)
    said = desk.run_failing("loggers", "set", "101", "root=DEBUG", "-auto-approve")
    assert "The levels of node 101 are unchanged: " in said
    assert "if it is a controller, use -bootstrap-controller." in said
    assert desk.cluster.count("alter_configs") == 0
