"""A saved plan when something moved since it was made."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import (
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicRef,
)
from kplan.kinds.topic_rules import Topic
from kplan.model.errors import StalePlanError, WrongClusterError
from kplan.model.outcome import OutcomeStatus
from kplan.state.file import read_state
from kplan.state.plan_file import read_plan
from kplan.workflow.apply import apply
from kplan.workflow.apply.apply import ApplyHandlers, ApplyResult
from kplan.workflow.apply.saved_plan import StaleAction, apply_saved
from kplan.workflow.plan.plan import PlanResult, save_plan
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.forget import forget_objects
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, ProjectHarness

NEXT = MAIN_TF.replace("86400000", "3600000").replace('"Read"', '"Write"')
GROWN = MAIN_TF.replace("orders = 3, payments = 6", "orders = 4, payments = 6, late = 1")


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    found.apply()
    return found


def saved(site: ProjectHarness, text: str = NEXT, **given: object) -> Path:
    site.write(text)
    path = site.folder / "p.kplan"
    save_plan(site.plan(**given), path, site.ports.now())
    return path


def applied(
    site: ProjectHarness,
    path: Path,
    on_stale: StaleAction = StaleAction.ABORT,
    approve: Callable[[PlanResult], bool] = lambda _: False,
) -> ApplyResult:
    hands = ApplyHandlers(approve, site.watcher)
    return apply_saved(site.project, path, PlanOptions(), (site.ports, hands), on_stale)


def altered(site: ProjectHarness, topic: str = "orders") -> None:
    site.cluster.alter_topic_configs([ConfigAlteration(topic, {"retention.ms": "7"})])


def recreated(site: ProjectHarness, topic: str = "orders") -> None:
    site.cluster.delete_topics([TopicRef(topic)])
    site.cluster.create_topics([NewTopic(topic, 3, 1, config={"retention.ms": "86400000"})])


def retention(site: ProjectHarness, topic: str) -> str | None:
    found = site.cluster.topic_configs([topic])[topic]
    return found["retention.ms"].value  # type: ignore[index] # nothing is hidden here


def test_nothing_at_all_is_done_when_one_object_moved(site: ProjectHarness) -> None:
    path = saved(site)
    altered(site)
    with pytest.raises(StalePlanError, match=r't\["orders"\] \(it was changed on the cluster'):
        applied(site, path)
    assert retention(site, "payments") == "86400000"


def test_skip_refuses_what_moved_and_does_the_rest(site: ProjectHarness) -> None:
    path = saved(site)
    altered(site)
    done = applied(site, path, StaleAction.SKIP)
    told = {str(each.change.identity): (each.status, each.refusal) for each in done.outcomes}
    status, refusal = told["orders"]
    assert (status, refusal and refusal.error) == (OutcomeStatus.FAILED, "CLIENT_STALE")
    assert told["payments"][0] is OutcomeStatus.APPLIED
    assert (retention(site, "orders"), retention(site, "payments")) == ("7", "3600000")
    left = [each.identity for each in site.plan().plan.changes if each.touches_cluster]
    assert left == ["orders"]
    assert sum(each.change.identity == "orders" for each in site.watcher.outcomes) == 2


@pytest.mark.parametrize("on_stale", list(StaleAction))
def test_a_change_that_others_made_already_is_not_stale(
    site: ProjectHarness, on_stale: StaleAction
) -> None:
    """Issue 4.5: 3 -> 6 partitions already done is done."""
    path = saved(site, GROWN)
    site.cluster.create_partitions([NewPartitions("orders", 4)])
    site.cluster.create_topics([NewTopic("late", 1, 1, config={"retention.ms": "86400000"})])
    done = applied(site, path, on_stale)
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert not site.plan().plan.has_changes


def test_replicas_that_others_moved_otherwise_are_stale_though_their_number_is_right(
    site: ProjectHarness,
) -> None:
    """The moves that were reviewed start from where the replicas were."""
    path = saved(site, MAIN_TF.replace("replication_factor = 1", "replication_factor = 2"))
    planned = {str(each.identity): each.after for each in read_plan(path).plan.changes}
    topic = planned["orders"]
    assert isinstance(topic, Topic)
    rows = topic.replica_assignment or ()
    others = {("orders", number): tuple(reversed(row)) for number, row in enumerate(rows)}
    site.cluster.reassign(others)
    with pytest.raises(StalePlanError, match=r't\["orders"\] \(it was changed on the cluster'):
        applied(site, path)
    done = applied(site, path, StaleAction.SKIP)
    told = {str(each.change.identity): each.status for each in done.outcomes}
    assert told == {"orders": OutcomeStatus.FAILED, "payments": OutcomeStatus.APPLIED}
    held = site.cluster.topics(["orders"])["orders"]
    assert isinstance(held, TopicDescription)
    assert held.assignment == tuple(others.values()), "the moves of others stay"


def test_a_topic_that_others_created_otherwise_is_not_taken_for_ours(site: ProjectHarness) -> None:
    path = saved(site, GROWN)
    site.cluster.create_topics([NewTopic("late", 5, 1)])
    with pytest.raises(StalePlanError, match="it has been created since the plan, and differs"):
        applied(site, path)
    done = applied(site, path, StaleAction.SKIP)
    assert {each.change.identity for each in done.outcomes if each.refusal} == {"late"}
    assert len(list_owned_objects(site.project)) == 3


def test_a_topic_that_was_created_again_stops_everything(site: ProjectHarness) -> None:
    """K4-36: somebody else's topic under the name."""
    path = saved(site)
    recreated(site)
    with pytest.raises(StalePlanError, match="deleted and created again since the plan"):
        applied(site, path, StaleAction.ABORT)
    assert retention(site, "payments") == "86400000"


