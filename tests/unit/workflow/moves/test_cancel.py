"""What a cancellation says of throttles that the cluster does not take away."""

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.request import ConfigAlteration, NewTopic
from kplan.cluster.settings import ConfigResourceAlteration
from kplan.kinds.throttle import broker_rates, broker_resource, own_rates, topic_throttles
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.workflow.moves.status import FAILED, cancel_moves

RATES_ARE_GONE = "Removed the throttle rates of brokers: 1."


@pytest.fixture
def held() -> MemoryCluster:
    """Leave the throttle of a run that was killed."""
    found = MemoryCluster(make_brokers(3))
    found.seed([NewTopic("a", assignment=((1, 2),))])
    found.alter_topic_configs([ConfigAlteration("a", dict.fromkeys(THROTTLED_REPLICAS, "00:1"))])
    found.alter_configs([ConfigResourceAlteration(broker_resource(1), own_rates(9), ())])
    return found


@pytest.mark.parametrize("has_list", [True, False])
@pytest.mark.parametrize("times", [0, 2, None])
def test_what_stays_is_named_with_its_command_and_is_a_failure(
    held: MemoryCluster, times: int | None, *, has_list: bool
) -> None:
    if not has_list:
        held.alter_topic_configs([ConfigAlteration("a", {}, THROTTLED_REPLICAS)])
    if times != 0:
        held.refuse("NOT_CONTROLLER", call="alter_configs", times=times)
    waited: list[float] = []
    found = cancel_moves(held, None, waited.append)
    is_kept = times is None
    assert (RATES_ARE_GONE in found.notes) is not is_kept
    assert ("Removed the throttles of: a." in found.notes) is (has_list and not is_kept)
    assert any("--entity-name 1 --delete-config" in each for each in found.notes) is is_kept
    assert found.findings == (frozenset({FAILED}) if is_kept else frozenset())
    assert bool(broker_rates(held, [1])) is is_kept
    assert bool(topic_throttles(held, ["a"])["a"]) is (has_list and is_kept)
    assert len(waited) == (3 if is_kept else times)


def test_a_cancelled_move_keeps_the_list_that_is_not_removed(held: MemoryCluster) -> None:
    held.slow_reassignments(99)
    held.reassign({("a", 0): (1, 3)})
    held.refuse("TOPIC_AUTHORIZATION_FAILED", on="a", call="alter_topic_configs", times=None)
    found = cancel_moves(held, None, lambda _: None)
    assert found.tables[0].rows[0][3] == "cancelled"
    assert "Removed the throttles" not in " ".join(found.notes)
    assert any(each.startswith("Topic a keeps the throttled replicas") for each in found.notes)
    assert found.findings == {FAILED}
