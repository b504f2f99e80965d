"""Objects that are as declared can be left out of a plan of which only findings are shown."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kplan.kinds import KINDS
from kplan.kinds.topic_rules import Topic
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Plan
from kplan.model.resource import ImportBlock
from kplan.model.state import Broker, KindSnapshot, LiveObject, Snapshot
from kplan.plan.build import plan_changes
from kplan.plan.drift import find_drift
from kplan.plan.equal import drop_equal_objects
from kplan.plan.request import PlanRequest, request_size
from tests.drawn_requests import drawn_world
from tests.values import identity, owned, resource, snapshot, state, topic

Findings = tuple[object, ...]


def findings(request: PlanRequest, live: Snapshot, whole: PlanRequest) -> Findings:
    """Return what a fleet shows of a plan, and the drift."""
    plan: Plan = plan_changes(request, {"": live}, KINDS, request_size(whole))
    changes = [each for each in plan.changes if each.action is not Action.NO_OP]
    problems = [each for each in plan.diagnostics if each.is_error]
    return changes, problems, plan.unread, find_drift(request.state, live, KINDS)


def check_same(request: PlanRequest, live: Snapshot) -> PlanRequest:
    """Return the part that is left, which gives the same findings."""
    part = drop_equal_objects(request, live, KINDS)
    assert findings(part, live, request) == findings(request, live, request)
    return part


@pytest.mark.parametrize("seed", range(300))
def test_the_rest_of_a_request_has_the_findings_of_the_whole(seed: int) -> None:
    check_same(*drawn_world(seed))


def test_most_objects_are_left_out_and_what_differs_is_kept() -> None:
    values = [topic(f"t{n}") for n in range(12)]
    resources = [resource(f"kafka_topic.t{n}", each) for n, each in enumerate(values)]
    held = [owned(f"kafka_topic.t{n}", each, "id") for n, each in enumerate(values[:6])]
    live = [(each, "id") for each in values]
    live[3] = (replace(values[3], config={"retention.ms": "5"}), "id")
    live[4] = (values[4], "another id")
    part = check_same(PlanRequest(tuple(resources), {}, state(*held)), snapshot(live))
    assert [str(each.identity) for each in part.resources] == ["t3", "t4"]
    assert [str(each.identity) for each in part.state.owned.values()] == ["t3", "t4"]


def world(change: Callable[[PlanRequest], PlanRequest]) -> tuple[PlanRequest, Snapshot]:
    """Return one topic that is as declared and owned, with something else said of it."""
    value = topic()
    request = PlanRequest(
        (resource("kafka_topic.a", value),), {}, state(owned("kafka_topic.a", value))
    )
    return change(request), snapshot([(value, "id")])


def owned_twice(request: PlanRequest) -> PlanRequest:
    """Have a second address own the same topic."""
    held = state(*request.state.owned.values(), owned("kafka_topic.b", topic()))
    return replace(request, state=held)


def imported(request: PlanRequest) -> PlanRequest:
    """Import another topic to the address, that owns nothing."""
    one = request.resources[0]
    block = ImportBlock(one.address, identity(topic("other")), one.declared_at)
    return replace(request, imports=(block,), state=state())


def moved(request: PlanRequest) -> PlanRequest:
    """Move it to another address."""
    return replace(request, moved=(("kafka_topic.a", "kafka_topic.b"),))


@pytest.mark.parametrize("change", [owned_twice, imported, moved])
def test_an_object_that_is_spoken_of_elsewhere_is_kept(
    change: Callable[[PlanRequest], PlanRequest],
) -> None:
    request, live = world(change)
    assert check_same(request, live).resources == request.resources


def test_limits_of_deletes_count_what_the_whole_request_owns() -> None:
    values = [topic(f"t{n}") for n in range(20)]
    resources = [resource(f"kafka_topic.t{n}", each) for n, each in enumerate(values[:12])]
    held = [owned(f"kafka_topic.t{n}", each, "id") for n, each in enumerate(values)]
    request = PlanRequest(tuple(resources), {}, state(*held))
    live = snapshot([(each, "id") for each in values])
    part = check_same(request, live)
    problems = findings(part, live, request)[1]
    assert isinstance(problems, list)
    assert ["of the 20 that kplan owns here" in each.detail for each in problems] == [True]


def test_an_object_that_is_gone_hidden_or_other_is_kept() -> None:
    request, live = world(lambda each: each)
    assert not check_same(request, live).resources
    refusal = Refusal("TOPIC_AUTHORIZATION_FAILED", 29, "no rights")
    own = live.readings["kafka_topic"].objects
    other = {identity(topic()): LiveObject(topic(partitions=6), "id")}
    for reading in (
        KindSnapshot({}),
        KindSnapshot(other),
        KindSnapshot(own, dict.fromkeys(own, refusal)),
    ):
        part = check_same(request, replace(live, readings={"kafka_topic": reading}))
        assert part.resources == request.resources
        assert part.state.owned == request.state.owned


def test_topics_that_take_room_on_brokers_are_kept_for_where_others_are_placed() -> None:
    placed = topic("placed", replica_assignment=((1,), (1,), (1,)))
    wanted = topic("new", placement={"strategy": "balanced-leaders"})
    request = PlanRequest(
        (resource("kafka_topic.a", placed), resource("kafka_topic.b", wanted)), {}, state()
    )
    live = snapshot([(Topic("placed", 3, 1, ((1,), (1,), (1,))), "id")])
    brokers = tuple(Broker(number, "host", 9092, "") for number in (1, 2))
    assert check_same(request, replace(live, brokers=brokers)).resources == request.resources


def test_an_instance_that_is_gone_keeps_the_others_of_its_block() -> None:
    request = PlanRequest(
        resources=(
            resource('kafka_topic.t["a"]', topic("a")),
            resource("kafka_topic.u", topic("u")),
        ),
        outputs={},
        state=state(
            owned('kafka_topic.t["a"]', topic("a"), "1"),
            owned('kafka_topic.t["b"]', topic("b"), "2"),
            owned("kafka_topic.u", topic("u"), "3"),
        ),
    )
    live = snapshot([(topic("a"), "1"), (topic("b"), "2"), (topic("u"), "3")])
    rest = check_same(request, live)
    assert [str(each.address) for each in rest.resources] == ['kafka_topic.t["a"]']
