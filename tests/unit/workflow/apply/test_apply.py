"""The main job on a cluster in memory: HCL in, plan, apply, drift."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration, NewTopic, TopicRef
from kplan.model.errors import ConfigError, StalePlanError, UsageError, WrongClusterError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action, Reason
from kplan.state.file import read_state
from kplan.workflow.adopt.import_ import import_object
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.drift import detect_drift
from kplan.workflow.plan.plan import PlanResult, make_plan, save_plan
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.forget import forget_objects
from kplan.workflow.state.move import move_objects
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, ProjectHarness

NEXT = MAIN_TF.replace('"Read"', '"Write"').replace("86400000", "3600000")


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    return found


def test_a_folder_is_planned_applied_and_then_there_is_nothing_to_do(site: ProjectHarness) -> None:
    assert site.plan().plan.count(Action.CREATE) == 3
    done = site.apply()
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert not site.plan().plan.has_changes
    state = read_state(site.project.state_path)
    assert state is not None
    assert (state.serial, state.cluster_id) == (1, site.cluster.describe().cluster_id)
    assert state.outputs["names"].value == ["orders", "payments"]


def test_a_plan_changes_nothing_anywhere(site: ProjectHarness) -> None:
    site.plan()
    assert site.cluster.topics() == {}
    assert not site.project.state_path.exists()


def test_a_plan_that_is_not_approved_is_not_applied(site: ProjectHarness) -> None:
    done = site.apply(approve=lambda _: False)
    assert (done.is_approved, done.outcomes) == (False, ())
    assert site.cluster.topics() == {}


def test_reading_takes_a_handful_of_requests_whatever_the_number_of_topics(
    site: ProjectHarness,
) -> None:
    """K4-03; peers 19-25 read topic by topic."""
    many = MAIN_TF.replace("{ orders = 3, payments = 6 }", '{ for n in range(300) : "t${n}" => 1 }')
    site.write(many.replace('kafka_topic.t["orders"].name', '"t1"'))
    site.apply()
    site.cluster.calls.clear()
    site.plan()
    assert len(site.cluster.calls) == 4


def test_what_changed_outside_is_drift_and_the_next_apply_undoes_it(site: ProjectHarness) -> None:
    site.apply()
    site.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "5"}, ())])
    site.cluster.seed([NewTopic("foreign", 1, 1)])
    found = detect_drift(site.project, site.ports)
    assert [(each.identity, each.attributes[0].after) for each in found.changes] == [
        ("orders", "5")
    ]
    assert (found.managed_counts, found.unmanaged) == (
        {"kafka_acl": 1, "kafka_topic": 2},
        {"kafka_acl": (), "kafka_topic": ("foreign",)},
    )
    site.apply()
    assert detect_drift(site.project, site.ports).changes == ()


def test_what_changed_outside_and_is_declared_then_is_no_drift_after_an_apply(
    site: ProjectHarness,
) -> None:
    """Terraform does so too: such an apply only updates the state."""
    site.apply()
    changed = [ConfigAlteration(each, {"retention.ms": "5"}, ()) for each in ("orders", "payments")]
    site.cluster.alter_topic_configs(changed)
    site.write(MAIN_TF.replace("86400000", "5"))
    assert len(detect_drift(site.project, site.ports).changes) == 2
    assert site.apply().outcomes == ()
    assert detect_drift(site.project, site.ports).changes == ()


def test_outputs_stay_as_they_were_where_not_every_change_was_made(site: ProjectHarness) -> None:
    """They would tell of a topic that is not there; the next apply updates them."""
    site.apply()
    before = site.apply().state.outputs
    site.write(MAIN_TF.replace("payments = 6", "payments = 6, refunds = 1"))
    site.cluster.refuse("POLICY_VIOLATION", on="refunds", call="create_topics")
    failed = site.apply()
    assert {each.status for each in failed.outcomes} == {OutcomeStatus.FAILED}
    assert failed.state.outputs == before
    site.cluster.clear_faults()
    assert site.apply().state.outputs["names"].value == ["orders", "payments", "refunds"]


def test_what_the_broker_would_refuse_is_told_by_the_plan_at_its_place(
    site: ProjectHarness,
) -> None:
    """K117-11, S18."""
    site.write(MAIN_TF.replace("replication_factor = 1", "replication_factor = 7"))
    found = site.plan().plan
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP241", "main.tf:4:1"),
        ("KP241", "main.tf:4:1"),
    ]
    assert "INVALID_REPLICATION_FACTOR" in found.diagnostics[0].detail
    assert site.apply().outcomes == ()
    assert site.cluster.topics() == {}


def test_counts_left_to_the_broker_are_shown_as_the_broker_fills_them(site: ProjectHarness) -> None:
    """K4-19."""
    site.write('provider "kafka" {}\nresource "kafka_topic" "t" { name = "t" }')
    (change,) = site.plan().plan.changes
    assert getattr(change.after, "partitions", None) == 1
    assert "partitions = 1 is the broker's default" in change.notes


def test_every_mistake_is_raised_at_once_before_the_cluster_is_asked(site: ProjectHarness) -> None:
    site.write(MAIN_TF + 'resource "kafka_topic" "bad" { name = "a/b" }\n')
    site.write('resource "kafka_acl" "bad" { resource_name = var.nope }', "more.tf")
    with pytest.raises(ConfigError) as raised:
        site.plan()
    assert {each.subject.file for each in raised.value.diagnostics if each.subject} == {
        "main.tf",
        "more.tf",
    }
    assert site.cluster.calls == []


def test_a_cluster_without_authorizer_still_has_its_topics_planned_and_applied(
    site: ProjectHarness,
) -> None:
    """K4-51."""
    site.cluster.disable_authorizer()
    done = site.apply()
    assert sorted(each.change.identity for each in done.outcomes) == ["orders", "payments"]
    assert list(done.plan_result.plan.unread) == ["kafka_acl"]
    assert not done.plan_result.plan.is_complete


def test_a_topic_that_vanishes_between_list_and_describe_is_simply_gone(
    site: ProjectHarness,
) -> None:
    """ns4kafka#707: the whole read fails there."""
    site.apply()
    site.cluster.run_before(
        "topic_configs", lambda: site.cluster.delete_topics([TopicRef("orders")])
    )
    changes = site.plan().plan.changes
    reasons = {str(each.identity): each.reason for each in changes}
    assert reasons["orders"] is Reason.DELETED_OUTSIDE


