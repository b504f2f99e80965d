"""`kplan reassign drain` and `balance` as somebody types them."""

from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cluster.request import ConfigAlteration, NewTopic, TopicDescription
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.kinds.throttle import THROTTLE_RATES, own_rates
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from tests.unit.cli.memory_command import MemoryCommand, memory_command

POLICY = """
policy "not_on_one" {
  on   = ["alter"]
  kind = "kafka_topic"
  deny {
    condition = contains(flatten(values(requested.assignments)), 1)
    message   = "broker 1 is full"
  }
}
"""
DECLARED = """
resource "kafka_topic" "a" {
  name               = "a"
  replica_assignment = [[1, 2], [2, 3]]
}
"""

PLACED = """
resource "kafka_topic" "p" {
  name               = "p"
  partitions         = 2
  replication_factor = 2
  placement          = { strategy = "balanced-leaders" }
}
"""


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write("")
    found.cluster.seed([NewTopic("a", assignment=((1, 2), (2, 3))), NewTopic("b", 1, 1)])
    found.cluster.set_topic_use("a", TopicUse({0: PartitionUse(0, 10, 0, 2048, 0)}, groups=()))
    return found


def assignment(command: MemoryCommand, name: str) -> object:
    found = command.cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found.assignment


def test_a_drain_shows_the_brokers_before_and_after_and_moves_every_replica(
    command: MemoryCommand,
) -> None:
    shown = command.run("reassign", "drain", "2", "-dry-run", "-match=a")
    assert "Drain of broker 2" in shown
    row = next(each.split() for each in shown.splitlines() if "to drain" in each)
    assert row[0] == "2"
    assert row[-4:-2] == ["2", "0"]
    assert "Reassigned partitions: 2." in shown
    assert "moves 2 KiB: broker 1 +0 B, broker 2 -2 KiB, broker 3 +2 KiB" in shown
    assert command.cluster.count("reassign") == 0
    command.run("reassign", "drain", "2", "-auto-approve", "-match=a")
    assert assignment(command, "a") == ((1, 3), (1, 3))
    assert "No changes. Broker 2: no replicas of a." in command.run(
        "reassign", "drain", "2", "-auto-approve", "-match=a"
    )


def test_a_drain_without_a_place_to_go_moves_nothing(command: MemoryCommand) -> None:
    shown = command.run_failing("reassign", "drain", "1", "2", "-auto-approve")
    assert "KP546" in shown
    assert "a:0: 2 replicas, and no other broker that is not drained" in shown
    assert command.cluster.count("reassign") == 0


def test_topics_with_a_declared_placement_are_named(command: MemoryCommand) -> None:
    command.write(DECLARED)
    shown = command.run_failing("reassign", "drain", "2", "-auto-approve", "-match=a")
    assert "a:0: kafka_topic.a declares replica_assignment, at main.tf:2" in shown
    balanced = command.run("reassign", "balance", "-by=replicas", "-dry-run")
    assert "Topics with a declared placement stay where they are: a." in balanced


def test_a_broker_that_never_returns_is_drained_of_placed_topics_too(
    command: MemoryCommand,
) -> None:
    """The strategy leaves what is on it where it is, so someone has to move that."""
    command.write(PLACED)
    command.cluster.seed([NewTopic("p", assignment=((1, 3), (2, 1)))])
    pinned = command.run_failing("reassign", "drain", "3", "-auto-approve", "-match=p")
    assert "p:0: kafka_topic.p declares placement, at main.tf:2" in pinned
    command.cluster.stop_brokers(3)
    pinned = command.run_failing("reassign", "drain", "1", "-auto-approve", "-match=p")
    assert "p:0: kafka_topic.p declares placement" in pinned, "broker 3 may be back soon"
    command.write(PLACED + DECLARED)
    shown = command.run("reassign", "drain", "3", "-auto-approve", "-match=p")
    assert "Topics with a declared placement stay where they are: a." in shown
    assert assignment(command, "p") == ((1, 2), (2, 1))


def test_brokers_that_do_not_exist_are_named_with_those_that_do(command: MemoryCommand) -> None:
    shown = command.run_failing("reassign", "drain", "2", "9", "8", "-auto-approve")
    assert "The cluster has no broker 8, 9." in shown
    assert "hint: Its brokers are 1, 2, 3." in shown
    assert "requires the ids" in command.run_failing("reassign", "drain", "-auto-approve")


def test_a_policy_for_alter_decides_about_a_drain(command: MemoryCommand) -> None:
    command.write(POLICY)
    shown = command.run("reassign", "drain", "2", "-auto-approve", "-match=a", code=1)
    assert "1 refused by policy" in shown
    assert command.cluster.count("reassign") == 0


def test_a_balance_evens_out_replicas(command: MemoryCommand) -> None:
    command.cluster.seed([NewTopic("c", assignment=((1,), (1,), (1,), (1,)))])
    shown = command.run("reassign", "balance", "-by=replicas", "-auto-approve", "-match=c")
    assert "Every broker is within 10% of the mean then (replicas)." in shown
    held = [row[0] for row in assignment(command, "c")]  # type: ignore[attr-defined]
    assert held.count(1) < 4
    again = command.run("reassign", "balance", "-by=replicas", "-auto-approve", "-match=c")
    assert "No changes. No replicas are moved." in again


