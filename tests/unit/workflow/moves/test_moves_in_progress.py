"""Plans that change where replicas go while they are on their way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.cluster.topology import Replicas
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.kinds.reassignment import ReassignmentLimits
from kplan.kinds.throttle import THROTTLE_RATES
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import BrokerTransfer, Change, Plan, Risk
from kplan.workflow.moves.progress import describe_moves
from tests.project_harness import ProjectHarness

TOPIC = 'resource "kafka_topic" "a" {{\n  name = "a"\n  replica_assignment = [{}]\n}}\n'


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster(make_brokers(4)))
    found.write(TOPIC.format([1, 2]))
    found.apply()
    return found


@pytest.fixture
def turned(site: ProjectHarness) -> Callable[..., Plan]:
    """Plan other replicas while those of a partition on brokers 1 and 2 move."""

    def plan(first: Replicas, then: Replicas, *stopped: int) -> Plan:
        site.cluster.reassign({("a", 0): first})
        if stopped:
            site.cluster.stop_brokers(*stopped)
        site.write(TOPIC.format(list(then)))
        return site.plan().plan

    site.cluster.set_topic_use("a", TopicUse({0: PartitionUse(0, 10, 0, 2048, 0)}, groups=()))
    site.cluster.slow_reassignments(10**6)
    return plan


def notes(change: Change) -> list[str]:
    return [each for each in change.notes if each.startswith(("KP2211", "KP2214"))]


def test_a_plan_that_reverts_a_move_announces_no_copies(
    turned: Callable[..., Plan],
) -> None:
    plan = turned((3, 1), (1, 2))
    (change,) = plan.changes
    assert change.action.value == "update"
    assert notes(change) == ["KP2214 nothing is copied: the reassignment in progress is reverted"]
    assert change.risk is Risk.SAFE
    assert plan.moves == (BrokerTransfer(3, 0, 0, ""),)


@pytest.mark.parametrize(
    ("then", "copied"),
    [
        ((1, 3), "nothing is copied beside what the reassignment in progress copies"),
        ((1, 2, 3), "copies 2,048 bytes to broker 3"),
        ((3, 4), "copies 2,048 bytes to broker 4"),
    ],
    ids=["another order", "cancelled and begun again", "elsewhere"],
)
def test_a_plan_that_turns_a_move_announces_what_is_copied_anew(
    turned: Callable[..., Plan], then: Replicas, copied: str
) -> None:
    (change,) = turned((3, 1), then).changes
    assert notes(change)[-1] == f"KP2214 {copied}"
    assert len(notes(change)) == (1 if copied.startswith("nothing") else 2)


def test_a_revert_to_a_broker_that_is_down_is_no_move_to_it(
    turned: Callable[..., Plan],
) -> None:
    plan = turned((3, 1), (1, 2), 2)
    assert plan.diagnostics == ()
    assert plan.is_applyable


def test_a_reverting_plan_stays_the_same_while_partitions_arrive(tmp_path: Path) -> None:
    """What is approved is where the replicas go: how far the move is changes from look to look."""
    site = ProjectHarness(tmp_path, MemoryCluster(make_brokers(4)))
    site.write(TOPIC.format("[1, 2], [1, 2]"))
    site.apply()
    site.cluster.slow_reassignments(10**6)
    site.cluster.reassign({("a", 0): (3, 4), ("a", 1): (3, 4)})
    checksum = site.plan().plan.checksum
    site.cluster.slow_reassignments(0)
    site.cluster.reassign({("a", 0): (3, 4)})
    assert len(site.cluster.reassignments()) == 1
    assert site.plan().plan.checksum == checksum


def test_rates_of_the_brokers_that_send_are_warned_of_while_a_move_turns(
    turned: Callable[..., Plan], site: ProjectHarness
) -> None:
    sender = ConfigResource(ConfigScope.BROKER, "2")
    rates = dict.fromkeys(THROTTLE_RATES, "9000000")
    site.cluster.seed_settings(configs=[ConfigResourceAlteration(sender, rates)])
    told = turned((3, 1), (3, 4)).diagnostics
    assert [(each.code, each.detail.split(" has ")[0]) for each in told] == [("KP217", "Broker 2")]


@pytest.mark.parametrize(
    ("stopped", "size"),
    [((), "2,048"), ((1,), "2,048"), ((1, 2), "an unknown number of")],
    ids=["all answer", "one old replica answers", "no old replica answers"],
)
def test_a_move_that_goes_on_notes_the_bytes_left_only_where_they_are_known(
    tmp_path: Path, stopped: Replicas, size: str
) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster(make_brokers(4)))
    site.write(TOPIC.format([1, 2]))
    site.apply()
    site.write(TOPIC.format([3, 4]))
    (change,) = site.plan().plan.changes
    site.cluster.set_topic_use("a", TopicUse({0: PartitionUse(0, 10, 0, 1024, 0)}, groups=()))
    site.cluster.slow_reassignments(10**6)
    site.cluster.reassign({("a", 0): (3, 4)})
    if stopped:
        site.cluster.stop_brokers(*stopped)
    going = Outcome(change, OutcomeStatus.IN_PROGRESS)
    (told,) = describe_moves(site.cluster, [going], ReassignmentLimits(bytes_per_s=0))
    assert told.note == f"partitions 0; {size} bytes left to copy; throttle none"


def test_a_move_whose_size_no_broker_tells_copies_unknown_bytes(
    turned: Callable[..., Plan], site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site.cluster, "replica_sizes", lambda _: {})
    plan = turned((3, 1), (3, 4))
    assert notes(plan.changes[0])[-1] == (
        "KP2214 copies UNKNOWN bytes: sizes of replicas could not be read"
    )
    assert {each.gains for each in plan.moves if each.broker == 4} == {None}