def test_the_state_of_another_cluster_is_refused(site: ProjectHarness) -> None:
    """K919-31."""
    site.apply()
    other = ProjectHarness(site.folder, MemoryCluster(cluster_id="b3RoZXItY2x1c3Rlci0wMQ"))
    with pytest.raises(WrongClusterError):
        other.plan()


def test_a_saved_plan_is_applied_as_it_was_reviewed(site: ProjectHarness) -> None:
    path = site.folder / "p.kplan"
    save_plan(site.plan(), path, site.ports.now())
    done = apply_saved(
        site.project,
        path,
        PlanOptions(),
        (site.ports, ApplyHandlers(lambda _: False, site.watcher)),
    )
    assert len(done.outcomes) == 3
    assert not site.plan().plan.has_changes


@pytest.mark.parametrize(
    ("given", "left"),
    [({"is_destroy": True}, []), ({"targets": ("kafka_acl.read",)}, ["names"])],
)
def test_outputs_become_what_a_saved_plan_said(
    site: ProjectHarness, given: dict[str, Any], left: list[str]
) -> None:
    site.apply()
    site.write(NEXT + 'output "more" { value = 1 }')
    path = site.folder / "p.kplan"
    save_plan(site.plan(**given), path, site.ports.now())
    hands = ApplyHandlers(lambda _: True, site.watcher)
    done = apply_saved(site.project, path, PlanOptions(), (site.ports, hands))
    assert list(done.state.outputs) == left


