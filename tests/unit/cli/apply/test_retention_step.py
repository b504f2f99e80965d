"""`retention_step`: one apply cuts retention.ms by no more than the step."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

DAY = 86_400_000
TOPIC = """
resource "kafka_topic" "t" {{
  name               = "t"
  partitions         = 1
  replication_factor = 1
  retention_step     = {step}
  config             = {{ "retention.ms" = "{retention}" }}
}}
"""


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def declare(command: MemoryCommand, days: int, step: str = '"2d"') -> None:
    command.write(TOPIC.format(step=step, retention=days * DAY))


def days(command: MemoryCommand) -> float:
    configs = command.cluster.topic_configs(["t"])["t"]
    return int(configs["retention.ms"].value or 0) / DAY  # type: ignore[index]


def test_a_large_cut_takes_several_applies_and_each_plan_says_how_many(
    command: MemoryCommand,
) -> None:
    declare(command, 7)
    command.run("apply", "-auto-approve")
    declare(command, 2)
    shown = command.run("plan", "-detailed-exitcode", code=2)
    assert f'"{7 * DAY}" -> "{5 * DAY}"' in shown
    assert f"KP2217 a step to retention.ms = {2 * DAY}: 2 more to apply" in shown
    found = []
    for _ in range(3):
        command.run("apply", "-auto-approve")
        found.append(days(command))
    assert found == [5, 3, 2]
    command.run("plan", "-detailed-exitcode", code=0)


def test_a_small_cut_a_rise_and_the_creation_take_one_apply(command: MemoryCommand) -> None:
    for wanted in (7, 5, 30):
        declare(command, wanted)
        assert "KP2217" not in command.run("apply", "-auto-approve")
        assert days(command) == wanted
        command.run("plan", "-detailed-exitcode", code=0)


def test_a_saved_plan_carries_the_step(command: MemoryCommand) -> None:
    declare(command, 7)
    command.run("apply", "-auto-approve")
    declare(command, 1)
    command.run("plan", "-out=p.plan")
    command.run("apply", "p.plan")
    assert days(command) == 5


def test_drift_between_two_steps_is_none(command: MemoryCommand) -> None:
    declare(command, 7)
    command.run("apply", "-auto-approve")
    declare(command, 1)
    command.run("apply", "-auto-approve")
    assert "retention.ms" not in command.run("drift", code=0)


@pytest.mark.parametrize("step", ['"2 days"', '"0d"', '"-1h"', '""', "5"])
def test_a_step_that_is_no_span_is_refused(command: MemoryCommand, step: str) -> None:
    declare(command, 7, step)
    assert "KP547" in command.run_failing("validate")


def test_a_step_without_a_retention_is_refused(command: MemoryCommand) -> None:
    command.write(TOPIC.format(step='"1d"', retention=DAY).replace("retention.ms", "segment.ms"))
    assert "declares retention_step without retention.ms" in command.run_failing("validate")
