"""Carrying a plan out on a cluster that refuses, stalls, lies and lags."""

import pytest

from kplan.apply.limits import Limits
from kplan.cluster.errors import refusal
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, ConfigAlteration, NewPartitions, TopicRef
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.model.resource import Resource
from tests.apply_harness import ApplyHarness
from tests.values import acl, new_topic, owned, resource, state, topic


def bench(**given: object) -> ApplyHarness:
    return ApplyHarness(MemoryCluster(), state(), **given)  # type: ignore[arg-type] # checked by the class


def topics(*names: str, **given: object) -> list[Resource]:
    return [resource(f"kafka_topic.{name}", topic(name, **given)) for name in names]


def binding(name: str = "orders") -> AclBinding:
    return AclBinding("TOPIC", name, "LITERAL", "User:app", "*", "READ", "ALLOW")


def test_what_was_applied_is_owned_with_its_id_and_the_next_plan_is_empty() -> None:
    on = bench()
    declared = [*topics("a", "b"), resource("kafka_acl.r", acl(name="a"))]
    outcomes = on.apply(on.plan(declared))
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert all(each.is_verified for each in outcomes.values())
    assert not on.plan(declared).is_applyable
    ids = {each.identity: each.uid for each in on.state.owned.values() if each.uid}
    assert sorted(ids) == ["a", "b"]


def test_everything_of_a_kind_goes_in_one_request() -> None:
    """K4-03."""
    on = bench()
    on.apply(on.plan([*topics("a", "b", "c"), resource("kafka_acl.r", acl(name="a"))]))
    assert on.watcher.sent == [("create_acls", 1), ("create_topics", 3)]


def test_what_one_answer_tells_is_heard_at_once() -> None:
    """A journal writes once a request, and not once a topic."""
    on = bench()
    on.cluster.refuse("INVALID_CONFIG", on="b", call="create_topics")
    on.apply(on.plan([*topics("a", "b", "c"), resource("kafka_acl.r", acl(name="a"))]))
    assert [each for each in on.watcher.outcome_counts if each] == [1, 3]


def test_one_refused_item_never_stops_its_neighbours() -> None:
    """K4-25."""
    on = bench()
    on.cluster.refuse("INVALID_CONFIG", on="b", call="create_topics", message="no such key")
    outcomes = on.apply(on.plan(topics("a", "b", "c")))
    assert [outcomes[name].status for name in "abc"] == [
        OutcomeStatus.APPLIED, OutcomeStatus.FAILED, OutcomeStatus.APPLIED,
    ]  # fmt: skip
    refusal = outcomes["b"].refusal
    assert refusal is not None
    assert (refusal.error, refusal.message) == ("INVALID_CONFIG", "no such key")
    assert sorted(each.identity for each in on.state.owned.values()) == ["a", "c"]


def test_a_request_that_is_too_large_is_halved_until_it_fits() -> None:
    """Trap 4: the limit comes back as POLICY_VIOLATION."""
    on = bench()
    names = [f"t{n:04}" for n in range(150)]
    outcomes = on.apply(on.plan(topics(*names, partitions=99), max_records=20_000))
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert max(size for _, size in on.watcher.sent[1:]) == 75


def test_a_real_policy_violation_is_not_mistaken_for_a_size_limit() -> None:
    on = bench()
    on.cluster.refuse("POLICY_VIOLATION", on="a", call="create_topics", message="use team-")
    outcomes = on.apply(on.plan(topics("a", "b")))
    assert outcomes["a"].status is OutcomeStatus.FAILED
    assert on.watcher.sent == [("create_topics", 2)]


def test_a_size_limit_in_words_nobody_knows_is_found_by_sending_less() -> None:
    """Item 1 of the batch engine: by the message, and by retrying smaller."""
    on = bench()
    plan = on.plan(topics(*(f"t{n}" for n in range(8))))
    send = on.cluster.create_topics

    def create_topics(specs):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        if len(specs) > 2:
            return {each.name: refusal(42, "Le lot est trop grand.") for each in specs}
        return send(specs)

    on.cluster.create_topics = create_topics  # type: ignore[method-assign]
    outcomes = on.apply(plan)
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert [size for _, size in on.watcher.sent] == [8, 4, 2, 2, 4, 2, 2]


