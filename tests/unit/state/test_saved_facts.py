"""What a plan says of access and of what it destroys is in the file that keeps it."""

from dataclasses import replace

from kplan.model.impact import AccessChange, AccessDiff, AccessEffect, GroupImpact, Impact
from kplan.state.plan_file import decode_plan, encode_plan
from tests.values import make_plan, owned, resource, snapshot, state, topic


def test_access_and_impact_come_back_as_they_were_saved() -> None:
    held = state(owned("kafka_topic.orders", topic()))
    plan = make_plan([resource("kafka_topic.z", topic("z"))], held, snapshot([(topic(), "id")]))
    found = Impact(3, None, 9, (GroupImpact("billing", is_live=True, lag=2),), 0, ("why",))
    shift = AccessChange(
        AccessEffect.GAP, "User:a", "*", "TOPIC", ("READ",), ("x*",), None, ("x1",)
    )
    plan = replace(
        plan,
        changes=tuple(replace(each, impact=found) for each in plan.changes),
        batches=(),
        access=AccessDiff((shift,), ("nothing",)),
    )
    assert decode_plan(encode_plan(plan)) == plan
