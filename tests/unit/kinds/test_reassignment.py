"""Topics whose replicas stand elsewhere than wanted (S09, S10; K4o-04, K4o-11, K201-10)."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.request import (
    Assignment,
    ConfigAlteration,
    ConfigSource,
    ItemResult,
    NewTopic,
    TopicDescription,
)
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
)
from kplan.cluster.topology import TargetReplicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.reassignment import Reassigner, ReassignmentLimits, TopicTargets
from kplan.kinds.throttle import THROTTLE_RATES, own_rates
from kplan.kinds.throttle_removal import remove_leftover_throttles
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_layout import replica_moves
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic
from kplan.model.errors import InProgress, Refusal, UnreachableError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action, Change, Plan
from kplan.model.resource import Identity, Resource
from kplan.policy.facts import object_facts
from kplan.policy.risk import add_risks
from tests.apply_harness import ApplyHarness
from tests.values import resource, state

ORDERS = "kafka_topic.orders"
RACK_AWARE = {"strategy": "rack-aware"}


def cluster(*assignment: tuple[int, ...], brokers: int = 4) -> MemoryCluster:
    found = MemoryCluster(make_brokers(brokers, ("a", "b", "c")))
    if assignment:
        found.seed([NewTopic("orders", assignment=assignment)])
    return found


def on(held: MemoryCluster) -> ApplyHarness:
    return ApplyHarness(held, state())


def wanted(**given: object) -> Topic:
    return replace(Topic("orders"), **given)  # type: ignore[arg-type] # fields of a topic


def planned(bench: ApplyHarness, topic: Topic) -> Plan:
    return bench.plan([resource(ORDERS, topic, line=3)])


def steps(plan: Plan) -> list[str]:
    return [batch.step.name for batch in plan.batches]


def standing(held: MemoryCluster) -> Assignment:
    found = held.topics(["orders"])["orders"]
    assert isinstance(found, TopicDescription)
    assert not held.reassignments()
    return found.assignment


def throttles(held: MemoryCluster) -> list[str]:
    """Name what is throttled: the topic's configs, and brokers with a rate."""
    configs = held.topic_configs(["orders"])["orders"]
    assert not isinstance(configs, Refusal)
    found = [key for key in THROTTLED_REPLICAS if configs.get(key) and configs[key].value]
    brokers = [ConfigResource(ConfigScope.BROKER, str(each)) for each in range(1, 5)]
    rates = held.configs(brokers)
    for broker in brokers:
        details = rates[broker]
        assert not isinstance(details, Refusal)
        own = (key for key in THROTTLE_RATES if key in details and _is_set(details[key]))
        found += [f"broker {broker.name}" for _ in own]
    return found


def set_rates(held: MemoryCluster, rates: Mapping[str, str], *brokers: int) -> None:
    resources = [ConfigResource(ConfigScope.BROKER, str(each)) for each in brokers]
    held.seed_settings(configs=[ConfigResourceAlteration(each, rates) for each in resources])


def _is_set(detail: ConfigDetail) -> bool:
    return detail.entry.source is ConfigSource.DYNAMIC_BROKER


def test_more_replicas_are_a_move_that_keeps_what_is_there() -> None:
    """K4o-11: an RF change is a reassignment."""
    held = cluster((1,), (2,))
    bench = on(held)
    plan = planned(bench, wanted(partitions=2, replication_factor=3))
    assert steps(plan) == ["reassign"]
    (change,) = plan.changes
    assert isinstance(change.before, Topic)
    assert isinstance(change.after, Topic)
    assert change.before.replication_factor == 1
    assert change.after.replication_factor == 3
    assert change.after.is_generated
    outcomes = bench.apply(plan)
    assert outcomes["orders"].status is OutcomeStatus.APPLIED
    assert [each[0] for each in standing(held)] == [1, 2]
    assert {len(each) for each in standing(held)} == {3}
    assert throttles(held) == []
    assert steps(planned(bench, wanted(partitions=2, replication_factor=3))) == []


