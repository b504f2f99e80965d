"""What becomes of desired, prior and live."""

from dataclasses import replace

import pytest

from kplan.cluster.errors import refusal
from kplan.kinds.acl import Acl
from kplan.kinds.topic_rules import Topic
from kplan.model.plan import Action, Plan, Reason
from kplan.model.state import KindSnapshot, OutputValue, Snapshot
from tests.values import acl, address, identity, make_plan, owned, resource, snapshot, state, topic

ORDERS = "kafka_topic.orders"
ID = "topic-id-1"


def only(plan: Plan) -> tuple[Action, Reason]:
    (change,) = plan.changes
    return change.action, change.reason


def with_hidden_orders() -> Snapshot:
    live = snapshot()
    hidden = KindSnapshot({}, {identity(topic()): refusal(29)})
    return replace(live, readings={**live.readings, "kafka_topic": hidden})


def codes(plan: Plan) -> list[str]:
    return [each.code for each in plan.diagnostics]


def test_what_is_declared_and_absent_is_created() -> None:
    assert only(make_plan([resource(ORDERS, topic())], state(), snapshot())) == (
        Action.CREATE,
        Reason.NONE,
    )


def test_what_is_equal_and_owned_is_left_alone_and_the_plan_is_empty() -> None:
    plan = make_plan(
        [resource(ORDERS, topic())], state(owned(ORDERS, topic(), ID)), snapshot([(topic(), ID)])
    )
    assert only(plan) == (Action.NO_OP, Reason.NONE)
    assert plan.batches == ()
    assert not plan.is_applyable


def test_an_equal_object_that_nobody_owns_is_adopted_without_a_request() -> None:
    """K4-28."""
    plan = make_plan([resource(ORDERS, topic())], state(), snapshot([(topic(), ID)]))
    assert only(plan) == (Action.NO_OP, Reason.ADOPTED)
    assert plan.batches == ()
    assert plan.is_applyable


def test_a_removed_config_key_is_a_change_and_a_broker_default_is_not() -> None:
    live = topic(config={"retention.ms": "1000", "segment.ms": "5"})
    plan = make_plan(
        [resource(ORDERS, topic(config={"retention.ms": "1000"}))],
        state(owned(ORDERS, live, ID)),
        snapshot([(live, ID)]),
    )
    (change,) = plan.changes
    assert [(each.path, each.before, each.after) for each in change.attributes] == [
        (("config", "segment.ms"), "5", None)
    ]


def test_counts_that_are_left_to_the_broker_are_never_a_difference() -> None:
    declared = topic(partitions=None, replication_factor=None)
    plan = make_plan(
        [resource(ORDERS, declared)], state(owned(ORDERS, topic(), ID)), snapshot([(topic(), ID)])
    )
    assert only(plan) == (Action.NO_OP, Reason.NONE)


