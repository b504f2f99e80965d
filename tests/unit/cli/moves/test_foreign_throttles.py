"""Throttles that other people set, while kplan moves replicas and is killed (decision 0169)."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cluster.request import ConfigAlteration, NewTopic
from kplan.cluster.settings import ConfigResourceAlteration
from kplan.kinds.throttle import (
    THROTTLE_RATES,
    broker_rates,
    broker_resource,
    own_rates,
    topic_throttles,
)
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from tests.unit.cli.memory_command import MemoryCommand, memory_command, send_interrupt

FOLLOWER_RATE = THROTTLE_RATES[0]
LEADERS = THROTTLED_REPLICAS[1]
STRANGER = {FOLLOWER_RATE: "777777"}


def block(placed: str) -> str:
    return f'resource "kafka_topic" "a" {{\n  name = "a"\n  replica_assignment = {placed}\n}}\n'


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.cluster.seed([NewTopic("a", assignment=((1, 2), (1, 2)))])
    set_rates(found, 3, STRANGER)
    return found


def set_rates(desk: MemoryCommand, broker: int, rates: Mapping[str, str]) -> None:
    desk.cluster.alter_configs([ConfigResourceAlteration(broker_resource(broker), rates, ())])


def left(desk: MemoryCommand) -> tuple[Mapping[int, Mapping[str, str]], Mapping[str, str]]:
    """Return the rates of brokers, and the lists of the topic."""
    return broker_rates(desk.cluster, [1, 2, 3]), topic_throttles(desk.cluster, ["a"])["a"]


def interrupt(desk: MemoryCommand, *, is_over: bool = False) -> None:
    """Begin to move, and be gone; with `is_over` the last replica arrives afterwards."""
    desk.cluster.slow_reassignments(3)
    desk.cluster.run_before("reassign", send_interrupt)
    desk.write(block("[[3, 2], [3, 2]]"))
    desk.run("apply", "-auto-approve", "-throttle=1M", code=130)
    while is_over and desk.cluster.reassignments():
        pass
    rates, lists = left(desk)
    assert rates == {1: own_rates(10**6), 2: own_rates(10**6), 3: STRANGER}
    assert lists == dict(zip(THROTTLED_REPLICAS, ("00:3,01:3", "00:1,00:2,01:1,01:2"), strict=True))


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize(
    "again",
    [
        ("apply", "-resume"),
        ("apply", "-auto-approve"),
        ("apply", "-auto-approve", "-throttle=0"),
        ("reassign", "cancel", "-all", "-auto-approve"),
    ],
)
def test_a_kill_leaves_the_rates_of_others_and_none_of_its_own(
    desk: MemoryCommand, again: tuple[str, ...], *, is_over: bool
) -> None:
    interrupt(desk, is_over=is_over)
    set_rates(desk, 1, dict.fromkeys(THROTTLE_RATES, "9999999"))
    desk.run(*again)
    assert left(desk) == ({1: dict.fromkeys(THROTTLE_RATES, "9999999"), 3: STRANGER}, {})


def test_a_cancellation_names_the_rates_that_it_leaves(desk: MemoryCommand) -> None:
    interrupt(desk)
    told = " ".join(desk.run("reassign", "cancel", "-all", "-auto-approve").split())
    assert "Removed the throttles of: a." in told
    assert "Broker 3 has throttle rates that kplan did not set, and keeps them." in told
    assert "Broker 1 has" not in told


def test_a_resumed_apply_names_the_throttle_that_it_could_not_take_away(
    desk: MemoryCommand,
) -> None:
    interrupt(desk, is_over=True)
    before = left(desk)
    desk.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="alter_configs", times=None)
    assert run(["apply", "-resume"], {}) == 0
    told = " ".join("".join(desk.capture.readouterr()).split())
    assert "Took throttles of a former move away" not in told
    assert "Broker 1 keeps the throttle rates of the moves, as their removal was refused" in told
    assert "--entity-name 1 --delete-config" in told
    assert left(desk) == before


def test_a_list_that_kplan_did_not_set_is_named_by_the_plan_and_stays(desk: MemoryCommand) -> None:
    desk.cluster.alter_topic_configs([ConfigAlteration("a", {LEADERS: "0:2"})])
    set_rates(desk, 2, {FOLLOWER_RATE: "5000000"})
    desk.write(block("[[3, 2], [1, 2]]"))
    assert run(["plan"], {}) == 0
    told = " ".join(desk.capture.readouterr().err.replace("│", " ").split())
    assert "Warning: Topic has its own throttled replicas [KP218]" in told
    assert f"Topic a has throttled replicas that kplan did not set: {LEADERS} is 0:2." in told
    assert f"--entity-type topics --entity-name a --delete-config {LEADERS}" in told
    assert "Broker 2 has throttle rates that kplan did not set" in told
    desk.run("apply", "-auto-approve")
    assert left(desk) == ({2: {FOLLOWER_RATE: "5000000"}, 3: STRANGER}, {LEADERS: "0:2"})


def test_a_declared_list_is_no_drift_while_a_move_adds_to_it(desk: MemoryCommand) -> None:
    declared = block("[[3, 2], [3, 2]]").replace(
        'name = "a"', f'name = "a"\n  config = {{ "{LEADERS}" = "0:2" }}'
    )
    desk.cluster.alter_topic_configs([ConfigAlteration("a", {LEADERS: "0:2,00:1,01:2"})])
    desk.write(declared)
    assert run(["plan"], {}) == 0
    told = "".join(desk.capture.readouterr())
    assert "KP218" not in told
    assert "00:1" not in told
    desk.run("apply", "-auto-approve")
    assert left(desk)[1] == {LEADERS: "0:2"}
    assert "No changes." in desk.run("plan")


@pytest.mark.parametrize("is_own", [True, False])
def test_a_list_on_a_topic_is_not_taken_for_a_declared_one_by_reassign(
    desk: MemoryCommand, *, is_own: bool
) -> None:
    """What a killed run left goes with the next move; what somebody else set stays, and is told."""
    lists = dict(zip(THROTTLED_REPLICAS, ("00:3", "00:1,00:2"), strict=True))
    desk.cluster.alter_topic_configs([ConfigAlteration("a", lists if is_own else {LEADERS: "0:2"})])
    file = desk.folder / "to.json"
    moved = {"topic": "a", "partition": 0, "replicas": [3, 2]}
    file.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    desk.cluster.slow_reassignments(1)
    told = desk.run_failing("reassign", "import", "to.json", "-auto-approve", code=0)
    assert ("KP218" in told) is not is_own
    assert "KP2216" not in told
    assert topic_throttles(desk.cluster, ["a"]) == {"a": {} if is_own else {LEADERS: "0:2"}}
