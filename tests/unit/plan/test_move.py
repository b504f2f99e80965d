"""`moved` blocks followed from old addresses to new ones."""

from dataclasses import replace

import pytest

from kplan.apply.progress import state_after
from kplan.kinds.acl import Acl
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.plan import Action, Reason
from kplan.plan.move import apply_moves, follow_moves
from tests.values import acl, make_plan, owned, resource, snapshot, state, topic

A, B, C = (f"kafka_topic.{name}" for name in "abc")


@pytest.mark.parametrize(
    ("address", "moves", "aim"),
    [
        (A, {}, A),
        (A, {A: B}, B),
        (A, {A: B, B: C}, C),
        (A, {A: B, B: A}, A),
        (f'{A}["x"]', {A: B}, f'{B}["x"]'),
        (f'{A}["x"]', {f'{A}["x"]': f'{B}["y"]'}, f'{B}["y"]'),
        (f'{A}["y"]', {f'{A}["x"]': B}, f'{A}["y"]'),
        (A, {A: f'{A}["x"]'}, f'{A}["x"]'),
        (f'{A}["y"]', {A: f'{B}["x"]'}, f'{A}["y"]'),
        (f"module.m.{A}", {"module.m": "module.n"}, f"module.n.{A}"),
        (f"module.m.module.i.{A}", {"module.m": "module.n"}, f"module.n.module.i.{A}"),
        (f"module.m.module.i.{A}", {"module.m.module.i": "module.n"}, f"module.n.{A}"),
        (f'module.m["x"].{A}', {"module.m": "module.n"}, f'module.n["x"].{A}'),
        (f"module.m[0].{A}", {"module.m[0]": 'module.m["x"]'}, f'module.m["x"].{A}'),
        (f"module.m.{A}", {"module.m": 'module.m["x"]'}, f'module.m["x"].{A}'),
        (f"module.m.{A}", {f"module.m.{A}": B}, B),
        (f"module.m.{A}", {"module.m": "module.m.module.m"}, f"module.m.module.m.{A}"),
        (f"module.mm.{A}", {"module.m": "module.n"}, f"module.mm.{A}"),
    ],
)
def test_an_address_is_followed(address: str, moves: dict[str, str], aim: str) -> None:
    assert str(follow_moves(Address.parse(address), moves)) == aim


def test_a_move_to_an_address_that_is_taken_is_blocked_and_nothing_is_lost() -> None:
    held = [owned(A, topic("a")), owned(B, topic("b")), owned(C, topic("c"))]
    found, blocked = apply_moves(held, {A: B, C: B})
    assert {str(at): each.identity for at, each in found.items()} == {A: "a", B: "b", C: "c"}
    assert [(str(each.address), str(aim)) for each, aim in blocked] == [(A, B), (C, B)]


def test_addresses_can_be_swapped_along_a_chain() -> None:
    held = [owned(A, topic("a")), owned(B, topic("b"))]
    found, blocked = apply_moves(held, {A: B, B: C})
    assert blocked == ((held[1], Address.parse(C)),)
    assert {str(at): each.identity for at, each in found.items()} == {C: "a", B: "b"}


def test_a_moved_acl_that_also_changes_is_replaced_and_not_deleted_beside_a_new_one() -> None:
    before, after = acl(), acl(acl_operation="Write")
    held = state(owned("kafka_acl.a", before))
    made = make_plan(
        [resource("kafka_acl.b", after)],
        held,
        snapshot(acls=[before]),
        moved=(("kafka_acl.a", "kafka_acl.b"),),
    )
    (change,) = made.changes
    assert (change.action, str(change.previous)) == (Action.REPLACE, "kafka_acl.a")


def test_what_moved_and_is_not_declared_is_deleted_from_where_the_state_has_it() -> None:
    held = state(owned(A, topic("a"), "1"))
    made = make_plan([], held, snapshot([(topic("a"), "1")]), moved=((A, B),))
    (change,) = made.changes
    assert (str(change.address), str(change.previous)) == (B, A)
    assert change.reason is Reason.NOT_DECLARED


def test_what_only_moves_is_recorded_whatever_is_targeted() -> None:
    """Terraform refuses to plan here (plan-apply.md 1b); nothing of it touches the cluster."""
    held = state(owned(A, topic("a"), "1"), owned("kafka_topic.d", topic("d"), "2"))
    made = make_plan(
        [resource(B, topic("a")), resource(C, topic("c")), resource("kafka_topic.d", topic("d"))],
        held,
        snapshot([(topic("a"), "1"), (topic("d"), "2")]),
        moved=((A, B),),
        targets=(C,),
    )
    told = {str(each.address): (each.action, each.reason) for each in made.changes}
    assert told == {B: (Action.NO_OP, Reason.MOVED), C: (Action.CREATE, Reason.NONE)}
    assert not made.is_complete


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (topic("a"), topic("a", config={"retention.ms": "7"})),
        (acl(), acl(acl_operation="Write")),
    ],
)
def test_what_moves_and_changes_only_moves_until_it_is_targeted(
    before: Topic | Acl, after: Topic | Acl
) -> None:
    """Item 8: state moves apply always, and a target filters what is sent (plan-apply.md 1b)."""
    old, new = (A, B) if isinstance(before, Topic) else ("kafka_acl.a", "kafka_acl.b")
    is_topic = isinstance(before, Topic)
    held = state(replace(owned(old, before, "1" if is_topic else ""), is_protected=True))
    live = snapshot([(before, "1")]) if isinstance(before, Topic) else snapshot(acls=[before])
    wanted = [resource(new, after), resource(C, topic("c"))]
    other = make_plan(wanted, held, live, moved=((old, new),), targets=(C,))
    told = {str(each.address): (each.action, each.reason) for each in other.changes}
    assert told == {new: (Action.NO_OP, Reason.MOVED), C: (Action.CREATE, Reason.NONE)}
    assert [str(each.address) for batch in other.batches for each in batch.changes] == [C]
    after_move = state_after(held, other, (), {})
    (entry,) = after_move.owned.values()
    assert (str(entry.address), entry.value, entry.is_protected) == (new, before, True)
    assert entry.identity == next(iter(held.owned.values())).identity
    later = make_plan(wanted, after_move, live, targets=(new,))  # the moved block is gone by now
    (change,) = later.changes
    assert change.action in {Action.UPDATE, Action.REPLACE}
    this = make_plan(wanted, held, live, moved=((old, new),), targets=(new,))
    (change,) = this.changes
    assert (str(change.address), str(change.previous)) == (new, old)