def test_fewer_replicas_are_a_change_to_look_at_twice() -> None:
    """Issue 7: RF down has a risk class and a code."""
    held = cluster((1, 2, 3))
    plan = add_risks(planned(on(held), wanted(replication_factor=2)))
    (change,) = plan.changes
    assert change.risk.value == "review"
    assert [note.split()[0] for note in change.notes] == ["KP2212"]
    low = wanted(replication_factor=1, config={"min.insync.replicas": "2"})
    (change,) = add_risks(planned(on(held), low)).changes
    assert change.risk.value == "dangerous"
    assert any(note.startswith("KP2213") for note in change.notes)


def test_a_written_assignment_is_moved_to_and_first_replicas_lead() -> None:
    """K4o-12: a preferred election follows."""
    held = cluster((1, 2), (2, 3))
    bench = on(held)
    topic = wanted(replica_assignment=((2, 1), (4, 3)))
    bench.apply(planned(bench, topic))
    assert standing(held) == ((2, 1), (4, 3))
    found = held.topics(["orders"])["orders"]
    assert isinstance(found, TopicDescription)
    assert found.leaders == (2, 4)
    assert planned(bench, topic).batches == ()


def test_partitions_are_made_before_replicas_move_and_deletes_come_last() -> None:
    """The order of an apply: configs, partitions, moves, deletes (K4o-04)."""
    held = cluster((1,))
    held.seed([NewTopic("old", 1, 1)])
    bench = on(held)
    bench.apply(bench.plan([resource("kafka_topic.old", Topic("old"), line=1)]))
    topic = wanted(partitions=2, replication_factor=2, config={"retention.ms": "1"})
    plan = planned(bench, topic)
    assert steps(plan) == [
        "alter_topic_configs",
        "create_partitions",
        "reassign",
        "delete_topics",
    ]
    bench.apply(plan)
    assert [len(each) for each in standing(held)] == [2, 2]
    assert planned(bench, topic).batches == ()


def test_a_new_topic_is_placed_and_new_partitions_too() -> None:
    held = cluster()
    bench = on(held)
    topic = wanted(partitions=3, replication_factor=3, placement=RACK_AWARE)
    plan = planned(bench, topic)
    assert steps(plan) == ["create_topics"]
    bench.apply(plan)
    racks = {each.id: each.rack for each in make_brokers(4, ("a", "b", "c"))}
    assert all(len({racks[each] for each in row}) == 3 for row in standing(held))
    more = replace(topic, partitions=5)
    plan = planned(bench, more)
    assert "create_partitions" in steps(plan)
    bench.apply(plan)
    assert len(standing(held)) == 5
    assert planned(bench, more).batches == ()


def test_topics_of_one_plan_are_placed_beside_each_other() -> None:
    """S09: no broker leads more than its share, also of what comes later, and nothing moves."""
    held = cluster(brokers=3)
    bench = ApplyHarness(held, state())

    def declared(*names: str) -> list[Resource]:
        topic = wanted(partitions=1, replication_factor=2, placement=RACK_AWARE)
        return [
            resource(f'kafka_topic.t["{name}"]', replace(topic, name=name), line=3)
            for name in names
        ]

    def led() -> list[int]:
        found = Counter(
            each.assignment[0][0]
            for each in held.topics().values()
            if isinstance(each, TopicDescription)
        )
        return sorted(found.values())

    names = [f"t{number}" for number in range(10)]
    bench.apply(bench.plan(declared(*names[:7])))
    assert led() == [2, 2, 3]
    plan = bench.plan(declared(*names))
    assert steps(plan) == ["create_topics"]
    bench.apply(plan)
    assert led() == [3, 3, 4]
    assert bench.plan(declared(*names)).batches == ()


def test_nothing_moves_where_the_layout_is_ignored_or_not_declared() -> None:
    held = cluster((1,), (2,))
    bench = on(held)
    assert planned(bench, wanted()).batches == ()
    odd = resource(ORDERS, wanted(replication_factor=3), line=3)
    rules = replace(odd.lifecycle, ignore_changes=(("replication_factor",),))
    assert bench.plan([replace(odd, lifecycle=rules)]).batches == ()


