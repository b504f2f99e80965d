"""The use cases where the state is kept on the cluster: nothing about them is different."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import MemoryRecords
from kplan.cluster.request import TopicRef
from kplan.model.address import Address
from kplan.model.errors import StateError, StateLockedError, UsageError
from kplan.state.lock_holder import current_holder
from kplan.state.record_store import RecordSink, RecordStore
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.plan.plan import PlanResult
from kplan.workflow.ports import PlanOptions, Ports, Project
from kplan.workflow.state.forget import forget_objects
from kplan.workflow.state.move import move_objects
from kplan.workflow.state.rebuild import rebuild_state
from kplan.workflow.state.state import (
    list_owned_objects,
    migrate_state,
    pull_state,
    push_state,
    restore_state,
    verify_state,
)
from tests.project_harness import MAIN_TF, Killed, ProjectHarness

NEXT = (
    MAIN_TF.replace('"Read"', '"Write"').replace("86400000", "3600000").replace("payments = 6", "")
)
CALLS = ("create_acls", "create_topics", "delete_acls", "delete_topics", "alter_topic_configs")


@dataclass(slots=True)
class RemoteSite(ProjectHarness):
    """A site whose runs share nothing but the cluster."""

    records: MemoryRecords = field(default_factory=MemoryRecords)

    @property
    def project(self) -> Project:
        store = RecordStore(self.records.connect())
        return replace(
            ProjectHarness(self.folder, self.cluster).project, remote_store=lambda: store
        )

    @property
    def ports(self) -> Ports:
        return replace(
            ProjectHarness(self.folder, self.cluster).ports, holder=current_holder("apply")
        )

    def owned(self) -> list[str]:
        return [str(each.address) for each in list_owned_objects(self.project)]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemoteSite:
    monkeypatch.chdir(tmp_path)  # a state that cannot be written would be left here
    found = RemoteSite(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    return found


ALL = ["kafka_acl.read", 'kafka_topic.t["orders"]', 'kafka_topic.t["payments"]']


def test_the_main_job_leaves_nothing_on_the_disk(site: RemoteSite) -> None:
    assert len(site.plan().plan.changes) == 3
    assert site.records.peek() is None  # a plan leaves nothing on the cluster either
    site.apply()
    assert not site.plan().plan.has_changes
    assert site.owned() == ALL
    site.write(NEXT)
    site.apply()
    assert site.owned() == ALL[:2]
    site.apply(is_destroy=True)
    assert site.owned() == []
    assert [each.name for each in site.folder.iterdir()] == ["main.tf"]
    left = {name.partition("/")[0] for name in site.records.peek() or ()}
    assert left == {"state", "states"}


def test_an_interrupt_before_the_first_request_leaves_no_journal(
    site: RemoteSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: RecordSink) -> None:
        assert "journal/000000" in (site.records.peek() or {})
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RecordSink, "sync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            site.apply()
    assert not site.project.store.has_journal()
    assert not site.cluster.topics()
    site.apply()
    assert site.owned() == ALL


def test_every_use_case_on_the_state_works_there(site: RemoteSite) -> None:
    site.apply()
    move_objects(site.project, ALL[0], "kafka_acl.other", site.ports)
    forget_objects(site.project, ("kafka_topic.t",), site.ports)
    assert site.owned() == ["kafka_acl.other"]
    restore_state(site.project, 1, site.ports)
    assert site.owned() == ALL
    document = pull_state(site.project)
    push_state(site.project, Path("-"), document, site.ports, is_forced=True)
    assert [each.serial for each in site.project.store.list_versions()] == [1, 2, 3, 4, 5]
    site.cluster.delete_topics([TopicRef("orders")])
    standings = verify_state(site.project, site.ports).statuses
    assert standings[Address("kafka_topic", "t", "orders")] == "gone"


def test_a_damaged_state_is_made_anew(site: RemoteSite) -> None:
    site.apply()
    assert site.records.log.records is not None
    del site.records.log.records["states/0000000001/0000"]
    with pytest.raises(StateError, match="1 of the 1 parts of serial 1 are missing"):
        site.plan()
    assert rebuild_state(site.project, site.ports, lambda _: True)
    assert site.owned() == ALL


@pytest.mark.parametrize("call", CALLS)
def test_an_apply_killed_at_any_request_is_resumed_to_the_goal(site: RemoteSite, call: str) -> None:
    if call.startswith(("delete", "alter")):
        site.apply()
        site.write(NEXT)

    def strike() -> None:
        raise Killed

    def approve(_: PlanResult) -> bool:
        site.cluster.run_before(call, strike)
        return True

    with pytest.raises(Killed):
        site.apply(approve)
    site.cluster.clear_faults()
    assert site.project.store.has_journal()
    with pytest.raises(StateError, match="interrupted"):
        move_objects(site.project, "kafka_acl.read", "kafka_acl.other", site.ports)
    resume_apply(
        site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: False, site.watcher)
    )
    assert not site.plan().plan.has_changes
    assert not site.project.store.has_journal()


def test_a_run_whose_lock_is_taken_away_stops_before_its_next_request(site: RemoteSite) -> None:
    def approve(_: PlanResult) -> bool:
        site.cluster.run_before("create_topics", steal)
        return True

    def steal() -> None:
        thief = RecordStore(site.records.connect())
        holder = thief.lock_status().holder
        assert holder is not None
        thief.force_unlock(holder.id)

    with pytest.raises(StateLockedError, match="This run lost its lock"):
        site.apply(approve)
    assert len(site.cluster.topics()) == 2  # what was in flight; it is in the journal
    resume_apply(
        site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: False, site.watcher)
    )
    assert site.owned() == ALL


# ---- from the file to the cluster, and back


def test_a_state_that_is_still_in_the_file_is_not_overlooked(site: RemoteSite) -> None:
    """A block was added and nothing moved: to begin anew would give everything up."""
    local = ProjectHarness(site.folder, site.cluster)
    local.apply()
    for use in (site.plan, site.apply, site.owned):
        with pytest.raises(StateError, match="still in") as told:
            use()
        assert told.value.hint == "Move it there: kplan state migrate -to kafka"


def test_a_state_moves_both_ways_and_stays_what_it_is(site: RemoteSite) -> None:
    local = ProjectHarness(site.folder, site.cluster)
    local.apply()
    document = local.project.state_path.read_bytes()
    done = migrate_state(local.project.store, site.project.store, site.ports)
    assert (done.state.serial, len(done.state.owned)) == (1, 3)
    assert pull_state(site.project) == document
    assert not site.plan().plan.has_changes
    with pytest.raises(StateError, match="moved to the topic __kplan_state") as told:
        local.plan()
    assert "state block" in told.value.hint
    site.write(NEXT)
    site.apply()
    later = pull_state(site.project)
    migrate_state(site.project.store, local.project.store, site.ports)
    assert local.project.state_path.read_bytes() == later
    assert not local.plan().plan.has_changes
    with pytest.raises(StateError, match="moved to"):
        site.plan()
    assert [each.serial for each in local.project.store.list_versions()] == [1, 2]


def test_a_move_that_was_killed_is_finished_by_moving_again(site: RemoteSite) -> None:
    local = ProjectHarness(site.folder, site.cluster)
    local.apply()
    document = local.project.store.read_document()
    assert document is not None
    site.project.store.write_document(document)
    migrate_state(local.project.store, site.project.store, site.ports)
    assert pull_state(site.project) == document


def test_what_was_moved_already_is_left_as_it_is(site: RemoteSite) -> None:
    """A pipeline that moves it in every run does not fail in the second."""
    local = ProjectHarness(site.folder, site.cluster)
    local.apply()
    moves = (local.project.store, site.project.store), (site.project.store, local.project.store)
    for source, target in moves:
        first = migrate_state(source, target, site.ports)
        assert migrate_state(source, target, site.ports) == first
        assert target.read_document() is not None
        assert source.read_move_note() == target.location


def test_a_state_whose_new_place_is_empty_is_not_said_to_have_moved(site: RemoteSite) -> None:
    local = ProjectHarness(site.folder, site.cluster)
    local.apply()
    local.project.store.write_move_note(site.project.store.location)
    with pytest.raises(StateError, match="was moved to"):
        migrate_state(local.project.store, site.project.store, site.ports)


def test_only_a_whole_state_without_a_journal_moves_and_never_over_another(
    site: RemoteSite, tmp_path: Path
) -> None:
    local = ProjectHarness(site.folder, site.cluster)
    with pytest.raises(UsageError, match="no state in"):
        migrate_state(local.project.store, site.project.store, site.ports)
    local.apply()
    other = RemoteSite(tmp_path, MemoryCluster())
    other.project.store.write_document(local.project.store.read_document() or b"")
    foreign = ProjectHarness(tmp_path / "foreign", MemoryCluster())
    foreign.folder.mkdir()
    foreign.write(MAIN_TF)
    foreign.apply()
    with pytest.raises(StateError, match="holds another state"):
        migrate_state(foreign.project.store, other.project.store, site.ports)
    assert foreign.project.store.read() is not None
    with local.project.store.open_journal(local.plan().plan):
        pass
    with pytest.raises(StateError, match="interrupted"):
        migrate_state(local.project.store, site.project.store, site.ports)


def test_a_job_does_not_move_the_state_to_a_file_that_is_lost_with_it(site: RemoteSite) -> None:
    """The place it was in is marked as moved: no later job would find a state."""
    site.apply()
    local, job = ProjectHarness(site.folder, site.cluster), replace(site.ports, ci={"name": "ci"})
    with pytest.raises(StateError, match="git does not track: it is lost with this CI job"):
        migrate_state(site.project.store, local.project.store, job)
    assert site.project.store.read_move_note() == ""
    assert not local.project.state_path.exists()
    assert site.owned() == ALL
    migrate_state(site.project.store, local.project.store, job, is_file_named=True)
    assert local.project.file_store.read_document() is not None
