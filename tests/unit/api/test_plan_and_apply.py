"""`kplan.plan` and `kplan.apply`: the same plans and outcomes as those of the command."""

import json
import logging
from datetime import timedelta
from threading import Event

import pytest

import kplan
from kplan.cli import wiring
from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.faults import Call
from kplan.state.lock import lock_state_file
from kplan.state.lock_holder import current_holder
from tests.project_harness import MAIN_TF
from tests.unit.api.conftest import Folder

NAMES = ['kafka_topic.t["orders"]', 'kafka_topic.t["payments"]', "kafka_acl.read"]


def test_a_plan_is_what_the_command_makes(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.path)
    monkeypatch.setattr(wiring, "_connect", lambda *_: folder.cluster)
    assert run(["apply", "-auto-approve"], {}) == 0  # a state gives both the same lineage
    folder.write(MAIN_TF.replace("86400000", "3600000"))
    capsys.readouterr()
    assert run(["plan", "-out=p.kplan"], {}) == 0
    text = capsys.readouterr().out
    assert run(["show", "-json", "p.kplan"], {}) == 0
    document = json.loads(capsys.readouterr().out)
    plan = kplan.plan(folder.load())
    assert {**plan.to_dict(), "timestamp": ""} == {**document, "timestamp": ""}
    assert plan.to_text() == text
    assert plan.checksum in text


def test_a_plan_has_typed_changes_and_counts(folder: Folder) -> None:
    plan = kplan.plan(folder.load())
    assert {str(each.address) for each in plan.changes} == set(NAMES)
    assert {each.action for each in plan.changes} == {kplan.Action.CREATE}
    assert (plan.to_add, plan.to_change, plan.to_destroy) == (3, 0, 0)
    assert plan.is_applyable
    assert plan.has_changes
    assert plan.is_complete
    assert not plan.has_errors
    assert plan.cluster_id == folder.cluster.describe().cluster_id


def test_applying_gives_every_outcome_and_the_outputs(folder: Folder) -> None:
    heard: list[kplan.Outcome] = []
    plan = kplan.plan(folder.load())
    result = kplan.apply(plan, on_outcome=heard.append)
    assert sorted(str(each.change.address) for each in heard) == sorted(NAMES)
    assert {each.change.key for each in heard} == {each.change.key for each in result.outcomes}
    assert result.is_complete
    assert result.is_verified
    assert result.outputs == {"names": ["orders", "payments"]}
    assert set(folder.cluster.topics()) == {"orders", "payments"}
    after = kplan.plan(folder.load())
    assert not after.has_changes
    assert {each.action for each in after.changes} == {kplan.Action.NO_OP}


def test_nothing_is_printed_and_nothing_exits(
    folder: Folder, capfd: pytest.CaptureFixture[str]
) -> None:
    project = folder.load()
    kplan.apply(kplan.plan(project))
    kplan.drift(project)
    logging.getLogger("kplan.wait").warning("Broker 1 does not answer")
    assert capfd.readouterr() == ("", "")


def test_a_plan_is_applied_once(folder: Folder) -> None:
    plan = kplan.plan(folder.load())
    kplan.apply(plan)
    with pytest.raises(kplan.StalePlanError, match="applied already"):
        kplan.apply(plan)


def test_a_plan_is_refused_where_the_cluster_changed_since(folder: Folder) -> None:
    kplan.apply(kplan.plan(folder.load()))
    folder.write(MAIN_TF.replace("86400000", "3600000"))
    plan = kplan.plan(folder.load())
    ours = next(each for each in plan.changes if str(each.address) == NAMES[0])
    kplan.apply(kplan.plan(folder.load(), targets=[str(ours.address)]))
    with pytest.raises(kplan.StalePlanError):
        kplan.apply(plan)


def test_a_plan_with_errors_is_refused_with_them(folder: Folder) -> None:
    kplan.apply(kplan.plan(folder.load()))
    folder.write(MAIN_TF.replace("payments = 6", "payments = 2"))
    plan = kplan.plan(folder.load())
    assert plan.has_errors
    with pytest.raises(kplan.PlanRefusedError) as raised:
        kplan.apply(plan)
    assert {each.code for each in raised.value.diagnostics} == {
        each.code for each in plan.diagnostics if each.is_error
    }
    with pytest.raises(kplan.UsageError, match="cannot be saved"):
        plan.save(folder.path / "p.kplan")


