"""Features between a declaration, a cluster and a plan."""

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds.feature import (
    DOWNGRADE,
    DOWNGRADE_BASE,
    UPGRADE,
    UPGRADE_BASE,
    Feature,
    FeatureKind,
)
from kplan.model.codes import SUMMARIES
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from kplan.model.state import LiveObject
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
        assert KIND.find_visible(cluster, 1, [each]) == {}
        assert KIND.apply(cluster, step, [each]) == {after.name: None}
        assert KIND.find_visible(cluster, 1, [each]) == {after.name: ""}
        assert KIND.is_done(step, each, KIND.read(cluster, [each.identity]))


def test_a_lower_level_is_refused_unless_it_is_asked_for() -> None:
    """K919-20."""
    live = LiveObject(Feature(GROUP, 1))
    (problem,) = KIND.check_change(live, Feature(GROUP, 0))
    assert (problem.code, problem.path) == ("KP228", ("level",))
    assert problem.code in SUMMARIES
    for fine in (Feature(GROUP, 0, "safe"), Feature(GROUP, 0, "unsafe"), Feature(GROUP, 1)):
        assert list(KIND.check_change(live, fine)) == []


def test_what_the_cluster_cannot_run_is_refused_by_it() -> None:
    each = change(None, Feature("no.such.feature", 1))
    (refused,) = KIND.validate(MemoryCluster(), UPGRADE, [each]).values()
    assert isinstance(refused, Refusal)
    assert refused.error == "INVALID_UPDATE_VERSION"


def test_the_base_goes_up_first_and_down_last() -> None:
    def step(name: str, before: int, after: int) -> object:
        return KIND.steps(change(Feature(name, before), Feature(name, after, "safe")))

    assert [step(BASE, 1, 2), step(GROUP, 0, 1)] == [(UPGRADE_BASE,), (UPGRADE,)]
    assert [step(GROUP, 1, 0), step(BASE, 2, 1)] == [(DOWNGRADE,), (DOWNGRADE_BASE,)]
    assert UPGRADE_BASE < UPGRADE < DOWNGRADE < DOWNGRADE_BASE
    gone = Change(address("kafka_feature.a"), KIND.name, Identity(GROUP), Action.FORGET, None, None)
    assert KIND.steps(gone) == ()


def test_how_a_feature_may_be_lowered_is_no_difference() -> None:
    before, after = KIND.align(Feature(GROUP, 1), Feature(GROUP, 1, "safe"))
    assert before == after
    before, after = KIND.align(Feature(GROUP, 1), Feature(GROUP, 0), [("level",)])
    assert before == after


@pytest.mark.parametrize(
    ("value", "path"),
    [(Feature(GROUP, -1), ("level",)), (Feature(GROUP, 1, "maybe"), ("downgrade",))],
)
def test_words_that_are_none_are_told(value: Feature, path: tuple[str, ...]) -> None:
    (problem,) = KIND.check(KIND.normalize(value))
    assert (problem.code, problem.path) == ("KP227", path)
    assert KIND.normalize(Feature(GROUP, 1, "SAFE")).downgrade == "safe"