def test_a_policy_that_refuses_everything_is_found_out_by_one_item_alone() -> None:
    on = bench()
    on.cluster.refuse("POLICY_VIOLATION", call="create_topics", message="no changes on Fridays")
    outcomes = on.apply(on.plan(topics(*(f"t{n}" for n in range(8)))))
    assert {str(each.refusal) for each in outcomes.values()} == {
        "POLICY_VIOLATION: no changes on Fridays"
    }
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.FAILED}
    assert [size for _, size in on.watcher.sent] == [8, 4, 2, 1]


def test_one_topic_that_is_larger_than_a_request_does_not_take_its_neighbours_along() -> None:
    on = bench()
    declared = [*topics("a", "b", "c"), *topics("huge", partitions=11_000)]
    outcomes = on.apply(on.plan(declared, max_records=20_000))
    failed = [name for name, each in outcomes.items() if each.status is not OutcomeStatus.APPLIED]
    assert failed == ["huge"]


def test_throttling_is_waited_out_however_often_until_the_time_is_over() -> None:
    """A quota is no fault: the last of many items waits the longest."""
    on = bench(pace=Limits(max_attempts=2))
    on.cluster.throttle(10, allowed=1, times=2_000)
    outcomes = on.apply(on.plan(topics(*(f"t{n:03}" for n in range(400)))))
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert max(each.attempts for each in outcomes.values()) == 400
    on = bench(pace=Limits(total_s=60))
    on.cluster.throttle(1_000, allowed=0, times=None)
    (outcome,) = on.apply(on.plan(topics("a"))).values()
    assert (outcome.status, str(outcome.refusal)[:25]) == (
        OutcomeStatus.FAILED,
        "THROTTLING_QUOTA_EXCEEDED",
    )
    assert 60 <= on.clock.time < 70


def test_one_poisoned_item_is_found_by_halving_and_fails_alone() -> None:
    """Trap 3, K4-47."""
    on = bench()
    declared = [resource(f"kafka_acl.a{n}", acl(f"User:{n}")) for n in range(8)]
    poisoned = declared[5].identity
    plan = on.plan(declared)
    held = [each.identity for each in declared]
    send = on.cluster.create_acls

    def create_acls(bindings):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        if any(each.principal == "User:5" for each in bindings):
            return {each: refusal(-1) for each in bindings}
        return send(bindings)

    on.cluster.create_acls = create_acls  # type: ignore[method-assign]
    outcomes = on.apply(plan)
    assert [name for name in held if outcomes[name].status is OutcomeStatus.FAILED] == [poisoned]


def test_throttled_items_are_sent_again_after_the_time_the_broker_names() -> None:
    """K4 section 6, code 89: it counts as progress, not as failure."""
    on = bench()
    on.cluster.throttle(1_900, allowed=1)
    outcomes = on.apply(on.plan(topics("a", "b", "c")))
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert on.watcher.sent == [("create_topics", 3), ("create_topics", 2)]
    assert on.clock.time == pytest.approx(1.9)


def test_a_retriable_answer_is_tried_again_and_then_given_up() -> None:
    """K4-54."""
    on = bench(pace=Limits(max_attempts=3))
    on.cluster.refuse("NOT_CONTROLLER", on="a", call="create_topics")
    outcomes = on.apply(on.plan(topics("a", "b")))
    assert (outcomes["a"].status, outcomes["a"].attempts) == (OutcomeStatus.FAILED, 3)
    assert outcomes["b"].status is OutcomeStatus.APPLIED


@pytest.mark.parametrize("carried_out", [True, False])
def test_an_item_without_an_answer_is_settled_by_reading_the_cluster(
    carried_out: bool,
) -> None:
    """K4-24: it may come about later; nothing is assumed."""
    on = bench()
    on.cluster.time_out(on="a", call="create_topics", carried_out=carried_out)
    outcomes = on.apply(on.plan(topics("a", "b")))
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert on.cluster.count("create_topics") == (1 if carried_out else 2)


def test_an_item_that_never_shows_up_stays_unknown_and_is_not_owned() -> None:
    on = bench()
    on.cluster.time_out(call="create_topics", carried_out=False, times=None)
    outcomes = on.apply(on.plan(topics("a")))
    assert outcomes["a"].status is OutcomeStatus.UNKNOWN
    assert on.state.owned == {}


def test_an_item_that_is_left_out_of_the_answer_is_not_called_a_success() -> None:
    """Design law 2."""
    on = bench()
    on.cluster.omit_items(on="a", call="create_topics")
    outcomes = on.apply(on.plan(topics("a", "b")))
    assert outcomes["a"].status is OutcomeStatus.APPLIED
    assert outcomes["a"].note == "found on the cluster"