def test_deletes_are_limited_as_they_are_for_the_command(folder: Folder) -> None:
    kplan.apply(kplan.plan(folder.load()))
    plan = kplan.plan(folder.load(), destroy=True, max_deletes=1)
    assert plan.has_errors
    assert kplan.apply(kplan.plan(folder.load(), destroy=True, max_deletes=3)).is_complete
    assert not folder.cluster.topics()


def test_arguments_that_are_no_addresses_or_codes_are_named(folder: Folder) -> None:
    project = folder.load()
    with pytest.raises(kplan.UsageError, match="'orders' is not a resource address"):
        kplan.plan(project, targets=["orders"])
    with pytest.raises(kplan.UsageError, match="KP999 is not a code"):
        kplan.plan(project, accept=["KP999"])
    with pytest.raises(kplan.UsageError, match="greater than 0"):
        kplan.apply(kplan.plan(project), deadline=timedelta(0))


def test_a_saved_plan_is_applied_by_its_checksum(folder: Folder) -> None:
    project, file = folder.load(), folder.path / "p.kplan"
    plan = kplan.plan(project)
    plan.save(file, key="k")
    with pytest.raises(kplan.StalePlanError, match="checksum"):
        kplan.apply_saved(project, file, checksum="0000-0000-0000-0000", key="k")
    with pytest.raises(kplan.KplanError, match="sign"):
        kplan.apply_saved(project, file, key="another")
    assert kplan.apply_saved(project, file, checksum=plan.checksum, key="k").is_complete


def test_a_plan_that_is_saved_knows_its_workspace_and_the_state_that_was_named(
    folder: Folder,
) -> None:
    file = folder.path / "p.kplan"
    kplan.plan(folder.load(workspace="prod")).save(file)
    with pytest.raises(kplan.StalePlanError, match='made in the workspace "prod"'):
        kplan.apply_saved(folder.load(), file)
    kplan.plan(folder.load(state="s.json")).save(file)
    with pytest.raises(kplan.StalePlanError, match="made for the state in"):
        kplan.apply_saved(folder.load(), file)


def test_a_plan_is_rendered_in_the_formats_of_reports(folder: Folder) -> None:
    plan = kplan.plan(folder.load())
    assert "3 to add" in plan.render("markdown")
    assert plan.render("html").startswith("<!doctype html>")
    with pytest.raises(kplan.UsageError, match="'pdf' is not one of text"):
        plan.render("pdf")


def test_progress_has_stages_and_counts(folder: Folder) -> None:
    heard: list[kplan.Progress] = []
    kplan.apply(kplan.plan(folder.load(), on_progress=heard.append), on_progress=heard.append)
    stages = list(dict.fromkeys(each.stage for each in heard))
    assert stages[:6] == [
        "Reading configuration",
        "Acquiring the state lock",
        "Reading the state",
        "Connecting",
        "Reading the cluster",
        "Planning",
    ]
    assert stages[-4:] == [
        "Writing the journal",
        "Applying",
        "Waiting until every broker serves the changes",
        "Writing the state",
    ]
    applied = [each for each in heard if each.stage == "Applying"]
    assert (applied[0].done, applied[-1].done, applied[-1].total) == (0, 3, 3)


def test_who_waits_for_a_lock_hears_what_is_waited_for_and_who_has_it(folder: Folder) -> None:
    heard: list[kplan.Progress] = []
    project, holder = folder.load(), current_holder("apply")
    with (
        lock_state_file(folder.path / "state" / "kplan.json", holder, 0, lambda _: None),
        pytest.raises(kplan.StateError),
    ):
        kplan.plan(project, on_progress=heard.append, lock_timeout=timedelta(seconds=1))
    assert heard[-1].stage == "Waiting for the state lock"
    assert f"held by {holder}" in heard[-1].note


def test_who_takes_no_lock_does_not_hear_of_one(folder: Folder) -> None:
    heard: list[kplan.Progress] = []
    kplan.plan(folder.load(), on_progress=heard.append, lock=False)
    assert [each.stage for each in heard][:2] == ["Reading configuration", "Reading the state"]