def test_too_few_brokers_are_told_at_the_line_and_nothing_is_planned() -> None:
    plan = planned(on(cluster((1,))), wanted(replication_factor=5))
    assert [each.code for each in plan.diagnostics] == ["KP212"]
    assert not plan.is_applyable


def test_a_move_that_somebody_began_is_taken_up_and_not_begun_again() -> None:
    """K4o-14: killed during a move, run again."""
    held = cluster((1,), (2,))
    bench = on(held)
    plan = planned(bench, wanted(replication_factor=2))
    held.slow_reassignments(6)
    after = plan.changes[0].after
    assert isinstance(after, Topic)
    assert after.replica_assignment is not None
    held.reassign({("orders", 0): after.replica_assignment[0]})
    again = planned(bench, wanted(replication_factor=2))
    assert again.changes[0].after == after
    bench.apply(again)
    assert standing(held) == after.replica_assignment
    asked = [call.items for call in held.calls if call.method == "reassign"]
    assert len(asked) == 2  # this test's, and that of partition 1


def test_a_move_that_another_client_cancels_is_not_begun_again() -> None:
    """KIP-455: a cancellation is a decision of somebody else."""
    held = cluster((1,), (2,))
    held.slow_reassignments(100)
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    wish = [TopicTargets("orders", "", {0: (1, 3), 1: (2, 3)})]
    assert isinstance(mover.advance(held, wish)["orders"], InProgress)  # type: ignore[index] # a name
    held.reassign({("orders", 0): None})
    found = [mover.advance(held, wish)["orders"] for _ in range(8)]  # type: ignore[index] # as above
    assert isinstance(found[0], InProgress)
    told = found[-1]
    assert isinstance(told, Refusal)
    assert (told.error, told.message) == (
        "CLIENT_CANCELLED",
        "Partition 0: another client cancelled the reassignment.",
    )
    asked = [call.items for call in held.calls if call.method == "reassign"]
    assert len(asked) == 2  # the mover's one request, and the cancellation
    assert throttles(held) != []  # partition 1 still moves
    held.reassign({("orders", 1): None})
    mover.advance(held, wish)
    assert throttles(held) == []


class Lagging(MemoryCluster):
    """Brokers that still show the replicas of a move that was cancelled."""

    shown: Assignment = ()
    stale_reads = 0

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        found = dict(super().topics(names, broker=broker))
        described = found["orders"]
        if self.stale_reads and isinstance(described, TopicDescription):
            self.stale_reads -= 1
            found["orders"] = replace(described, assignment=self.shown)
        return found


def test_a_cancelled_move_is_not_done_because_a_broker_still_shows_its_replicas() -> None:
    held = Lagging(make_brokers(4, ("a", "b", "c")))
    held.seed([NewTopic("orders", assignment=((1,),))])
    held.slow_reassignments(100)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 3)})]
    mover.advance(held, wish)
    held.reassign({("orders", 0): None})
    held.shown, held.stale_reads = ((1, 3),), 3
    found = [mover.advance(held, wish)["orders"] for _ in range(12)]  # type: ignore[index] # a name
    assert None not in found
    assert isinstance(found[-1], Refusal)
    assert found[-1].error == "CLIENT_CANCELLED"