def test_growing_and_reconfiguring_a_topic_is_two_requests_configs_first() -> None:
    """K4o-04."""
    plan = make_plan(
        [resource(ORDERS, topic(partitions=6, config={"retention.ms": "9"}))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    assert [batch.step.name for batch in plan.batches] == [
        "alter_topic_configs",
        "create_partitions",
    ]
    assert len(plan.changes) == 1


def test_fewer_partitions_are_an_error_that_points_at_the_attribute() -> None:
    """Design law 6; Terraform's provider destroys and creates here."""
    plan = make_plan(
        [resource(ORDERS, topic(partitions=2))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    assert codes(plan) == ["KP211"]
    assert plan.changes == ()
    assert not plan.is_applyable


def test_a_replication_factor_beyond_the_brokers_is_told_and_not_ignored() -> None:
    """Peers 9: jikkou and helmsman drop it silently."""
    plan = make_plan(
        [resource(ORDERS, topic(replication_factor=30))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    assert codes(plan) == ["KP212"]


def test_a_renamed_topic_is_an_error_and_nothing_is_deleted() -> None:
    """K4-37."""
    plan = make_plan(
        [resource(ORDERS, topic("orders.v2"))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    assert codes(plan) == ["KP231"]
    assert plan.batches == ()


def test_the_hint_of_a_rename_names_the_address_that_the_state_has() -> None:
    """A move that was not applied yet is not in the state, which `state rm` looks at."""
    plan = make_plan(
        [resource("module.b.module.in.kafka_topic.t", topic("orders.v2"))],
        state(owned("module.a.module.in.kafka_topic.t", topic(), ID)),
        snapshot([(topic(), ID)]),
        moved=(("module.a", "module.b"),),
    )
    (problem,) = plan.diagnostics
    assert problem.code == "KP231"
    assert "kplan state rm 'module.a.module.in.kafka_topic.t'" in problem.hint
    assert "-replace='module.b.module.in.kafka_topic.t'" in problem.hint


def test_a_changed_acl_is_one_replacement_with_its_delete_first() -> None:
    """K4-45."""
    before, after = acl(), acl(acl_operation="Write")
    plan = make_plan(
        [resource("kafka_acl.a", after)],
        state(owned("kafka_acl.a", before)),
        snapshot(acls=[before]),
    )
    assert only(plan) == (Action.REPLACE, Reason.IDENTITY_CHANGED)
    assert [batch.step.name for batch in plan.batches] == ["delete_acls", "create_acls"]
    assert [each.path for each in plan.changes[0].attributes] == [("acl_operation",)]


def test_an_owned_object_that_is_not_declared_is_deleted_by_its_id() -> None:
    plan = make_plan(
        [resource("kafka_topic.other", topic("other"))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID), (topic("other"), "id-2")]),
    )
    assert plan.changes[0].action is Action.DELETE
    assert plan.changes[0].uid == ID


def test_what_kplan_does_not_own_is_never_deleted() -> None:
    """Design law 3, kafka-gitops#33."""
    plan = make_plan(
        [resource("kafka_topic.other", topic("other"))], state(), snapshot([(topic(), ID)])
    )
    assert [each.action for each in plan.changes] == [Action.CREATE]


def test_a_topic_created_again_by_somebody_else_is_forgotten_and_not_deleted() -> None:
    """K4-36."""
    plan = make_plan(
        [resource("kafka_topic.other", topic("other"))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), "another-id")]),
    )
    assert (plan.changes[-1].action, plan.changes[-1].reason) == (
        Action.FORGET,
        Reason.RECREATED_OUTSIDE,
    )


def test_an_edit_of_a_topic_that_was_created_again_is_caused_by_the_edit() -> None:
    """What happened outside is told as drift; the update would have come without it."""
    held = state(owned(ORDERS, topic(), ID))
    again = snapshot([(topic(), "another-id")])
    edited = make_plan([resource(ORDERS, topic(config={"flush.ms": "5"}))], held, again)
    assert [(each.action, each.reason) for each in edited.changes] == [(Action.UPDATE, Reason.NONE)]
    lost = snapshot([(topic(config={"flush.ms": "9"}), "another-id")])
    kept = make_plan([resource(ORDERS, topic())], held, lost)
    assert [each.reason for each in kept.changes] == [Reason.RECREATED_OUTSIDE]


def test_an_owned_object_that_is_gone_already_is_forgotten() -> None:
    plan = make_plan(
        [resource("kafka_topic.other", topic("other"))],
        state(owned(ORDERS, topic(), ID)),
        snapshot(),
    )
    assert [each.action for each in plan.changes] == [Action.CREATE, Action.FORGET]


def test_nothing_is_planned_from_a_kind_that_was_not_read_in_full() -> None:
    """Design law 2: the other kinds are still planned, and the plan says it is not complete."""
    plan = make_plan(
        [resource("kafka_acl.a", acl()), resource(ORDERS, topic())],
        state(owned("kafka_acl.b", acl("User:b"))),
        snapshot(unread={"kafka_acl": "no right to DESCRIBE the cluster"}),
    )
    assert [str(each.address) for each in plan.changes] == [ORDERS]
    assert codes(plan) == ["KP234"]
    assert not plan.is_complete


def test_a_kind_that_is_not_asked_for_need_not_be_read() -> None:
    """K4-41: topics alone can be planned without the right to list ACLs."""
    resources = [resource("kafka_acl.a", acl()), resource(ORDERS, topic())]
    blind = snapshot(unread={"kafka_acl": "no right"})
    for narrowed in (
        {"targets": ("kafka_topic.*",)},
        {"only": frozenset([("kafka_topic", identity(topic()), "")])},
    ):
        plan = make_plan(resources, state(), blind, **narrowed)
        assert [str(each.address) for each in plan.changes] == [ORDERS]
        assert (plan.unread, codes(plan)) == ({}, [])


def test_a_hidden_topic_is_an_error_and_never_created() -> None:
    """K117-15, K4-34."""
    plan = make_plan([resource(ORDERS, topic())], state(), with_hidden_orders())
    assert codes(plan) == ["KP233"]
    assert plan.changes == ()


def test_a_hidden_topic_that_is_owned_is_neither_deleted_nor_forgotten() -> None:
    plan = make_plan(
        [resource("kafka_acl.a", acl())], state(owned(ORDERS, topic(), ID)), with_hidden_orders()
    )
    assert [each.kind for each in plan.changes] == ["kafka_acl"]
    assert codes(plan) == ["KP233"]


@pytest.mark.parametrize("targets", [(), (ORDERS,)])
def test_what_is_hidden_is_not_destroyed_in_silence(targets: tuple[str, ...]) -> None:
    held = state(owned(ORDERS, topic(), ID))
    plan = make_plan([], held, with_hidden_orders(), is_destroy=True, targets=targets)
    assert codes(plan) == ["KP233"]
    assert not plan.is_applyable


def test_what_is_hidden_can_be_forgotten_by_a_removed_block() -> None:
    held = state(owned(ORDERS, topic(), ID))
    plan = make_plan([], held, with_hidden_orders(), removed=(ORDERS,))
    assert (only(plan), codes(plan)) == ((Action.FORGET, Reason.REMOVED), [])


def test_protection_is_remembered_when_the_block_is_gone() -> None:
    """Terraform#17599: removing the block removes prevent_destroy."""
    plan = make_plan(
        [resource("kafka_topic.other", topic("other"))],
        state(owned(ORDERS, topic(), ID, is_protected=True)),
        snapshot([(topic(), ID)]),
    )
    assert codes(plan) == ["KP232"]
    assert not plan.is_applyable


@pytest.mark.parametrize(
    ("gone", "left", "protects", "detail", "hint"),
    [
        ('["y"]', '["x"]', True, 'and the key "y" is no longer in for_each.',
         "Put the key back, set prevent_destroy = false, apply, and then remove it."),
        ('["y"]', '["x"]', False, 'and the key "y" is no longer in for_each.',
         "Put the key back, apply, and then remove it."),
        ("[1]", "[0]", False, "and the index 1 is out of range for count.",
         "Raise count again, apply, and then remove it."),
        ('["y"]', "", False, "and its block no longer declares this instance.",
         "Declare this instance again, apply, and then remove it."),
    ],
)  # fmt: skip
def test_protection_of_a_gone_instance_is_explained_at_its_block(
    gone: str, left: str, protects: bool, detail: str, hint: str
) -> None:
    """The block is there: neither its absence nor what it says by now is the point."""
    kept = resource(f"kafka_topic.t{left}", topic("x"), prevent_destroy=protects)
    plan = make_plan(
        [kept],
        state(owned(f"kafka_topic.t{gone}", topic("y"), ID, is_protected=True)),
        snapshot([(topic("y"), ID)]),
    )
    (problem,) = plan.diagnostics
    assert problem.code == "KP232"
    assert f"kafka_topic.t{gone} (y) was declared with prevent_destroy, {detail}" in problem.detail
    assert problem.hint == hint
    assert problem.subject == kept.declared_at
    assert not plan.is_applyable


def test_a_protected_object_that_is_to_be_destroyed_is_not_said_to_lack_its_block() -> None:
    held = state(owned(ORDERS, topic(), ID, is_protected=True))
    plan = make_plan([], held, snapshot([(topic(), ID)]), is_destroy=True)
    (problem,) = plan.diagnostics
    assert "no longer declared" not in problem.detail
    assert problem.hint.endswith("apply, then destroy it.")


def test_an_empty_configuration_is_refused_and_never_means_delete_all() -> None:
    plan = make_plan([], state(owned(ORDERS, topic(), ID)), snapshot([(topic(), ID)]))
    assert codes(plan) == ["KP235"]
    assert not plan.is_applyable


def test_the_last_of_a_configuration_may_be_said_to_stay_on_the_cluster() -> None:
    """A removed block speaks of what it lets go of: nothing is lost."""
    orders, other = owned(ORDERS, topic(), ID), owned("kafka_acl.a", acl())
    live = snapshot([(topic(), ID)], [acl()])
    plan = make_plan([], state(orders, other), live, removed=(ORDERS, "kafka_acl.a"))
    assert codes(plan) == []
    assert [each.action for each in plan.changes] == [Action.FORGET, Action.FORGET]
    half = make_plan([], state(orders, other), live, removed=(ORDERS,))
    assert codes(half) == ["KP235"]


def test_destroy_deletes_all_that_is_owned_and_nothing_else() -> None:
    plan = make_plan(
        [],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID), (topic("foreign"), "id-2")]),
        is_destroy=True,
    )
    assert [(each.identity, each.action) for each in plan.changes] == [("orders", Action.DELETE)]
    assert plan.is_applyable


