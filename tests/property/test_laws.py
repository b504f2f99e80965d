"""The laws of kplan, on random clusters, configurations and histories."""

import random
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds.acl import Acl
from kplan.kinds.topic_rules import Topic
from kplan.model.plan import Action, Plan
from kplan.model.resource import Resource
from tests.apply_harness import ApplyHarness
from tests.values import acl, make_plan, new_topic, read_cluster, resource, state, topic

NAMES = st.sampled_from("abcdef")
CONFIGS = st.dictionaries(
    st.sampled_from(("retention.ms", "segment.ms", "cleanup.policy")),
    st.sampled_from(("compact", "1000", "2000")),
    max_size=2,
).filter(lambda found: all((k == "cleanup.policy") == (v == "compact") for k, v in found.items()))


@st.composite
def topics(draw: st.DrawFn) -> dict[str, Topic]:
    names = draw(st.sets(NAMES, max_size=5))
    return {
        name: topic(name, partitions=draw(st.integers(1, 4)), config=draw(CONFIGS))
        for name in sorted(names)
    }


@st.composite
def acls(draw: st.DrawFn) -> dict[str, Acl]:
    keys = draw(st.sets(NAMES, max_size=5))
    return {
        key: acl(f"User:{key}", acl_operation=draw(st.sampled_from(("Read", "Write"))))
        for key in sorted(keys)
    }


@st.composite
def configurations(draw: st.DrawFn) -> tuple[Resource, ...]:
    return (
        *(resource(f'kafka_acl.a["{key}"]', each) for key, each in draw(acls()).items()),
        *(resource(f'kafka_topic.t["{key}"]', each) for key, each in draw(topics()).items()),
    )


def growing(first: tuple[Resource, ...], then: tuple[Resource, ...]) -> tuple[Resource, ...]:
    """Let no topic shrink: that is refused, as it should be."""
    sizes = {
        each.identity: each.value.partitions for each in first if isinstance(each.value, Topic)
    }
    return tuple(
        each
        for each in then
        if not isinstance(each.value, Topic)
        or (each.value.partitions or 0) >= (sizes.get(each.identity) or 0)
    )


def on_cluster(seeded: dict[str, Topic]) -> ApplyHarness:
    cluster = MemoryCluster()
    cluster.seed([new_topic(each) for each in seeded.values()])
    return ApplyHarness(cluster, state())


@given(first=configurations(), then=configurations())
def test_applying_reaches_the_goal_and_the_next_plan_is_empty(
    first: tuple[Resource, ...], then: tuple[Resource, ...]
) -> None:
    on = on_cluster({})
    on.apply(on.plan(first))
    goal = growing(first, then) or (resource("kafka_topic.z", topic("z")),)
    on.apply(on.plan(goal))
    again = on.plan(goal)
    assert again.batches == ()
    assert not again.is_applyable
    assert {each.identity for each in on.state.owned.values()} == {each.identity for each in goal}


@given(first=configurations(), then=configurations())
def test_the_delete_of_an_acl_is_sent_before_the_add_that_replaces_it(
    first: tuple[Resource, ...], then: tuple[Resource, ...]
) -> None:
    """K4-45: and pure adds come after every delete."""
    on = on_cluster({})
    on.apply(on.plan(first))
    plan = on.plan(growing(first, then))
    acl_steps = [batch.step for batch in plan.batches if batch.kind == "kafka_acl"]
    assert acl_steps == sorted(acl_steps)
    assert all(
        batch.step.name != "delete_acls"
        for number, batch in enumerate(plan.batches)
        if any(earlier.step.rank == 30 for earlier in plan.batches[:number])
    )


@given(first=configurations(), then=configurations(), target=st.sampled_from(
    ("kafka_topic.t", "kafka_acl.*", 'kafka_topic.t["a"]', "kafka_acl.nothing")
))  # fmt: skip
def test_no_filter_ever_adds_a_delete(
    first: tuple[Resource, ...], then: tuple[Resource, ...], target: str
) -> None:
    """Design law 3, jikkou#698."""
    on = on_cluster({})
    on.apply(on.plan(first))
    whole, narrowed = deleted(on.plan(then)), deleted(on.plan(then, targets=(target,)))
    assert narrowed <= whole


@given(declared=configurations(), seeded=topics())
def test_nothing_that_is_not_owned_is_ever_deleted_or_replaced(
    declared: tuple[Resource, ...], seeded: dict[str, Topic]
) -> None:
    """Design law 3."""
    on = on_cluster(seeded)
    assert deleted(on.plan(declared)) == set()
    on.apply(on.plan(declared))
    assert set(seeded) <= set(on.cluster.topics())


@given(first=configurations(), then=configurations(), seed=st.integers(0, 99))
def test_the_bytes_of_a_plan_do_not_depend_on_the_order_of_its_input(
    first: tuple[Resource, ...], then: tuple[Resource, ...], seed: int
) -> None:
    """Design law 12."""
    on = on_cluster({})
    on.apply(on.plan(first))
    shuffled = list(then)
    random.Random(seed).shuffle(shuffled)
    live = read_cluster(on.cluster, then, on.state)
    assert repr(make_plan(then, on.state, live)) == repr(make_plan(shuffled, on.state, live))


FAULTS: tuple[Callable[[MemoryCluster], None], ...] = (
    lambda cluster: cluster.time_out(carried_out=True, call="create_topics"),
    lambda cluster: cluster.time_out(carried_out=False, call="create_acls"),
    lambda cluster: cluster.omit_items(call="create_topics"),
    lambda cluster: cluster.refuse("NOT_CONTROLLER", times=1, call="delete_acls"),
    lambda cluster: cluster.throttle(500, allowed=1, times=2),
    lambda cluster: cluster.delay_reads(3),
)


@given(
    first=configurations(),
    then=configurations(),
    faults=st.lists(st.sampled_from(FAULTS), max_size=3),
)
def test_a_cluster_that_stumbles_is_still_brought_to_the_goal(
    first: tuple[Resource, ...],
    then: tuple[Resource, ...],
    faults: list[Callable[[MemoryCluster], None]],
) -> None:
    on = on_cluster({})
    on.apply(on.plan(first))
    goal = growing(first, then) or (resource("kafka_topic.z", topic("z")),)
    plan = on.plan(goal)
    for fault in faults:
        fault(on.cluster)
    on.apply(plan)
    on.cluster.clear_faults()
    assert on.plan(goal).batches == ()


def deleted(plan: Plan) -> set[str]:
    return {
        each.identity for each in plan.changes if each.action in {Action.DELETE, Action.REPLACE}
    }