def test_a_topic_that_somebody_created_meanwhile_is_adopted_when_it_is_equal() -> None:
    """K4-28."""
    on = bench()
    plan = on.plan(topics("a", "b"))
    on.cluster.seed([new_topic(topic("a"))])
    outcomes = on.apply(plan)
    assert (outcomes["a"].status, outcomes["a"].note) == (
        OutcomeStatus.APPLIED,
        "already as declared",
    )


def test_a_topic_that_somebody_created_differently_is_refused_with_the_way_out() -> None:
    on = bench()
    plan = on.plan(topics("a"))
    on.cluster.seed([new_topic(topic("a", partitions=7))])
    refusal = on.apply(plan)["a"].refusal
    assert refusal is not None
    assert "kplan import 'kafka_topic.a' 'a'" in refusal.message


def test_deleting_a_topic_that_is_gone_already_is_done() -> None:
    """K4-32, K4-33."""
    on = bench()
    on.apply(on.plan([*topics("a"), *topics("b")]))
    plan = on.plan(topics("b"))
    on.cluster.delete_topics([TopicRef("a")])
    outcomes = on.apply(plan)
    assert (outcomes["a"].status, outcomes["a"].note) == (OutcomeStatus.APPLIED, "already absent")
    assert [each.identity for each in on.state.owned.values()] == ["b"]


def test_a_topic_created_again_since_the_plan_is_never_deleted() -> None:
    """K4-36: the stale plan names another incarnation."""
    on = bench()
    on.apply(on.plan([*topics("a"), *topics("b")]))
    plan = on.plan(topics("b"))
    on.cluster.delete_topics([TopicRef("a")])
    on.cluster.seed([new_topic(topic("a"))])
    outcomes = on.apply(plan)
    assert outcomes["a"].status is OutcomeStatus.FAILED
    assert "a" in on.cluster.topics()


def test_growth_that_somebody_else_did_already_is_done() -> None:
    """K4-57: 37 "already has N"."""
    on = bench()
    on.apply(on.plan(topics("a")))
    plan = on.plan(topics("a", partitions=6))
    on.cluster.create_partitions([NewPartitions("a", 6)])
    assert on.apply(plan)["a"].status is OutcomeStatus.APPLIED


def test_a_missing_right_fails_its_items_only() -> None:
    """K4-21."""
    on = bench()
    on.cluster.deny_operation("CREATE", "TOPIC", "a")
    outcomes = on.apply(on.plan(topics("a", "b")))
    assert (outcomes["a"].status, outcomes["b"].status) == (
        OutcomeStatus.FAILED,
        OutcomeStatus.APPLIED,
    )


def test_acl_deletes_go_before_acl_adds() -> None:
    """K4-45."""
    on = bench()
    on.apply(on.plan([resource("kafka_acl.a", acl()), resource("kafka_acl.old", acl("User:old"))]))
    on.watcher.sent.clear()
    on.apply(
        on.plan(
            [
                resource("kafka_acl.a", acl(acl_operation="Write")),
                resource("kafka_acl.new", acl("User:new")),
            ]
        )
    )
    assert on.watcher.sent == [
        ("delete_acls", 1), ("delete_acls", 1), ("create_acls", 1), ("create_acls", 1),
    ]  # fmt: skip
    operations = {(each.principal, each.operation) for each in on.cluster.acls()}
    assert operations == {("User:app", "WRITE"), ("User:new", "READ")}


def test_the_access_gap_of_a_replaced_acl_is_measured() -> None:
    """K4-45."""
    on = bench()
    on.apply(on.plan([resource("kafka_acl.a", acl())]))
    plan = on.plan([resource("kafka_acl.a", acl(acl_operation="Write"))])
    on.cluster.run_before("create_acls", lambda: on.clock.sleep(0.14))
    (outcome,) = on.apply(plan).values()
    assert outcome.note == "without access for at most 140 ms"
    assert outcome.attempts == 1, "two requests, and each was sent once"