def test_ignored_attributes_are_taken_from_the_cluster() -> None:
    live = topic(partitions=9, config={"retention.ms": "1", "segment.ms": "5"})
    declared = resource(
        ORDERS,
        topic(config={"retention.ms": "2"}),
        ignore=(("partitions",), ("config", "segment.ms")),
    )
    plan = make_plan([declared], state(owned(ORDERS, live, ID)), snapshot([(live, ID)]))
    assert [each.path for each in plan.changes[0].attributes] == [("config", "retention.ms")]


def test_shifted_list_instances_keep_their_objects() -> None:
    """Removing the first of a counted list must not touch the access of the second."""
    first, second = acl("User:a"), acl("User:b")
    held = state(owned("kafka_acl.x[0]", first), owned("kafka_acl.x[1]", second))
    plan = make_plan([resource("kafka_acl.x[0]", second)], held, snapshot(acls=[first, second]))
    assert [(each.action, each.identity) for each in plan.changes] == [
        (Action.DELETE, identity(first)),
        (Action.NO_OP, identity(second)),
    ]
    assert plan.changes[1].previous == address("kafka_acl.x[1]")


def test_a_moved_block_takes_its_instances_along() -> None:
    held = state(owned('kafka_topic.old["a"]', topic("a"), ID))
    plan = make_plan(
        [resource('kafka_topic.new["a"]', topic("a"))],
        held,
        snapshot([(topic("a"), ID)]),
        moved=(("kafka_topic.old", "kafka_topic.new"),),
    )
    assert only(plan) == (Action.NO_OP, Reason.MOVED)
    assert plan.has_changes, "as for Terraform: a pipeline that applies changes notes the move"


