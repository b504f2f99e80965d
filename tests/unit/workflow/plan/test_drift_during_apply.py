"""`drift` locks nothing: it is answered while others apply, and their changes are no drift."""

from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration
from kplan.model.outcome import OutcomeStatus
from kplan.state.file_store import FileStore
from kplan.state.journal import Journal
from kplan.state.lock_holder import current_holder
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.plan.drift import DriftResult, detect_drift
from kplan.workflow.plan.plan import PlanResult
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.forget import forget_objects
from tests.project_harness import MAIN_TF, Killed, ProjectHarness, SilentProgress

NEW = 'resource "kafka_topic" "new" {\n  name = "new"\n  partitions = 1\n}\n'
OLD = NEW.replace("new", "old")
NEXT = MAIN_TF.replace('"Read"', '"Write"').replace("86400000", "3600000") + NEW


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF + OLD)
    found.apply()
    return found


def notes(progress: object) -> list[str]:
    assert isinstance(progress, SilentProgress)
    return progress.notes


@pytest.mark.parametrize(
    "call", ["delete_acls", "create_acls", "create_topics", "alter_topic_configs", "delete_topics"]
)
def test_drift_is_answered_while_an_apply_runs(site: ProjectHarness, call: str) -> None:
    site.write(NEXT)
    seen: list[DriftResult] = []
    running = replace(site.ports, holder=current_holder("apply"))
    watching = replace(site.ports, holder=current_holder("drift"))

    def approve(_: PlanResult) -> bool:
        site.cluster.run_before(call, lambda: seen.append(detect_drift(site.project, watching)))
        return True

    hands = ApplyHandlers(approve, site.watcher)
    done = apply(site.project, PlanOptions(), running, hands)
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    (found,) = seen
    assert found.changes == ()
    assert found.unmanaged.get("kafka_topic", ()) == ()
    told = notes(watching.progress)
    assert told == ["An apply has not ended. The 5 objects that it changes: not compared."]


def test_drift_of_what_a_running_apply_leaves_alone_is_shown(site: ProjectHarness) -> None:
    site.write(MAIN_TF + OLD + NEW)
    seen: list[DriftResult] = []

    def look() -> None:
        site.cluster.connect_as().alter_topic_configs(
            [ConfigAlteration("orders", {"retention.ms": "5"})]
        )
        seen.append(detect_drift(site.project, site.ports))

    site.cluster.run_before("create_topics", look)
    running = replace(site.ports, holder=current_holder("apply"))
    apply(site.project, PlanOptions(), running, ApplyHandlers(lambda _: True, site.watcher))
    ((change,),) = (each.changes for each in seen)
    assert str(change.identity) == "orders"


def test_what_was_written_meanwhile_is_compared_again(site: ProjectHarness) -> None:
    """An apply may begin and end while the cluster is read."""
    ports = site.ports
    site.write(NEXT)
    site.cluster.run_before("acls", site.apply)
    assert detect_drift(site.project, ports).changes == ()
    assert notes(ports.progress) == ["The state was written meanwhile. Comparing again."]
    forget_objects(site.project, ("kafka_acl.read",), ports)
    assert detect_drift(site.project, ports).changes == ()


def test_an_apply_that_begins_between_two_reads_is_no_damage(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One ends when drift has read the state, and the next one begins before it reads the journal.

    The journal is of a later state then. That is no reason to advise to move it away.
    """
    read_journal, reads = FileStore.read_journal, []

    def be_killed() -> None:
        raise Killed

    def read_later(store: FileStore) -> Journal | None:
        reads.append(store)
        if len(reads) == 1:
            site.write(MAIN_TF + OLD + NEW)
            site.apply()
            site.write(MAIN_TF + OLD + NEW + NEW.replace("new", "next"))
            site.cluster.run_before("create_topics", lambda: None)  # the dry run
            site.cluster.run_before("create_topics", be_killed)
            with pytest.raises(Killed):
                site.apply()
        return read_journal(store)

    monkeypatch.setattr(FileStore, "read_journal", read_later)
    assert detect_drift(site.project, site.ports).changes == ()
    assert len(reads) > 1