@pytest.mark.parametrize(
    ("target", "sent"), [((1, 3), [None, (1, 3)]), ((1,), [None]), ((1, 4), [(1, 4)])]
)
def test_a_move_is_taken_back_before_one_that_copies_to_no_other_broker(
    target: tuple[int, ...], sent: list[tuple[int, ...] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka would wait for the former target for ever."""
    held = cluster((1,))
    held.slow_reassignments(2)
    held.reassign({("orders", 0): (3, 2)})
    told: list[tuple[int, ...] | None] = []
    reassign = held.reassign

    def note(targets: TargetReplicas) -> Mapping[TopicPartition, ItemResult]:
        told.extend(targets.values())
        return reassign(targets)

    monkeypatch.setattr(held, "reassign", note)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: target})]
    while isinstance(mover.advance(held, wish)["orders"], InProgress):  # type: ignore[index] # a name
        pass
    assert told == sent
    assert standing(held) == (target,)


def test_a_move_that_another_client_sends_elsewhere_is_left_to_it() -> None:
    held = cluster((1,))
    held.slow_reassignments(100)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 3)})]
    mover.advance(held, wish)
    held.reassign({("orders", 0): (1, 2)})
    told = mover.advance(held, wish)["orders"]  # type: ignore[index] # a name
    assert isinstance(told, Refusal)
    assert told.message == "Partition 0: another client moves it elsewhere."
    assert held.reassignments()["orders", 0].target == (1, 2)


def test_throttles_are_set_while_replicas_move_and_are_no_drift() -> None:
    held = cluster((1,), (2,))
    held.slow_reassignments(3)
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    wish = [TopicTargets("orders", "", {0: (1, 3), 1: (2, 3)})]
    first = mover.advance(held, wish)["orders"]  # type: ignore[index] # a name
    assert isinstance(first, InProgress)
    assert (first.left, first.total) == (2, 2)
    assert throttles(held) == [
        *THROTTLED_REPLICAS,
        *(f"broker {each}" for each in (1, 1, 2, 2, 3, 3)),
    ]
    config = held.topic_configs(["orders"])["orders"]
    assert not isinstance(config, Refusal)
    assert config["follower.replication.throttled.replicas"].value == "00:3,01:3"
    assert config["leader.replication.throttled.replicas"].value == "00:1,01:2"
    assert planned(on(held), wanted(partitions=2)).batches == ()
    while mover.advance(held, wish)["orders"] is not None:  # type: ignore[index] # as above
        pass
    assert throttles(held) == []


def test_a_declared_throttle_is_set_again_when_the_move_is_done() -> None:
    """The move has its own meanwhile; the next plan shows no change."""
    held = cluster((1,))
    held.slow_reassignments(3)
    mover = Reassigner(ReassignmentLimits(bytes_per_s=1000))
    declared = {"leader.replication.throttled.replicas": "*"}
    wish = [TopicTargets("orders", "", {0: (2,)}, declared)]
    mover.advance(held, wish)
    while mover.advance(held, wish)["orders"] is not None:  # type: ignore[index] # a name
        assert throttles(held)
    config = held.topic_configs(["orders"])["orders"]
    assert not isinstance(config, Refusal)
    own = {key: each.value for key, each in config.items() if each.source is ConfigSource.TOPIC}
    assert own == declared


def test_an_empty_list_of_throttled_replicas_is_declared_once() -> None:
    bench = on(cluster((1,)))
    topic = wanted(config=dict.fromkeys(THROTTLED_REPLICAS, ""))
    bench.apply(planned(bench, topic))
    assert not planned(bench, topic).has_changes


def test_only_so_many_partitions_move_at_a_time() -> None:
    held = cluster((1,), (1,), (1,), (1,), (1,))
    held.slow_reassignments(2)
    mover = Reassigner(ReassignmentLimits(max_partitions=2))
    wish = [TopicTargets("orders", "", dict.fromkeys(range(5), (2,)))]
    met, longest = [], 0
    while mover.advance(held, wish)["orders"] is not None:  # type: ignore[index] # a name
        met.append(len(held.connect_as().reassignments()))
        config = held.topic_configs(["orders"])["orders"]
        assert not isinstance(config, Refusal)
        longest = max(longest, len((config[THROTTLED_REPLICAS[0]].value or "").split(",")))
    assert (max(met), longest) == (2, 2)
    assert standing(held) == ((2,),) * 5


def test_a_rate_that_somebody_else_set_is_used_and_stays() -> None:
    held = cluster((1,))
    own = ConfigResource(ConfigScope.BROKER, "1")
    held.seed_settings(configs=[ConfigResourceAlteration(own, dict.fromkeys(THROTTLE_RATES, "77"))])
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 2)})]
    while mover.advance(held, wish)["orders"] is not None:  # type: ignore[index] # a name
        pass
    assert throttles(held) == ["broker 1", "broker 1"]


def test_the_rates_of_a_killed_run_are_taken_over_and_then_away() -> None:
    """S10: another process goes on, at its own pace."""
    held = cluster((1,))
    held.slow_reassignments(3)
    wish = [TopicTargets("orders", "", {0: (1, 2)})]
    Reassigner(ReassignmentLimits(bytes_per_s=1)).advance(held, wish)
    other = Reassigner(ReassignmentLimits(bytes_per_s=7))
    other.advance(held, wish)
    broker = ConfigResource(ConfigScope.BROKER, "2")
    details = held.configs([broker])[broker]
    assert not isinstance(details, Refusal)
    assert [details[each].entry.value for each in THROTTLE_RATES] == ["7", "470"]
    while other.advance(held, wish)["orders"] is not None:  # type: ignore[index] # a name
        pass
    assert throttles(held) == []


def test_what_a_killed_move_left_behind_is_taken_away_once_nothing_moves() -> None:
    held = cluster((1, 2))
    left = dict.fromkeys(THROTTLED_REPLICAS, "00:1,00:2")
    held.alter_topic_configs([ConfigAlteration("orders", left)])
    set_rates(held, own_rates(9), 1, 2)
    held.slow_reassignments(2)
    held.reassign({("orders", 0): (1, 3)})
    assert remove_leftover_throttles(held, ["orders"]).topics == ()
    assert len(throttles(held)) == 6
    held.reassignments()
    assert remove_leftover_throttles(held, ["orders"]).topics == ("orders",)
    assert throttles(held) == []


def test_a_topic_that_was_made_anew_is_left_alone() -> None:
    held = cluster((1,))
    found = Reassigner(ReassignmentLimits()).advance(
        held, [TopicTargets("orders", "another-id", {0: (2,)})]
    )
    refused = found["orders"]  # type: ignore[index] # a name
    assert isinstance(refused, Refusal)
    assert refused.error == "CLIENT_STALE"
    assert held.count("reassign") == 0


def test_a_cluster_that_is_away_for_a_moment_does_not_end_a_move() -> None:
    held = cluster((1,))
    bench = on(held)
    plan = planned(bench, wanted(replication_factor=2))
    held.time_out(call="reassignments", times=2)
    assert bench.apply(plan)["orders"].status is OutcomeStatus.APPLIED
    assert len(standing(held)[0]) == 2


def test_a_refused_move_fails_and_leaves_no_throttle() -> None:
    held = cluster((1,))
    bench = on(held)
    plan = planned(bench, wanted(replication_factor=2))
    held.refuse("INVALID_REPLICA_ASSIGNMENT", call="reassign")
    found = bench.apply(plan)["orders"]
    assert found.status is OutcomeStatus.FAILED
    assert found.refusal is not None
    assert found.refusal.error == "INVALID_REPLICA_ASSIGNMENT"
    assert throttles(held) == []


def test_a_factor_that_was_reached_does_not_bind_replicas_to_their_place() -> None:
    """Somebody may move them: only the factor was declared."""
    held = cluster((1,))
    bench = on(held)
    bench.apply(planned(bench, wanted(replication_factor=2)))
    held.reassign({("orders", 0): (3, 4)})
    while held.reassignments():
        pass
    assert standing(held) == ((3, 4),)
    assert planned(bench, wanted(replication_factor=2)).batches == ()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"placement": {"strategy": "best"}}, "KP215"),
        ({"placement": {"strategi": "in-rack"}}, "KP215"),
        ({"placement": RACK_AWARE}, "KP215"),
        ({"placement": {"strategy": "static"}}, "KP215"),
        ({"placement": RACK_AWARE, "replica_assignment": ((1,),)}, "KP203"),
    ],
)
def test_a_placement_that_makes_no_sense_is_told(given: dict[str, object], code: str) -> None:
    assert [each.code for each in TopicKind().check(wanted(**given))] == [code]


def test_only_replicas_that_stand_elsewhere_move() -> None:
    before = Topic("t", 2, 2, ((1, 2), (2, 3)))
    after = Topic("t", 3, 2, ((1, 2), (3, 2), (1, 3)))
    assert replica_moves(before, after) == {1: (3, 2)}
    at = resource(ORDERS, after).address
    change = Change(at, "kafka_topic", Identity("t"), Action.UPDATE, before, after)
    kind = TopicKind()
    assert [each.name for each in kind.steps(change)] == [
        "create_partitions",
        "reassign",
    ]
    assert kind.record_count(kind.steps(change)[1], change) == 1


def test_what_cannot_be_throttled_is_not_begun() -> None:
    held = cluster((1,))
    held.deny_operation("ALTER_CONFIGS", "CLUSTER")
    found = Reassigner(ReassignmentLimits()).advance(
        held, [TopicTargets("orders", "", {0: (1, 2)})]
    )
    refused = found["orders"]  # type: ignore[index] # a name
    assert isinstance(refused, Refusal)
    assert refused.error == "CLUSTER_AUTHORIZATION_FAILED"
    assert held.count("reassign") == 0
    assert throttles(held) == []


def test_replicas_leave_a_broker_that_is_down_with_a_throttle_for_the_others() -> None:
    """The way out of a lost broker: it takes no config, and copies nothing."""
    held = cluster((1, 3))
    held.slow_reassignments(2)
    held.stop_brokers(3)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 2)})]
    mover.advance(held, wish)
    assert held.reassignments()["orders", 0].target == (1, 2)
    assert mover.limited_brokers == {1, 2}
    while isinstance(mover.advance(held, wish)["orders"], InProgress):  # type: ignore[index] # a name
        pass
    assert standing(held) == ((1, 2),)
    held.start_brokers()
    assert throttles(held) == []


def test_a_broker_that_dies_in_a_move_is_named_while_it_is_waited_for() -> None:
    held = cluster((1, 3))
    held.slow_reassignments(9)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 2)})]
    found = mover.advance(held, wish)["orders"]  # type: ignore[index] # a name
    assert isinstance(found, InProgress)
    assert not found.awaited | found.limited
    held.stop_brokers(2, 3)
    found = mover.advance(held, wish)["orders"]  # type: ignore[index] # a name
    assert isinstance(found, InProgress)
    assert (sorted(found.awaited), sorted(found.limited)) == ([2], [2, 3])


def test_a_rate_goes_with_a_later_move_from_a_broker_that_was_down_at_the_end() -> None:
    held = cluster((1, 3))
    held.slow_reassignments(2)
    mover = Reassigner(ReassignmentLimits())
    for target, stopped in (((1, 2), 3), ((1, 4), None)):
        wish = [TopicTargets("orders", "", {0: target})]
        mover.advance(held, wish)
        if stopped is not None:
            held.stop_brokers(stopped)
        while isinstance(mover.advance(held, wish)["orders"], InProgress):  # type: ignore[index] # a name
            pass
        assert mover.limited_brokers == ({stopped} if stopped else set())
        held.start_brokers()
    assert throttles(held) == []


def test_rates_of_a_killed_run_go_from_a_broker_that_was_down_when_it_was_taken_over() -> None:
    held = cluster((1,))
    set_rates(held, own_rates(1), 1, 2, 4)
    held.alter_topic_configs(
        [ConfigAlteration("orders", dict.fromkeys(THROTTLED_REPLICAS, "00:1,00:2,00:4"))]
    )
    held.slow_reassignments(3)
    held.stop_brokers(4)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 2)})]
    mover.advance(held, wish)
    held.start_brokers()
    while isinstance(mover.advance(held, wish)["orders"], InProgress):  # type: ignore[index] # a name
        pass
    assert throttles(held) == []


def test_fewer_replicas_leave_the_broker_that_is_down_first() -> None:
    """Kafka does not finish a move to replicas that are not there."""
    held = cluster((3, 1, 2), (1, 3, 2), (2, 1, 3))
    held.stop_brokers(3)
    (change,) = planned(on(held), wanted(replication_factor=2)).changes
    assert isinstance(change.after, Topic)
    assert change.after.replica_assignment == ((1, 2), (1, 2), (2, 1))


def test_each_topic_says_how_many_of_its_own_partitions_are_left() -> None:
    held = cluster((1,), (1,))
    held.seed([NewTopic("more", assignment=((1,), (1,), (1,)))])
    held.slow_reassignments(9)
    found = Reassigner(ReassignmentLimits()).advance(
        held,
        [
            TopicTargets("orders", "", {0: (2,)}),
            TopicTargets("more", "", {0: (2,), 1: (2,), 2: (2,)}),
        ],
    )
    assert {name: str(each).rpartition(": ")[2] for name, each in found.items()} == {
        "orders": "1 of 1 partitions are to move still.",
        "more": "3 of 3 partitions are to move still.",
    }


def test_moves_that_go_elsewhere_leave_room_for_those_that_turn_them_back() -> None:
    """A broker that is down gets no replica: such a move ends only if it is taken back."""
    held = cluster((1,), (1,), (1,))
    held.slow_reassignments(10**6)
    held.reassign({("orders", number): (2,) for number in range(2)})
    held.stop_brokers(2)
    mover = Reassigner(ReassignmentLimits(max_partitions=2))
    wish = [TopicTargets("orders", "", dict.fromkeys(range(3), (1,)))]
    looks = [mover.advance(held, wish)[Identity("orders")] for _ in range(3)]
    assert looks[-1] is None
    assert held.reassignments() == {}


def test_another_order_of_a_running_target_is_no_move_that_is_taken_back() -> None:
    """Seen on Kafka 4.3: it goes on to the same brokers, and ends in the new order."""
    held = cluster((1,))
    held.slow_reassignments(10**6)
    held.reassign({("orders", 0): (2, 3)})
    wish = [TopicTargets("orders", "", {0: (3, 2)})]
    Reassigner(ReassignmentLimits()).advance(held, wish)
    assert held.reassignments()["orders", 0].target == (3, 2)


def test_a_cluster_that_stays_away_ends_the_wait() -> None:
    held = cluster((1,))
    held.time_out(call="reassignments", times=None)
    mover = Reassigner(ReassignmentLimits())
    wish = [TopicTargets("orders", "", {0: (1, 2)})]
    looks = (mover.advance(held, wish) for _ in range(1000))
    with pytest.raises(UnreachableError):
        list(looks)


def test_policies_are_told_who_chose_the_brokers() -> None:
    """K201-04: true where kplan did, also for a reassignment; false where somebody wrote them."""
    held = cluster((1,), (2,))
    brokers = held.describe().brokers

    def told(topic: Topic) -> Mapping[str, object]:
        (change,) = planned(on(held), topic).changes
        found = object_facts(change.after, brokers, change.before)
        assert found is not None
        return found

    more = told(wanted(replication_factor=2))
    assert more["generated_replica_assignments"] is True
    assert more["replication_factor"] == 2
    assert [len(each) for each in more["assignments"]] == [2, 2]  # type: ignore[attr-defined] # lists
    written = told(wanted(replica_assignment=((3,), (4,))))
    assert written["generated_replica_assignments"] is False
    assert written["assignments"] == [[3], [4]]
    placed = told(wanted(partitions=2, replication_factor=3, placement=RACK_AWARE))
    assert placed["generated_replica_assignments"] is True


def test_who_watches_hears_how_much_is_left() -> None:
    held = cluster((1,), (2,))
    held.slow_reassignments(3)
    bench = on(held)
    bench.apply(planned(bench, wanted(replication_factor=2)))
    assert bench.watcher.reassignments[0] == (2, 2)
    assert [left for left, _ in bench.watcher.reassignments] == sorted(
        (left for left, _ in bench.watcher.reassignments), reverse=True
    )
    sent = [name for name, _ in bench.watcher.sent]
    assert sent == ["reassign"]  # looks are no sendings: the journal would grow with each