def test_a_topic_that_was_created_again_is_skipped_and_the_rest_is_done(
    site: ProjectHarness,
) -> None:
    """As the help of -on-stale says; nothing is sent to somebody else's topic."""
    path = saved(site)
    recreated(site)
    done = applied(site, path, StaleAction.SKIP)
    by_status = {str(each.change.identity): each.status for each in done.outcomes}
    assert by_status.pop("orders") is OutcomeStatus.FAILED
    assert by_status
    assert set(by_status.values()) == {OutcomeStatus.APPLIED}
    assert retention(site, "payments") != "86400000"
    assert retention(site, "orders") != retention(site, "payments")


def test_deletes_of_what_is_gone_are_done(site: ProjectHarness) -> None:
    path = saved(site, MAIN_TF, is_destroy=True)
    site.cluster.delete_topics([TopicRef("orders")])
    done = applied(site, path)
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert list_owned_objects(site.project) == ()


def test_what_is_to_be_changed_and_is_gone_is_stale(site: ProjectHarness) -> None:
    path = saved(site)
    site.cluster.delete_topics([TopicRef("orders")])
    with pytest.raises(StalePlanError, match="it was deleted from the cluster"):
        applied(site, path)


def test_what_can_no_longer_be_read_is_stale(site: ProjectHarness) -> None:
    path = saved(site)
    site.cluster.deny_operation("DESCRIBE", "CLUSTER")
    with pytest.raises(StalePlanError, match="it could not be read"):
        applied(site, path)


# ---- the state moved


def test_a_later_state_is_gone_on_with_under_skip_only(site: ProjectHarness) -> None:
    path = saved(site)
    forget_objects(site.project, ("kafka_acl.read",), site.ports)
    with pytest.raises(StalePlanError, match="made from serial 1"):
        applied(site, path)
    done = applied(site, path, StaleAction.SKIP)
    refused = [each.change.identity for each in done.outcomes if each.refusal]
    assert len(done.outcomes) == 3
    assert [each.partition("|")[0] for each in refused] == ["User:app"]
    state = read_state(site.project.state_path)
    assert state is not None
    assert (state.serial, len(state.owned)) == (3, 2)
    assert len(site.cluster.acls()) == 1


def test_what_another_apply_has_written_meanwhile_is_not_written_over(site: ProjectHarness) -> None:
    path = saved(site, MAIN_TF.replace('"Read"', '"Write"'))  # the topics are only looked at
    site.write(MAIN_TF.replace("86400000", "5"))
    site.apply()
    site.write(MAIN_TF.replace('"Read"', '"Write"'))
    applied(site, path, StaleAction.SKIP)
    state = read_state(site.project.state_path)
    assert state is not None
    assert [
        each.value.config  # type: ignore[attr-defined]
        for each in state.owned.values()
        if each.address.kind == "kafka_topic"
    ] == [{"retention.ms": "5"}] * 2