@pytest.mark.parametrize("moved", ["configuration", "state", "cluster"])
def test_a_saved_plan_is_refused_when_what_it_stands_on_moved(
    site: ProjectHarness, moved: str
) -> None:
    path = site.folder / "p.kplan"
    site.apply()
    site.write(MAIN_TF.replace("86400000", "3600000"))
    save_plan(site.plan(), path, site.ports.now())
    if moved == "configuration":
        site.write(MAIN_TF)
    elif moved == "state":
        forget_objects(site.project, ("kafka_acl.read",), site.ports)
    else:
        site.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "7"}, ())])
    with pytest.raises(StalePlanError):
        apply_saved(
            site.project,
            path,
            PlanOptions(),
            (site.ports, ApplyHandlers(lambda _: True, site.watcher)),
        )


def test_destroy_deletes_what_is_owned_and_leaves_the_rest(site: ProjectHarness) -> None:
    site.apply()
    site.cluster.seed([NewTopic("foreign", 1, 1)])
    site.apply(is_destroy=True)
    assert list(site.cluster.topics()) == ["foreign"]
    assert list_owned_objects(site.project) == ()


def test_import_takes_over_an_object_that_differs_and_the_plan_then_changes_it(
    site: ProjectHarness,
) -> None:
    site.cluster.seed([NewTopic("orders", 3, 1)])
    owned = import_object(site.project, 'kafka_topic.t["orders"]', "orders", site.ports)
    assert owned.uid
    change = next(each for each in site.plan().plan.changes if each.identity == "orders")
    assert (change.action, change.reason) == (Action.UPDATE, Reason.NONE)


def test_import_of_what_is_hidden_does_not_call_it_absent(site: ProjectHarness) -> None:
    site.cluster.seed([NewTopic("orders", 3, 1)])
    site.cluster.hide_topic("orders")
    with pytest.raises(UsageError, match="whether it exists is unknown"):
        import_object(site.project, 'kafka_topic.t["orders"]', "orders", site.ports)


@pytest.mark.parametrize(
    ("address", "identity"),
    [
        ("kafka_topic.nope", "orders"),
        ('kafka_topic.t["orders"]', "absent"),
        ("not an address", "orders"),
    ],
)
def test_import_of_what_is_not_there_says_so(
    site: ProjectHarness, address: str, identity: str
) -> None:
    with pytest.raises(UsageError):
        import_object(site.project, address, identity, site.ports)


def test_an_object_is_let_go_of_and_stays_on_the_cluster(site: ProjectHarness) -> None:
    site.apply()
    forget_objects(site.project, ("kafka_topic.t",), site.ports)
    assert [each.address.kind for each in list_owned_objects(site.project)] == ["kafka_acl"]
    assert sorted(site.cluster.topics()) == ["orders", "payments"]


def test_an_object_gets_another_address(site: ProjectHarness) -> None:
    site.apply()
    move_objects(site.project, "kafka_acl.read", "kafka_acl.reader", site.ports)
    site.write(MAIN_TF.replace('"kafka_acl" "read"', '"kafka_acl" "reader"'))
    assert not site.plan().plan.has_changes
    with pytest.raises(UsageError):
        move_objects(site.project, "kafka_acl.read", "kafka_acl.other", site.ports)


def test_a_folder_without_any_file_is_an_error_and_never_means_delete_all(
    site: ProjectHarness,
) -> None:
    site.apply()
    (site.folder / "main.tf").unlink()
    with pytest.raises(ConfigError):
        site.plan()


def test_the_lock_is_held_while_an_apply_waits_for_approval(site: ProjectHarness) -> None:
    from kplan.model.errors import StateLockedError
    from kplan.state.lock_holder import current_holder

    def meanwhile(_: PlanResult) -> bool:
        ports = replace(site.ports, holder=current_holder("plan"), lock_timeout_s=0.0)
        with pytest.raises(StateLockedError):
            make_plan(site.project, PlanOptions(), ports)
        return True

    ports = replace(site.ports, holder=current_holder("apply"))
    apply(site.project, PlanOptions(), ports, ApplyHandlers(meanwhile, site.watcher))
    assert len(site.cluster.topics()) == 2