@pytest.mark.parametrize("text", ["", "x", "-1", "101%", "1000"])
def test_a_tolerance_that_is_no_percentage_is_refused(command: MemoryCommand, text: str) -> None:
    shown = command.run_failing("reassign", "balance", f"-tolerance={text}", "-dry-run")
    assert "is not a percentage from 0 to 100" in shown


def test_a_rate_that_is_left_on_a_broker_is_warned_of_before_it_limits_a_move(
    command: MemoryCommand,
) -> None:
    """It stays, and is used in place of -throttle: a broker that was down kept it."""
    drain = ("reassign", "drain", "2", "-match=a", "-dry-run")
    assert "KP217" not in command.run(*drain)
    own = ConfigResource(ConfigScope.BROKER, "3")
    rates = dict(zip(THROTTLE_RATES, ("9000000", "8000000"), strict=True))
    command.cluster.seed_settings(configs=[ConfigResourceAlteration(own, rates)])
    assert run(drain, {}) == 0
    told = " ".join(command.capture.readouterr().err.replace("│", " ").split())
    assert "Warning: Broker has its own throttle rates [KP217]" in told
    assert "Broker 3 has throttle rates that kplan did not set for these moves: 8,000,000" in told
    assert "They stay, and limit what is copied to and from the broker in place of" in told
    assert "kafka-configs.sh --bootstrap-server HOST:PORT --alter" in told
    left = dict.fromkeys(THROTTLED_REPLICAS, "00:3")
    command.cluster.alter_topic_configs([ConfigAlteration("a", left)])
    assert run(drain, {}) == 0
    told = command.capture.readouterr().err
    assert "KP217" in told, "a killed run has left the list, and not these rates"
    assert "KP218" not in told
    command.cluster.alter_configs([ConfigResourceAlteration(own, own_rates(9))])
    assert run(drain, {}) == 0
    assert "KP217" not in command.capture.readouterr().err, "those of a killed run are taken over"
    command.run("reassign", "drain", "2", "-match=a", "-auto-approve")
    assert "No replicas are being moved." in command.run("reassign", "status").splitlines()[-1]


def test_a_full_drain_that_needs_more_brokers_says_how_many_and_what_can_move(
    command: MemoryCommand,
) -> None:
    """The topics of Kafka itself often have as many replicas as there are brokers."""
    command.cluster.seed(
        [NewTopic(name, 2, 3) for name in ("__kplan_state", "__transaction_state")]
    )
    shown = command.run_failing("reassign", "drain", "3", "-auto-approve")
    assert "__kplan_state:0: 3 replicas, and no other broker that is not drained" in shown
    assert (
        "hint: A full drain needs 1 more broker, or a replication factor of 2 at most. To leave "
        "these topics out, use '-match=[!_]*'." in shown
    )
    assert "Drain of broker 3" in command.run("reassign", "drain", "3", "-dry-run", "-match=[!_]*")
    command.cluster.seed([NewTopic("wide", 1, 3)])
    shown = command.run_failing("reassign", "drain", "3", "-auto-approve")
    assert "To leave these topics out, use '-match=a*'." in shown
    command.write(DECLARED)
    shown = command.run_failing("reassign", "drain", "3", "-auto-approve")
    assert "hint: Change the declarations of topics with a placement" in shown
    assert "A full drain needs 1 more broker" in shown
    shown = command.run_failing("reassign", "drain", "3", "-auto-approve", "-match=w*")
    assert "1 more broker" in shown
    assert "leave these topics out" not in shown, "they are the topics that were asked for"


def test_a_drain_of_the_last_broker_asks_for_another_one_and_no_less(
    command: MemoryCommand,
) -> None:
    command.cluster.stop_brokers(2, 3)
    command.cluster.seed([NewTopic("alone", assignment=((1,),))])
    shown = command.run_failing("reassign", "drain", "1", "-auto-approve", "-match=alone")
    assert "alone:0: 1 replica, and no other broker that is not drained" in shown
    assert shown.endswith("hint: A full drain needs 1 more broker. ╵")


def test_a_drain_that_is_cancelled_halfway_says_how_many_partitions_have_moved(
    command: MemoryCommand,
) -> None:
    """A topic has failed with its last partition; the others are where they were to go."""
    drain = ("reassign", "drain", "2", "-match=a", "-auto-approve", "-move-batch=1")
    cluster = command.cluster
    cluster.slow_reassignments(2)

    def begin_second() -> None:
        cluster.slow_reassignments(10**6)
        cluster.run_before("topics", lambda: cluster.reassign({("a", 1): None}))

    cluster.run_before("reassign", lambda: cluster.run_before("reassign", begin_second))
    told = command.run(*drain, code=1)
    assert "1 of 2 partitions moved" in told
    assert told.splitlines()[-1] == "Partitions moved: 1 of 2."
