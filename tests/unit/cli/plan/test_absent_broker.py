"""Configs of a broker that the cluster does not list: its id is wrong, or it is down."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

CONFIG = """
resource "kafka_broker_config" "b" {{
  broker_id = {}
  config    = {{ "log.cleaner.threads" = "2" }}
}}
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def told_by_plan(desk: MemoryCommand) -> str:
    return " ".join(desk.run_failing("plan").replace("│", " ").split())


def test_a_wrong_broker_id_is_answered_with_the_brokers_there_are(desk: MemoryCommand) -> None:
    desk.write(CONFIG.format(9), "broker.tf")
    told = told_by_plan(desk)
    assert "The cluster lists no broker 9: it lists 1, 2, 3." in told
    assert "hint: Correct broker_id, or start broker 9 and plan again." in told
    assert "DISCONNECTED" not in told


def test_a_broker_that_is_registered_is_said_to_be_down(desk: MemoryCommand) -> None:
    desk.write(CONFIG.format(3), "broker.tf")
    desk.cluster.stop_brokers(3)
    told = told_by_plan(desk)
    assert "Broker 3 does not answer: it is registered and not running." in told
    assert "hint: Start broker 3 and plan again." in told


@pytest.mark.parametrize("text", [CONFIG.format(3), "\n"])
def test_what_is_owned_of_a_broker_that_is_down_is_not_planned(
    desk: MemoryCommand, text: str
) -> None:
    desk.write(CONFIG.format(3), "broker.tf")
    desk.run("apply", "-auto-approve")
    desk.write(text, "broker.tf")
    desk.cluster.stop_brokers(3)
    told = desk.run("plan", code=1)
    assert "kafka_broker_config/3 could not be read" in told
    assert "nothing is planned for it." in told
    assert "kafka_broker_config.b" not in told
