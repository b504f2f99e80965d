"""The end of throttles where the cluster refuses it, or others move replicas."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from kplan.cluster.errors import refusal
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.request import ConfigAlteration, ItemResult, NewTopic
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration
from kplan.kinds.reassignment import Reassigner, ReassignmentLimits, TopicTargets
from kplan.kinds.throttle import (
    broker_rates,
    broker_resource,
    own_rates,
    rate_removal_command,
    topic_throttles,
)
from kplan.kinds.throttle_removal import remove_leftover_throttles
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import InProgress, Refusal
from kplan.model.resource import Identity

ORDERS = Identity("orders")
WISH = [TopicTargets("orders", "", {0: (3, 2)})]
NOT_CONTROLLER, TIMED_OUT, DENIED = refusal(41), refusal(7), refusal(31)
RATE_COMMAND = rate_removal_command(1, "PLAINTEXT")


class Reluctant(MemoryCluster):
    """Refuses so many times to take throttles away, and counts how often it was asked to."""

    rate_refusals: tuple[Refusal, int] = (NOT_CONTROLLER, 0)
    list_refusals: tuple[Refusal, int] = (TIMED_OUT, 0)

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        why, left = self.rate_refusals
        if left and any(each.delete for each in specs):
            self.rate_refusals = why, left - 1
            return {each.resource: why for each in specs}
        return super().alter_configs(specs, validate_only=validate_only)

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        why, left = self.list_refusals
        if left and any(each.delete for each in specs):
            self.list_refusals = why, left - 1
            return {each.name: why for each in specs}
        return super().alter_topic_configs(specs, validate_only=validate_only)


def cluster() -> Reluctant:
    found = Reluctant(make_brokers(4))
    found.seed([NewTopic("orders", assignment=((1, 2),)), NewTopic("other", assignment=((1, 2),))])
    found.slow_reassignments(2)
    return found


def left(held: MemoryCluster) -> tuple[Collection[int], Collection[str]]:
    """Name the brokers with rates, and the topics with throttled replicas."""
    lists = topic_throttles(held, ["orders"])
    return sorted(broker_rates(held, [1, 2, 3, 4])), [name for name in lists if lists[name]]


def finish(held: MemoryCluster, mover: Reassigner) -> tuple[ItemResult, list[InProgress]]:
    """Look until the move is over; give the last answer, and those before it."""
    seen: list[InProgress] = []
    while isinstance(found := mover.advance(held, WISH)[ORDERS], InProgress):
        seen.append(found)
    return found, seen


@pytest.mark.parametrize("rates", [0, 3])
@pytest.mark.parametrize("lists", [0, 3])
def test_a_move_is_done_when_the_cluster_has_taken_its_throttle_away(
    rates: int, lists: int
) -> None:
    held = cluster()
    held.rate_refusals, held.list_refusals = (NOT_CONTROLLER, rates), (TIMED_OUT, lists)
    found, seen = finish(held, Reassigner(ReassignmentLimits()))
    assert found is None
    assert left(held) == ([], [])
    waits = [each.message for each in seen if "throttle" in each.message]
    assert len(waits) == rates + lists
    assert all(each.startswith("Its throttle is to be removed still (") for each in waits)


def test_lists_stay_while_a_rate_is_not_removed() -> None:
    held = cluster()
    held.rate_refusals = NOT_CONTROLLER, 1
    mover = Reassigner(ReassignmentLimits())
    while held.rate_refusals[1]:
        assert isinstance(mover.advance(held, WISH)[ORDERS], InProgress)
    assert left(held) == ([1, 2, 3], ["orders"])


def test_what_cannot_be_removed_is_noted_with_the_command_and_the_move_is_done() -> None:
    held = cluster()
    held.rate_refusals = DENIED, 10**6
    found, seen = finish(held, Reassigner(ReassignmentLimits()))
    assert not [each for each in seen if "throttle" in each.message]
    assert isinstance(found, Refusal)
    assert found.error == "NO_REASSIGNMENT_IN_PROGRESS"
    assert (
        "Broker 1 keeps the throttle rates of the moves, as their removal was refused (CLUSTER_AUTH"
        in found.message
    )
    assert RATE_COMMAND in found.message
    assert "Topic orders keeps the throttled replicas of the moves (CLUSTER_AUTH" in found.message
    assert f"--entity-name orders --delete-config {','.join(THROTTLED_REPLICAS)}" in found.message
    assert left(held) == ([1, 2, 3], ["orders"])


def test_a_removal_that_is_postponed_for_good_ends_with_a_note() -> None:
    held = cluster()
    held.list_refusals = TIMED_OUT, 10**6
    found, seen = finish(held, Reassigner(ReassignmentLimits()))
    assert len(seen) < 200
    assert isinstance(found, Refusal)
    assert found.message.startswith("Topic orders keeps the throttled replicas of the moves (REQ")
    assert left(held) == ([], ["orders"])


def test_a_refused_move_says_which_throttle_stays() -> None:
    held = cluster()
    held.refuse("INVALID_REPLICA_ASSIGNMENT", call="reassign")
    held.rate_refusals = NOT_CONTROLLER, 1
    found = Reassigner(ReassignmentLimits()).advance(held, WISH)[ORDERS]
    assert isinstance(found, Refusal)
    assert found.error == "INVALID_REPLICA_ASSIGNMENT"
    assert RATE_COMMAND in found.message
    assert left(held) == ([1, 2, 3], ["orders"])


def move_other(held: MemoryCluster, *, is_ours: bool) -> None:
    """Let another tool, or another run of kplan, move a topic for a long time."""
    if is_ours:
        pairs = dict(zip(THROTTLED_REPLICAS, ("00:3", "00:1,00:2"), strict=True))
        held.alter_topic_configs([ConfigAlteration("other", pairs)])
    held.slow_reassignments(10**6)
    held.reassign({("other", 0): (1, 3)})
    held.slow_reassignments(2)


@pytest.mark.parametrize("is_ours", [False, True])
def test_rates_stay_only_for_moves_of_kplan(*, is_ours: bool) -> None:
    held = cluster()
    move_other(held, is_ours=is_ours)
    found, _ = finish(held, Reassigner(ReassignmentLimits()))
    assert found is None
    assert held.reassignments().keys() == {("other", 0)}
    assert left(held) == ([1, 2, 3] if is_ours else [], [])


def test_rates_that_unreadable_moves_may_need_stay_and_are_noted() -> None:
    held = cluster()
    move_other(held, is_ours=False)
    held.refuse("TOPIC_AUTHORIZATION_FAILED", on="other", call="topic_configs", times=None)
    found, _ = finish(held, Reassigner(ReassignmentLimits()))
    assert isinstance(found, Refusal)
    assert "whether they need them is unknown" in found.message
    assert RATE_COMMAND in found.message
    assert left(held) == ([1, 2, 3], [])


def leave(held: MemoryCluster) -> None:
    """Leave what a run that was killed leaves."""
    held.alter_topic_configs(
        [ConfigAlteration("orders", dict.fromkeys(THROTTLED_REPLICAS, "00:1"))]
    )
    held.alter_configs([ConfigResourceAlteration(broker_resource(1), own_rates(9), ())])


@pytest.mark.parametrize(("refusals", "pauses"), [(0, 0), (2, 2), (9, 3)])
def test_leftovers_are_removed_when_the_cluster_says_so(refusals: int, pauses: int) -> None:
    held = cluster()
    leave(held)
    held.rate_refusals = NOT_CONTROLLER, refusals
    waited: list[float] = []
    found = remove_leftover_throttles(held, ["orders"], waited.append)
    assert len(waited) == pauses
    is_kept = refusals > 3
    assert sorted(found.brokers) == ([] if is_kept else [1])
    assert found.topics == (() if is_kept else ("orders",))
    assert left(held) == (([1], ["orders"]) if is_kept else ([], []))
    texts = list(found.kept_texts("PLAINTEXT"))
    assert [each.split(" keeps ")[0] for each in texts] == ["Broker 1", "Topic orders"] * is_kept


def test_leftover_rates_go_while_another_tool_moves_replicas() -> None:
    held = cluster()
    leave(held)
    move_other(held, is_ours=False)
    assert remove_leftover_throttles(held, ["orders"]).topics == ("orders",)
    assert left(held) == ([], [])


def test_pairs_of_others_are_in_no_command_that_would_remove_them() -> None:
    held = cluster()
    leave(held)
    key = THROTTLED_REPLICAS[0]
    held.alter_topic_configs([ConfigAlteration("orders", {key: "0:2,00:1"})])
    held.list_refusals = DENIED, 9
    (text,) = remove_leftover_throttles(held, ["orders"]).kept_texts("PLAINTEXT")
    assert "--delete-config" not in text
    assert "a 0 before the partition" in text
