"""A fleet sends most objects as tuples, and has no look of their kind at what is as declared."""

from dataclasses import replace

import pytest

from kplan.fleet.dataframe import unpack
from kplan.fleet.plan import ClusterPlanRequest, pack_request, plan_cluster
from kplan.fleet.snapshot import Row, snapshot_rows
from kplan.model.address import Address
from kplan.model.errors import Refusal
from kplan.model.resource import ImportBlock
from kplan.model.state import KindSnapshot, Snapshot
from kplan.plan.compact import CompactRequest, compact_request
from kplan.plan.request import PlanRequest, request_size
from tests.drawn_requests import drawn_world
from tests.values import identity, owned, resource, snapshot, state, topic


def told(rows: list[Row], request: CompactRequest) -> list[tuple[object, ...]]:
    """Return the findings, in order."""
    found = plan_cluster(rows, ClusterPlanRequest(request))
    return sorted(tuple(map(str, each.values())) for each in found)


def check_same(request: PlanRequest, live: Snapshot) -> CompactRequest:
    """Return what is sent, which gives the findings of all that is known."""
    rows = list(snapshot_rows("eu", live, {}))
    whole = CompactRequest(request, {}, request_size(request))
    sent: CompactRequest | None = unpack(pack_request(request).packed).request
    assert sent is not None
    assert told(rows, sent) == told(rows, whole)
    return sent


@pytest.mark.parametrize("seed", range(300))
def test_what_is_sent_has_the_findings_of_the_whole_request(seed: int) -> None:
    check_same(*drawn_world(seed))


@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_what_is_hidden_is_not_taken_for_equal(seed: int) -> None:
    request, live = drawn_world(seed)
    refusal = Refusal("TOPIC_AUTHORIZATION_FAILED", 29, "no rights")
    readings = {
        kind: KindSnapshot(each.objects, dict.fromkeys(sorted(each.objects)[::2], refusal))
        for kind, each in live.readings.items()
    }
    check_same(request, replace(live, readings=readings))


def test_a_request_comes_back_as_it_was_sent() -> None:
    values = [topic(f"t{n}") for n in range(4)]
    resources = [resource(f"kafka_topic.t{n}", each) for n, each in enumerate(values)]
    protected = resource("kafka_topic.t4", topic("t4"), prevent_destroy=True)
    held = [owned(f"kafka_topic.t{n}", each, "id") for n, each in enumerate(values[:2])]
    request = PlanRequest((*resources, protected), {}, state(*held))
    sent = compact_request(request)
    assert not sent.rest.resources
    assert not sent.rest.state.owned
    back = sent.expand({})
    assert [(r.address, r.identity, r.value, r.lifecycle) for r in back.resources] == [
        (r.address, r.identity, r.value, r.lifecycle) for r in request.resources
    ]
    assert back.state.owned == request.state.owned
    few = sent.expand({"kafka_topic": {each.identity for each in resources[1:]}})
    assert [str(each.address) for each in few.resources] == ["kafka_topic.t0", "kafka_topic.t4"]
    assert list(few.state.owned) == [Address("kafka_topic", "t0")]


def test_an_object_that_something_else_speaks_of_is_sent_as_it_is() -> None:
    value = topic()
    one, other = resource("kafka_topic.a", value), resource("kafka_topic.b", value)
    held, twin = owned("kafka_topic.a", value), owned("kafka_topic.c", value)
    block = ImportBlock(one.address, identity(topic("other")), one.declared_at)
    for request in (
        PlanRequest((one, other), {}, state()),
        PlanRequest((one,), {}, state(held, twin)),
        PlanRequest((one,), {}, state(owned("kafka_topic.a", topic("other")))),
        PlanRequest((one,), {}, state(owned("kafka_topic.a", topic(partitions=9)))),
        PlanRequest((one,), {}, state(), imports=(block,)),
        PlanRequest((one,), {}, state(held), moved=(("kafka_topic.a", "kafka_topic.b"),)),
        PlanRequest((resource("kafka_topic.a", value, ignore=(("config",),)),), {}, state()),
    ):
        sent = check_same(request, snapshot([(value, "id")]))
        assert not any(sent.plain.values())
        assert sent.rest.state == request.state
        assert [each.address for each in sent.rest.resources] == [
            each.address for each in request.resources
        ]


def test_a_topic_whose_id_is_another_is_not_taken_for_equal() -> None:
    request = PlanRequest(
        (resource("kafka_topic.a", topic()),), {}, state(owned("kafka_topic.a", topic(), "id"))
    )
    live = snapshot([(topic(), "another id")])
    found = told(list(snapshot_rows("eu", live, {})), check_same(request, live))
    assert [each[1] for each in found if each[1] == "drift"] == ["drift"]
