"""A cluster is looked at in a folder without configuration, where the connection is given."""

from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.kafka import cluster as kafka
from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    (tmp_path / "main.tf").unlink()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kafka, "open_cluster", lambda *_: found.cluster)
    return found


@pytest.mark.parametrize(
    "command", ["topics list", "acl list", "cluster describe", "cluster versions"]
)
def test_the_environment_is_enough(desk: MemoryCommand, command: str) -> None:
    assert run(command.split(), {"KPLAN_BOOTSTRAP_SERVERS": "127.0.0.1:1"}) == 0
    properties = desk.folder / "client.properties"
    properties.write_text("bootstrap.servers=127.0.0.1:1\n")
    assert run(command.split(), {"KPLAN_COMMAND_CONFIG": str(properties)}) == 0


def test_an_option_is_enough(desk: MemoryCommand) -> None:
    desk.run("cluster", "describe", "-bootstrap-controller=127.0.0.1:1")


def test_without_either_the_folder_is_the_error(desk: MemoryCommand) -> None:
    assert "No configuration files [KP127]" in desk.run_failing("topics", "list")
    assert run(["topics", "list"], {"KPLAN_REQUEST_TIMEOUT": "x"}) == 1
    assert run(["plan"], {"KPLAN_BOOTSTRAP_SERVERS": "127.0.0.1:1"}) == 1
