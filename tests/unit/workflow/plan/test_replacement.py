"""`-replace`: a topic is deleted with its records and created anew, when somebody says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import TopicDescription
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.model.errors import StalePlanError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action, Change, Plan, Reason, Risk
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from kplan.state.file import read_state
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import StaleAction, apply_saved
from kplan.workflow.plan.plan import PlanResult, save_plan
from kplan.workflow.ports import PlanOptions
from tests.project_harness import MAIN_TF, Killed, ProjectHarness

ORDERS = 'kafka_topic.t["orders"]'


def meant(at: str = ORDERS) -> dict[str, Any]:
    """Ask to replace an object, and give up what it holds."""
    return {"replacements": {at: ""}, "acknowledged": frozenset({at})}


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    found.apply()
    found.watcher.sent.clear()
    return found


def topic_id(site: ProjectHarness, name: str = "orders") -> str:
    found = site.cluster.topics()[name]
    assert isinstance(found, TopicDescription)
    return found.topic_id


def codes(plan: Plan) -> list[str]:
    return [each.code for each in plan.diagnostics]


def changed(plan: Plan) -> Change:
    (change,) = [each for each in plan.changes if each.touches_cluster]
    return change


def test_a_topic_is_deleted_by_its_id_and_created_anew_with_what_is_declared(
    site: ProjectHarness,
) -> None:
    old = topic_id(site)
    done = site.apply(**meant())
    assert site.watcher.sent == [("delete_topics", 1), ("create_topics", 1)]
    (outcome,) = done.outcomes
    assert (outcome.status, outcome.is_verified) == (OutcomeStatus.APPLIED, True)
    assert outcome.note.startswith("away for at most ")
    assert topic_id(site) == outcome.uid != old
    state = read_state(site.project.state_path)
    assert state is not None
    assert old not in {each.uid for each in state.owned.values()}
    assert not site.plan().plan.has_changes


def test_the_plan_says_what_is_lost_and_why(site: ProjectHarness) -> None:
    site.cluster.set_topic_use("orders", TopicUse({0: PartitionUse(0, 5, None, 500, 0)}, ()))
    plan = site.plan(**meant()).plan
    change = changed(plan)
    assert (change.action, change.reason) == (Action.REPLACE, Reason.REPLACE_OPTION)
    assert change.risk is Risk.DANGEROUS
    assert change.impact is not None
    text = views.plan_text(plan, PLAIN_STYLE)
    assert f"# {ORDERS} must be replaced" in text
    assert "(because -replace was given)" in text
    assert "-/+ resource" in text
    assert "Plan: 1 to add, 0 to change, 1 to destroy." in text
    (told,) = [
        each
        for each in json.loads(views.plan_json(plan))["resource_changes"]
        if each["address"] == ORDERS
    ]
    assert told["action_reason"] == "replace_by_request"
    assert told["change"]["actions"] == ["delete", "create"]


def test_without_an_acknowledgement_the_plan_is_refused(site: ProjectHarness) -> None:
    """Design law 6."""
    plan = site.plan(replacements={ORDERS: ""}).plan
    assert codes(plan) == ["KP247"]
    assert f"-acknowledge-data-loss='{ORDERS}'" in plan.diagnostics[0].hint
    assert not plan.is_applyable
    assert not site.apply(replacements={ORDERS: ""}).is_approved
    assert site.watcher.sent == []


def test_what_is_protected_is_not_replaced(site: ProjectHarness) -> None:
    protected = MAIN_TF.replace(
        "replication_factor = 1", "replication_factor = 1\nlifecycle { prevent_destroy = true }"
    )
    site.write(protected)
    assert "KP232" in codes(site.plan(**meant()).plan)
    site.apply()
    site.write(MAIN_TF)
    assert "KP232" in codes(site.plan(**meant()).plan), "the state remembers it"


def test_it_is_a_way_to_fewer_partitions(site: ProjectHarness) -> None:
    site.write(MAIN_TF.replace("orders = 3", "orders = 2"))
    assert codes(site.plan().plan) == ["KP211"]
    change = changed(site.plan(**meant()).plan)
    assert [(each.path, each.before, each.after) for each in change.attributes] == [
        (("partitions",), 3, 2)
    ]
    site.apply(**meant())
    found = site.cluster.topics()["orders"]
    assert isinstance(found, TopicDescription)
    assert len(found.assignment) == 2


NAMED = (
    'resource "kafka_topic" "one" {\n  name = "a"\n  partitions = 1\n  replication_factor = 1\n}\n'
)


def test_it_is_a_way_to_another_name(site: ProjectHarness) -> None:
    site.write(NAMED, "more.tf")
    site.apply()
    old = topic_id(site, "a")
    site.write(NAMED.replace('"a"', '"b"'), "more.tf")
    assert codes(site.plan().plan) == ["KP231"]
    change = changed(site.plan(**meant("kafka_topic.one")).plan)
    assert (change.identity, change.uid) == ("b", old)
    assert [each.path for each in change.attributes] == [("name",)]
    assert change.impact is not None
    (outcome,) = site.apply(**meant("kafka_topic.one")).outcomes
    assert outcome.is_verified
    assert {"a", "b"} & site.cluster.topics().keys() == {"b"}
    assert not site.plan().plan.has_changes


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("kafka_acl.read", "has no data beside its configuration"),
        ("kafka_topic.t", "No resource is declared at kafka_topic.t."),
        ('kafka_topic.t["nobody"]', "No resource is declared"),
    ],
)
def test_what_cannot_be_replaced_is_refused(site: ProjectHarness, at: str, said: str) -> None:
    plan = site.plan(**meant(at)).plan
    assert codes(plan) == ["KP244"]
    assert said in plan.diagnostics[0].detail


def test_a_topic_that_kplan_does_not_own_is_not_replaced(site: ProjectHarness) -> None:
    """Design law 3; so is one that was created again outside of kplan."""
    declared = NAMED.replace('"a"', '"foreign"')
    other = ProjectHarness(site.folder / "other", site.cluster)
    other.folder.mkdir()
    other.write(declared)
    other.apply()
    site.write(declared, "more.tf")
    assert codes(site.plan(**meant("kafka_topic.one")).plan) == ["KP244"]
    site.apply()
    other.apply(**meant("kafka_topic.one"))
    assert codes(site.plan(**meant("kafka_topic.one")).plan) == ["KP244"]


def test_what_is_not_there_is_created_as_it_would_be_anyway(site: ProjectHarness) -> None:
    site.write(MAIN_TF.replace("orders = 3,", "orders = 3, new = 1,"))
    at = 'kafka_topic.t["new"]'
    plan = site.plan(replacements={at: ""}).plan
    assert changed(plan).action is Action.CREATE
    assert not plan.has_errors


def test_replaced_topics_count_as_deletes(site: ProjectHarness) -> None:
    assert "KP240" in codes(site.plan(**meant(), max_deletes=0).plan)


def test_a_layout_that_the_broker_refuses_is_told_before_anything_is_deleted(
    site: ProjectHarness,
) -> None:
    site.cluster.refuse("INVALID_CONFIG", on="orders.kplan-preview", call="preview_topics")
    assert "KP241" in codes(site.plan(**meant()).plan)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", ["delete_topics", "create_topics"])
def test_an_apply_that_is_killed_between_the_two_is_resumed(
    site: ProjectHarness, call: str, after: bool
) -> None:
    old = topic_id(site)

    def strike() -> None:
        raise Killed

    def approve(_: PlanResult) -> bool:
        if after:
            site.cluster.run_before(call, lambda: site.cluster.run_before("topics", strike))
            site.cluster.run_before(call, lambda: site.cluster.run_before("create_topics", strike))
        else:
            site.cluster.run_before(call, strike)
        return True

    with pytest.raises(Killed):
        site.apply(approve, **meant())
    site.cluster.clear_faults()
    hands = ApplyHandlers(lambda _: False, site.watcher)
    resume_apply(site.project, PlanOptions(), site.ports, hands)
    assert topic_id(site) != old
    assert not site.plan().plan.has_changes
    new = topic_id(site)
    site.apply()
    assert topic_id(site) == new, "it is replaced once"


def test_a_create_that_is_refused_after_the_delete_says_so_and_the_next_apply_creates_it(
    site: ProjectHarness,
) -> None:
    site.cluster.refuse("POLICY_VIOLATION", on="orders", call="create_topics", times=1)
    (outcome,) = site.apply(**meant()).outcomes
    assert outcome.status is OutcomeStatus.FAILED
    assert outcome.note.startswith("deleted, and not created again")
    assert site.apply().outcomes[0].status is OutcomeStatus.APPLIED
    assert "orders" in site.cluster.topics()


def test_the_old_topic_in_the_way_is_waited_for_and_never_taken_for_the_new_one(
    site: ProjectHarness,
) -> None:
    """Clusters without KRaft delete topics after they have answered."""
    old = topic_id(site)

    def approve(_: PlanResult) -> bool:
        site.cluster.refuse("TOPIC_ALREADY_EXISTS", on="orders", call="create_topics", times=1)
        site.cluster.delay_reads(2)
        return True

    (outcome,) = site.apply(approve, **meant()).outcomes
    assert outcome.status is OutcomeStatus.APPLIED
    assert topic_id(site) != old


def test_a_saved_plan_replaces_what_was_acknowledged_when_it_was_made(
    site: ProjectHarness, tmp_path: Path
) -> None:
    old, file = topic_id(site), tmp_path / "p.kplan"
    save_plan(site.plan(**meant()), file, site.ports.now())
    hands = ApplyHandlers(lambda _: False, site.watcher)
    done = apply_saved(site.project, file, PlanOptions(), (site.ports, hands))
    assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED]
    assert topic_id(site) != old


def test_a_saved_plan_brings_another_name(site: ProjectHarness, tmp_path: Path) -> None:
    site.write(NAMED, "more.tf")
    site.apply()
    site.write(NAMED.replace('"a"', '"b"'), "more.tf")
    file, hands = tmp_path / "p.kplan", ApplyHandlers(lambda _: False, site.watcher)
    save_plan(site.plan(**meant("kafka_topic.one")), file, site.ports.now())
    (outcome,) = apply_saved(site.project, file, PlanOptions(), (site.ports, hands)).outcomes
    assert (outcome.status, outcome.is_verified) == (OutcomeStatus.APPLIED, True)
    assert {"a", "b"} & site.cluster.topics().keys() == {"b"}


@pytest.mark.parametrize("way", list(StaleAction))
def test_a_saved_plan_does_not_replace_another_incarnation(
    site: ProjectHarness, tmp_path: Path, way: StaleAction
) -> None:
    file = tmp_path / "p.kplan"
    save_plan(site.plan(**meant()), file, site.ports.now())
    site.apply(**meant())
    new = topic_id(site)
    hands = ApplyHandlers(lambda _: False, site.watcher)
    if way is StaleAction.ABORT:
        with pytest.raises(StalePlanError):
            apply_saved(site.project, file, PlanOptions(), (site.ports, hands), way)
    else:
        done = apply_saved(site.project, file, PlanOptions(), (site.ports, hands), way)
        assert not any(each.status is OutcomeStatus.APPLIED for each in done.outcomes)
    assert topic_id(site) == new