TWO_CLUSTERS = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
provider "kafka" {
  alias             = "west"
  bootstrap_servers = ["127.0.0.1:2"]
}
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_topic" "b" {
  for_each           = toset(["b", "c"])
  provider           = kafka.west
  name               = each.key
  partitions         = 1
  replication_factor = 1
}
"""


def test_progress_of_each_cluster_has_its_own_counts(folder: Folder) -> None:
    folder.write(TWO_CLUSTERS)
    clusters = [MemoryCluster(), MemoryCluster(cluster_id="west")]
    heard: list[kplan.Progress] = []
    project = kplan.load(folder.path, connect=lambda key: clusters[bool(key)])
    kplan.apply(kplan.plan(project), on_progress=heard.append)
    last = {(each.stage, each.total): each.done for each in heard if each.total}
    assert last == {
        (stage, count): count
        for stage in ("Applying", "Waiting until every broker serves the changes")
        for count in (1, 2)
    }


def test_an_outcome_that_was_held_back_is_no_progress_of_the_next_cluster(folder: Folder) -> None:
    folder.write(TWO_CLUSTERS)
    clusters = [MemoryCluster(), MemoryCluster(cluster_id="west")]
    clusters[0].time_out(call="create_topics")  # who owns the topic is found out at the end
    heard: list[kplan.Progress] = []
    project = kplan.load(folder.path, connect=lambda key: clusters[bool(key)])
    result = kplan.apply(kplan.plan(project), on_progress=heard.append, wait=False)
    assert result.is_complete
    last = {(each.stage, each.total): each.done for each in heard if each.total}
    assert last == {("Applying", 1): 0, ("Applying", 2): 2}


def test_a_cancelled_call_ends_before_anything_is_changed(folder: Folder) -> None:
    cancel = Event()

    def stop(progress: kplan.Progress) -> None:
        if progress.stage == "Connecting":
            cancel.set()

    project = folder.load()
    with pytest.raises(kplan.RunInterruptedError, match="before anything was changed"):
        kplan.plan(project, on_progress=stop, cancel=cancel)
    plan = kplan.plan(project)
    with pytest.raises(kplan.RunInterruptedError):
        kplan.apply(plan, cancel=cancel)
    assert not folder.cluster.topics()
    assert kplan.apply(plan).is_complete


def test_a_cancelled_apply_settles_what_is_in_flight_and_is_resumed(folder: Folder) -> None:
    cancel = Event()
    project = folder.load()
    result = kplan.apply(kplan.plan(project), on_outcome=lambda _: cancel.set(), cancel=cancel)
    statuses = {str(each.change.address): each.status for each in result.outcomes}
    assert set(statuses.values()) == {kplan.OutcomeStatus.APPLIED, kplan.OutcomeStatus.SKIPPED}
    assert result.is_resumable
    assert not result.is_complete
    assert len(result.failures) == list(statuses.values()).count(kplan.OutcomeStatus.SKIPPED)
    done = kplan.resume(project)
    assert done.is_complete
    assert sorted(str(each.change.address) for each in done.outcomes) == sorted(NAMES)
    with pytest.raises(kplan.UsageError, match="nothing to resume"):
        kplan.resume(project)


def test_what_a_callback_raises_is_raised_once_the_state_is_written(folder: Folder) -> None:
    def fail(outcome: kplan.Outcome) -> None:
        raise LookupError(str(outcome.change.address))

    project = folder.load()
    with pytest.raises(LookupError):
        kplan.apply(kplan.plan(project), on_outcome=fail)
    state = json.loads((folder.path / "state" / "kplan.json").read_text())
    live = {*folder.cluster.topics(), *map(str, folder.cluster.acls())}
    assert len(live) == len(state["resources"]) > 0
    assert kplan.apply(kplan.plan(project)).is_complete


def test_a_refused_change_does_not_raise(folder: Folder) -> None:
    folder.cluster.deny_operation("CREATE", "TOPIC", "payments")
    project = folder.load()
    plan = kplan.plan(project, validate_on_brokers=False)
    result = kplan.apply(plan)
    (failed,) = result.failures
    assert str(failed.change.address) == 'kafka_topic.t["payments"]'
    assert failed.refusal is not None
    assert failed.refusal.error == "TOPIC_AUTHORIZATION_FAILED"
    assert not result.is_complete
    assert Call("create_topics", ("orders", "payments")) in folder.cluster.calls


def test_a_held_lock_is_an_error_of_its_own(folder: Folder) -> None:
    project = folder.load()

    def plan_again(progress: kplan.Progress) -> None:
        if progress.stage == "Planning":
            kplan.plan(project)

    with pytest.raises(kplan.StateLockedError):
        kplan.plan(project, on_progress=plan_again)
    assert kplan.plan(project, lock=False).is_applyable