def test_names_that_differ_in_dots_and_underscores_collide_with_live_topics() -> None:
    """K4-29."""
    plan = make_plan(
        [resource(ORDERS, topic("pay.in"))], state(), snapshot([(topic("pay_in"), ID)])
    )
    assert codes(plan) == ["KP202"]


def test_destructive_changes_are_shown_first() -> None:
    old = acl("User:old")
    plan = make_plan(
        [resource("kafka_acl.a", acl()), resource(ORDERS, topic(partitions=6))],
        state(owned("kafka_acl.old", old), owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)], [old]),
    )
    assert [each.action for each in plan.changes] == [Action.DELETE, Action.UPDATE, Action.CREATE]


def test_targets_narrow_the_plan_and_say_so() -> None:
    plan = make_plan(
        [resource('kafka_topic.t["a"]', topic("a")), resource('kafka_topic.t["b"]', topic("b"))],
        state(),
        snapshot(),
        targets=('kafka_topic.t["a"]',),
    )
    assert [each.identity for each in plan.changes] == ["a"]
    assert not plan.is_complete


def test_what_is_not_targeted_does_not_stop_the_plan() -> None:
    """In an emergency nobody has to edit the repository first."""
    declared = [resource(ORDERS, topic()), resource("kafka_acl.a", acl())]
    whole = make_plan(declared, state(), with_hidden_orders())
    assert codes(whole) == ["KP233"]
    narrow = make_plan(declared, state(), with_hidden_orders(), targets=("kafka_acl.a",))
    assert codes(narrow) == []
    assert [each.kind for each in narrow.changes] == ["kafka_acl"]


@pytest.mark.parametrize("of", [topic(), acl()])
def test_a_plan_that_leaves_something_out_leaves_outputs_alone(of: Topic | Acl) -> None:
    """Outputs speak of all that is declared; a resumed apply that ends it all writes them."""
    held = state(owned(ORDERS, topic(), ID), outputs={"a": OutputValue("1")})
    resources = [resource(ORDERS, topic()), resource("kafka_acl.a", acl())]
    key = "kafka_acl" if isinstance(of, Acl) else "kafka_topic"
    for narrowed in ({"targets": (f"{key}.*",)}, {"only": frozenset([(key, identity(of), "")])}):
        plan = make_plan(resources, held, snapshot([(topic(), ID)]), **narrowed)
        assert [each.kind for each in plan.changes] == [key]
        assert bool(plan.outputs) is isinstance(of, Acl)


@pytest.mark.parametrize(
    ("target", "hits"),
    [("kafka_topic.t", 2), ('kafka_topic.t["a"]', 1), ("kafka_topic.*", 2), ("kafka_acl.t", 0)],
)
def test_a_target_is_an_address_a_block_or_a_pattern(target: str, hits: int) -> None:
    """K4-14."""
    plan = make_plan(
        [resource('kafka_topic.t["a"]', topic("a")), resource('kafka_topic.t["b"]', topic("b"))],
        state(),
        snapshot(),
        targets=(target,),
    )
    assert len(plan.changes) == hits
    assert codes(plan) == ([] if hits else ["KP236"])


