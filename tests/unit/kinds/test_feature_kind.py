"""Features between a declaration, a cluster and a plan."""

import pytest

from kplan.cluster.memory import MemoryCluster
from kplan.kinds.codes import SUMMARIES
from kplan.kinds.feature import BASE_DOWN, BASE_UP, DOWN, UP, Feature, FeatureKind
from kplan.model.plan import Action, Change
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity
from kplan.model.snapshot import Live
from tests.values import address

KIND = FeatureKind()
GROUP, BASE = "group.version", "metadata.version"


def change(before: Feature | None, after: Feature) -> Change:
    action = Action.CREATE if before is None else Action.UPDATE
    return Change(
        address("kafka_feature.a"), KIND.name, KIND.identify(after), action, before, after
    )


def test_features_that_are_on_are_read_and_of_the_others_those_that_are_wanted() -> None:
    elr = Identity("eligible.leader.replicas.version")
    found = KIND.read(MemoryCluster(), [elr, Identity("no.such.feature")])
    assert {name: live.value.level for name, live in found.objects.items()} == {  # type: ignore[attr-defined]
        elr: 0,
        GROUP: 1,
        BASE: 29,
        "transaction.version": 2,
    }
    assert elr not in KIND.read(MemoryCluster(), []).objects


def test_a_feature_goes_up_as_asked_and_down_when_allowed() -> None:
    cluster = MemoryCluster()
    for before, after in (
        (Feature(BASE, 29), Feature(BASE, 30)),
        (Feature(GROUP, 1), Feature(GROUP, 0, "safe")),
    ):
        each = change(before, after)
        (step,) = KIND.steps(each)
        assert KIND.validate(cluster, step, [each]) == {after.name: {}}
        assert KIND.served(cluster, 1, [each]) == {}
        assert KIND.apply(cluster, step, [each]) == {after.name: None}
        assert KIND.served(cluster, 1, [each]) == {after.name: ""}
        assert KIND.is_done(step, each, KIND.read(cluster, [each.identity]))


def test_a_lower_level_is_refused_unless_it_is_asked_for() -> None:
    """K919-20."""
    live = Live(Feature(GROUP, 1))
    (problem,) = KIND.refuse(live, Feature(GROUP, 0))
    assert (problem.code, problem.path) == ("KP228", ("level",))
    assert problem.code in SUMMARIES
    for fine in (Feature(GROUP, 0, "safe"), Feature(GROUP, 0, "unsafe"), Feature(GROUP, 1)):
        assert list(KIND.refuse(live, fine)) == []


def test_what_the_cluster_cannot_run_is_refused_by_it() -> None:
    each = change(None, Feature("no.such.feature", 1))
    (refused,) = KIND.validate(MemoryCluster(), UP, [each]).values()
    assert isinstance(refused, Refusal)
    assert refused.error == "INVALID_UPDATE_VERSION"


def test_the_base_goes_up_first_and_down_last() -> None:
    def step(name: str, before: int, after: int) -> object:
        return KIND.steps(change(Feature(name, before), Feature(name, after, "safe")))

    assert [step(BASE, 1, 2), step(GROUP, 0, 1)] == [(BASE_UP,), (UP,)]
    assert [step(GROUP, 1, 0), step(BASE, 2, 1)] == [(DOWN,), (BASE_DOWN,)]
    assert BASE_UP < UP < DOWN < BASE_DOWN
    gone = Change(address("kafka_feature.a"), KIND.name, Identity(GROUP), Action.FORGET, None, None)
    assert KIND.steps(gone) == ()


def test_how_a_feature_may_be_lowered_is_no_difference() -> None:
    before, after = KIND.aligned(Feature(GROUP, 1), Feature(GROUP, 1, "safe"))
    assert before == after
    before, after = KIND.aligned(Feature(GROUP, 1), Feature(GROUP, 0), [("level",)])
    assert before == after


@pytest.mark.parametrize(
    ("value", "path"),
    [(Feature(GROUP, -1), ("level",)), (Feature(GROUP, 1, "maybe"), ("downgrade",))],
)
def test_words_that_are_none_are_told(value: Feature, path: tuple[str, ...]) -> None:
    (problem,) = KIND.check(KIND.normal(value))
    assert (problem.code, problem.path) == ("KP227", path)
    assert KIND.normal(Feature(GROUP, 1, "SAFE")).downgrade == "safe"