@pytest.mark.parametrize("on_stale", [StaleAction.ABORT, StaleAction.SKIP])
def test_another_state_or_configuration_is_never_gone_on_with(
    site: ProjectHarness, on_stale: StaleAction, tmp_path: Path
) -> None:
    path = saved(site)
    (tmp_path / "other").mkdir()
    other = ProjectHarness(tmp_path / "other", site.cluster)
    other.write(NEXT)
    other.apply()
    with pytest.raises(StalePlanError):
        applied(other, path, on_stale)
    site.write(MAIN_TF)
    with pytest.raises(StalePlanError, match="The configuration changed"):
        applied(site, path, on_stale)


# ---- replan


def test_replan_asks_for_approval_where_the_actions_are_others(site: ProjectHarness) -> None:
    path = saved(site)
    altered(site)
    seen: list[PlanResult] = []

    def approve(made: PlanResult) -> bool:
        seen.append(made)
        return len(seen) > 1

    assert not applied(site, path, StaleAction.REPLAN, approve).is_approved
    assert retention(site, "orders") == "7"
    assert applied(site, path, StaleAction.REPLAN, approve).is_approved
    assert retention(site, "orders") == "3600000"


def test_replan_does_not_ask_where_the_actions_are_the_same(site: ProjectHarness) -> None:
    path = saved(site)
    site.write(NEXT + "\n# a remark\n")
    assert applied(site, path, StaleAction.REPLAN).is_approved
    assert not site.plan().plan.has_changes


@pytest.mark.parametrize(
    ("given", "live"),
    [
        ({"is_destroy": True}, set()),
        ({"targets": ('kafka_topic.t["orders"]',)}, {"orders": "3600000", "payments": "86400000"}),
    ],
)
def test_replan_keeps_to_what_the_plan_was_about(
    site: ProjectHarness, given: dict[str, object], live: dict[str, str] | set[str]
) -> None:
    path = saved(site, NEXT, **given)
    altered(site)
    applied(site, path, StaleAction.REPLAN, lambda _: True)
    assert set(site.cluster.topics()) == set(live)
    if isinstance(live, dict):
        assert {name: retention(site, name) for name in live} == live


# ---- never


@pytest.mark.parametrize("on_stale", list(StaleAction))
def test_an_expired_plan_and_one_for_another_cluster_are_always_refused(
    site: ProjectHarness, on_stale: StaleAction, tmp_path: Path
) -> None:
    path = saved(site)
    ports = replace(site.ports, now=lambda: datetime(2026, 1, 3, 1, tzinfo=UTC))
    with pytest.raises(StalePlanError, match="was good until 2026-01-03T00:00:00"):
        apply_saved(
            site.project,
            path,
            PlanOptions(),
            (ports, ApplyHandlers(lambda _: True, site.watcher)),
            on_stale,
        )
    other = ProjectHarness(tmp_path / "other", MemoryCluster(cluster_id="b3RoZXItY2x1c3Rlci0wMQ"))
    other.folder.mkdir()
    other.write(MAIN_TF)
    other.apply()
    other.write(NEXT)
    with pytest.raises(WrongClusterError, match="The plan was made for cluster"):
        applied(other, path, on_stale)


@pytest.mark.parametrize("on_stale", list(StaleAction))
def test_a_plan_is_applied_once(site: ProjectHarness, on_stale: StaleAction) -> None:
    """Even where somebody has set everything back, and a later state would do."""
    path = saved(site)
    applied(site, path)
    state = read_state(site.project.state_path)
    assert state is not None
    assert [each.checksum for each in state.applied_plans] == [read_plan(path).metadata.checksum]
    site.write(MAIN_TF)
    site.apply()
    site.write(NEXT)
    with pytest.raises(StalePlanError, match="was applied already, at 2026-01-02T00:00:00"):
        applied(site, path, on_stale, lambda _: True)
    assert retention(site, "payments") == "86400000"


def test_a_plan_that_was_planned_anew_is_not_applied_again_either(site: ProjectHarness) -> None:
    path = saved(site)
    site.write(NEXT + "# a remark\n")
    applied(site, path, StaleAction.REPLAN)
    with pytest.raises(StalePlanError, match="was applied already"):
        applied(site, path, StaleAction.REPLAN)


def test_no_more_than_the_latest_plans_are_remembered(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "_MAX_APPLIED_PLANS", 2)
    for retention_ms in ("1", "2", "3"):
        applied(site, saved(site, MAIN_TF.replace("86400000", retention_ms)))
    state = read_state(site.project.state_path)
    assert state is not None
    assert len(state.applied_plans) == 2