def test_each_step_of_a_change_gets_its_own_second_send() -> None:
    """Found by the property test: the delete used up the second send of the add."""
    on = bench()
    on.apply(on.plan([resource("kafka_acl.a", acl())]))
    plan = on.plan([resource("kafka_acl.a", acl(acl_operation="Write"))])
    on.cluster.time_out(call="create_acls", carried_out=False)
    (outcome,) = on.apply(plan).values()
    assert (outcome.status, outcome.attempts) == (OutcomeStatus.APPLIED, 2)


def test_an_acl_is_not_added_when_the_one_it_replaces_could_not_be_deleted() -> None:
    on = bench()
    on.apply(on.plan([resource("kafka_acl.a", acl())]))
    plan = on.plan([resource("kafka_acl.a", acl(acl_operation="Write"))])
    on.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delete_acls")
    (outcome,) = on.apply(plan).values()
    assert outcome.status is OutcomeStatus.FAILED
    assert [each.operation for each in on.cluster.acls()] == ["READ"]
    assert [each.value for each in on.state.owned.values()] == [acl()]


def test_what_is_not_visible_everywhere_in_time_is_recorded_as_pending() -> None:
    """Design law 10, trap 2."""
    on = bench(pace=Limits(visible_s=1.0))
    plan = on.plan(topics("a"))
    on.cluster.delay_reads(1_000, brokers=[2])
    outcomes = on.apply(plan)
    assert outcomes["a"].status is OutcomeStatus.APPLIED
    assert not outcomes["a"].is_verified
    assert [each.is_pending for each in on.state.owned.values()] == [True]


def test_a_lagging_broker_is_waited_for() -> None:
    on = bench()
    plan = on.plan(topics("a"))
    on.cluster.delay_reads(4)
    assert on.apply(plan)["a"].is_verified
    assert on.clock.time > 0


def test_a_stop_leaves_the_rest_unsent_and_loses_no_outcome() -> None:
    on = bench(stop_after=1)
    plan = on.plan(topics(*(f"t{n}" for n in range(9))), max_records=12)
    outcomes = on.apply(plan)
    assert [each.status for each in outcomes.values()] == [OutcomeStatus.APPLIED] * 3 + [
        OutcomeStatus.SKIPPED
    ] * 6
    assert len(on.state.owned) == 3
    assert len(on.watcher.outcomes) == 9


def test_a_failed_step_does_not_take_back_the_one_before_it() -> None:
    on = bench()
    on.apply(on.plan(topics("a")))
    plan = on.plan(topics("a", partitions=6, config={"retention.ms": "5"}))
    on.cluster.refuse("INVALID_PARTITIONS", call="create_partitions")
    assert on.apply(plan)["a"].status is OutcomeStatus.FAILED
    on.cluster.clear_faults()
    (change,) = on.plan(topics("a", partitions=6, config={"retention.ms": "5"})).changes
    assert [each.path for each in change.attributes] == [("partitions",)]


def test_deletes_never_touch_what_another_address_still_declares() -> None:
    on = bench()
    first, second = acl("User:a"), acl("User:b")
    on.apply(on.plan([resource("kafka_acl.x[0]", first), resource("kafka_acl.x[1]", second)]))
    on.apply(on.plan([resource("kafka_acl.x[0]", second)]))
    assert [each.principal for each in on.cluster.acls()] == ["User:b"]
    assert [(str(each.address), each.value) for each in on.state.owned.values()] == [
        ("kafka_acl.x[0]", second)
    ]


def test_a_change_made_outside_is_drift_and_is_undone() -> None:
    on = bench()
    declared = topics("a", config={"retention.ms": "5"})
    on.apply(on.plan(declared))
    on.cluster.alter_topic_configs([ConfigAlteration("a", {"retention.ms": "6"}, ())])
    plan = on.plan(declared)
    assert [each.action for each in plan.drift] == [Action.UPDATE]
    on.apply(plan)
    assert not on.plan(declared).has_changes


def test_bounds_of_waiting_cannot_be_zero() -> None:
    """K4-23, design law 9."""
    with pytest.raises(ValueError, match="greater than 0"):
        Limits(total_s=0)


def test_an_object_that_was_owned_stays_owned_when_its_delete_fails() -> None:
    cluster = MemoryCluster()
    cluster.seed(acls=[binding()])
    on = ApplyHarness(cluster, state(owned("kafka_acl.old", acl())))
    plan = on.plan([resource("kafka_acl.new", acl("User:new"))])
    cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="delete_acls")
    on.apply(plan)
    assert sorted(str(each) for each in on.state.owned) == ["kafka_acl.new", "kafka_acl.old"]
