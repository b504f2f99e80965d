"""How much may be deleted at once, where nobody says how much."""

import pytest

from kplan.model.plan import Action, Plan, Reason
from tests.values import acl, identity, make_plan, owned, resource, snapshot, state, topic


def plan_with(held: int, kept: int, **given: object) -> Plan:
    topics = [topic(f"t{number}") for number in range(held)]
    names = [f"kafka_topic.t{number}" for number in range(held)]
    pairs = list(zip(names, topics, strict=True))
    return make_plan(
        [resource(name, each) for name, each in pairs[:kept]],
        state(*(owned(name, each, f"id-{name}") for name, each in pairs)),
        snapshot([(each, f"id-{name}") for name, each in pairs]),
        **given,
    )


def is_refused(plan: Plan) -> bool:
    return any(each.code == "KP240" for each in plan.diagnostics)


@pytest.mark.parametrize(
    ("held", "deletes", "refused"),
    [(9, 8, False), (10, 3, False), (10, 4, True), (30, 9, False), (30, 10, True), (100, 10, False),
     (100, 11, True)],
)  # fmt: skip
def test_from_ten_objects_on_three_in_ten_may_be_deleted_and_ten_at_most(
    held: int, deletes: int, refused: bool
) -> None:
    """A lost part of a configuration must not empty a cluster (plan-apply.md 5f)."""
    assert is_refused(plan_with(held, held - deletes)) is refused


def test_the_refusal_says_how_many_there_are_and_how_it_is_let_through() -> None:
    (told,) = plan_with(20, 10).diagnostics
    assert told.detail == (
        "10 objects would be deleted, and at most 6 of the 20 that kplan owns here may be."
    )
    assert "-max-deletes" in told.hint


def test_a_limit_that_is_given_takes_its_place() -> None:
    assert not is_refused(plan_with(20, 10, max_deletes=10))
    assert is_refused(plan_with(20, 10, max_deletes=9))
    assert is_refused(plan_with(5, 4, max_deletes=0))


def test_a_destroy_and_what_was_approved_before_have_no_limit() -> None:
    assert not is_refused(plan_with(20, 0, is_destroy=True))
    approved = frozenset(("kafka_topic", identity(topic(f"t{number}"))) for number in range(20))
    assert not is_refused(plan_with(20, 5, only=approved))


@pytest.mark.parametrize("address", ["kafka_topic.t", 'kafka_topic.t["x"]'])
def test_an_instance_that_declares_another_object_is_not_called_undeclared(address: str) -> None:
    """Its key is where it was: what is deleted is the object that it declared before."""
    old, new = topic("a"), topic("b")
    plan = make_plan(
        [resource(address, new)],
        state(owned(address, old, "1", is_protected=True), owned("kafka_topic.u", new, "2")),
        snapshot([(old, "1"), (new, "2")]),
    )
    (deleted,) = (each for each in plan.changes if each.action is Action.DELETE)
    assert deleted.reason is Reason.NOT_DECLARED
    (told,) = (each for each in plan.diagnostics if each.code == "KP232")
    assert "no longer in" not in told.detail


def test_a_rename_does_not_replace_what_only_the_state_protects_any_more() -> None:
    """Decision 0104: the protection of the last apply counts."""
    held, wanted = acl(), acl(acl_operation="Write")
    plan = make_plan(
        [resource("kafka_acl.a", wanted)],
        state(owned("kafka_acl.a", held, "", is_protected=True)),
        snapshot(acls=[held]),
    )
    (change,) = plan.changes
    assert change.action is Action.REPLACE
    (problem,) = plan.diagnostics
    assert problem.code == "KP232"
    assert problem.detail == "The object of kafka_acl.a was declared with prevent_destroy."
    assert problem.hint.startswith("Declare it as it was, with prevent_destroy = false, apply")