def test_drift_is_what_differs_from_the_last_apply() -> None:
    applied = topic(config={"retention.ms": "1"})
    live = topic(config={"retention.ms": "2"})
    held = state(owned(ORDERS, applied, ID), owned("kafka_topic.gone", topic("gone"), "id-2"))
    plan = make_plan([resource(ORDERS, applied)], held, snapshot([(live, ID)]))
    assert [(str(each.address), each.action) for each in plan.drift] == [
        ("kafka_topic.gone", Action.DELETE),
        (ORDERS, Action.UPDATE),
    ]
    assert plan.drift[1].attributes[0].after == "2"


def test_drift_that_is_declared_by_now_is_noted_without_a_request() -> None:
    live = topic(config={"retention.ms": "2"})
    held = state(owned(ORDERS, topic(config={"retention.ms": "1"}), ID))
    plan = make_plan([resource(ORDERS, live)], held, snapshot([(live, ID)]))
    assert only(plan) == (Action.NO_OP, Reason.NONE)
    assert [str(each.address) for each in plan.declared_drift] == [ORDERS]
    assert not plan.has_changes
    assert plan.is_applyable
    undone = make_plan([resource(ORDERS, topic())], held, snapshot([(live, ID)]))
    assert undone.declared_drift == ()


def test_outputs_are_compared_and_sensitive_ones_are_never_shown() -> None:
    null_of_an_older_state = OutputValue(None)
    held = state(
        outputs={"a": OutputValue("1"), "b": OutputValue("2"), "n": null_of_an_older_state}
    )
    outputs = {"a": OutputValue("1"), "c": OutputValue(None, is_sensitive=True)}
    plan = make_plan([], held, snapshot(), outputs=outputs)
    assert [(each.name, each.action, each.after) for each in plan.outputs] == [
        ("a", Action.NO_OP, "1"),
        ("b", Action.DELETE, None),
        ("c", Action.CREATE, None),
    ]


def test_batches_hold_no_more_records_than_the_limit() -> None:
    """Trap 4: a topic counts itself, its partitions and its configs."""
    many = [resource(f"kafka_topic.t{n}", topic(f"t{n:03}", partitions=9)) for n in range(50)]
    plan = make_plan(many, state(), snapshot(), max_records=100)
    assert [len(batch.changes) for batch in plan.batches] == [10] * 5


def test_every_chunk_of_replaced_acls_is_deleted_and_added_before_the_next() -> None:
    """Design law 4: the moment without access stays one request long."""
    pairs = [(acl(f"User:{n}"), acl(f"User:{n}", acl_operation="Write")) for n in range(5)]
    plan = make_plan(
        [resource(f"kafka_acl.a{n}", after) for n, (_, after) in enumerate(pairs)],
        state(*(owned(f"kafka_acl.a{n}", before) for n, (before, _) in enumerate(pairs))),
        snapshot(acls=[before for before, _ in pairs]),
        max_records=36,
    )
    assert [(batch.step.name, len(batch.changes)) for batch in plan.batches] == [
        ("delete_acls", 2), ("create_acls", 2), ("delete_acls", 2), ("create_acls", 2),
        ("delete_acls", 1), ("create_acls", 1),
    ]  # fmt: skip


def test_the_checksum_names_the_actions_and_not_the_time() -> None:
    first = make_plan([resource(ORDERS, topic())], state(), snapshot(), created_at="2026-01-01")
    again = make_plan([resource(ORDERS, topic())], state(), snapshot(), created_at="2026-02-02")
    other = make_plan([resource(ORDERS, topic(partitions=4))], state(), snapshot())
    assert first.checksum == again.checksum != other.checksum


@pytest.mark.parametrize("protects", [True, False])
def test_protection_that_comes_or_goes_alone_is_noted(protects: bool) -> None:
    """KP232's way out: declare it with prevent_destroy = false, apply, and then remove it."""
    held = state(owned(ORDERS, topic(), ID, is_protected=not protects))
    declared = [resource(ORDERS, topic(), prevent_destroy=protects)]
    plan = make_plan(declared, held, snapshot([(topic(), ID)]))
    assert only(plan) == (Action.NO_OP, Reason.PROTECTION)
    assert not plan.has_changes
    assert plan.is_applyable
