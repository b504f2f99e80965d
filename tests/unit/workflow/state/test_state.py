"""The state as a file: pulled, pushed, restored, verified and made anew."""

from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration, TopicRef
from kplan.model.address import Address
from kplan.model.errors import StateCorruptError, StateError, UsageError, WrongClusterError
from kplan.model.state import ObjectStatus, State
from kplan.state.codec import decode_state, encode_state
from kplan.state.file import read_state
from kplan.state.history import list_backups
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.rebuild import RebuildProposal, rebuild_state
from kplan.workflow.state.state import (
    preview_restore,
    pull_state,
    push_state,
    restore_state,
    verify_state,
)
from tests.project_harness import MAIN_TF, ProjectHarness

ORDERS, PAYMENTS = (Address("kafka_topic", "t", key) for key in ("orders", "payments"))
READ = Address("kafka_acl", "read")


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    found.apply()
    return found


def held(site: ProjectHarness) -> State:
    found = read_state(site.project.state_path)
    assert found is not None
    return found


def pushed(site: ProjectHarness, state: State | bytes, *, is_forced: bool = False) -> State:
    data = state if isinstance(state, bytes) else encode_state(state, "1")
    return push_state(site.project, Path("p.json"), data, site.ports, is_forced=is_forced).state


# ---- pull and push


def test_what_is_pulled_can_be_pushed_where_nothing_is_yet(
    site: ProjectHarness, tmp_path: Path
) -> None:
    elsewhere = ProjectHarness(tmp_path / "other", site.cluster)
    assert pushed(elsewhere, pull_state(site.project)) == held(site)
    assert held(elsewhere) == held(site)


def test_pushing_what_is_there_writes_nothing(site: ProjectHarness) -> None:
    pushed(site, pull_state(site.project))
    assert list_backups(site.project.state_path) == ()


def test_only_a_whole_state_is_pulled(site: ProjectHarness, tmp_path: Path) -> None:
    site.project.state_path.write_bytes(pull_state(site.project)[:-20])
    with pytest.raises(StateCorruptError):
        pull_state(site.project)
    with pytest.raises(UsageError, match="There is no state yet"):
        pull_state(ProjectHarness(tmp_path / "other", site.cluster).project)


def test_a_later_state_is_taken_and_the_former_one_kept(site: ProjectHarness) -> None:
    later = replace(held(site), serial=9, owned={})
    pushed(site, later)
    assert held(site) == later
    assert [
        decode_state(each.read_bytes()).serial for each in list_backups(site.project.state_path)
    ] == [1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"serial": 0}, "not a later state: its serial is 0"),
        ({"owned": {}}, "not a later state: its serial is 1"),
        ({"lineage": "another", "serial": 9}, "its lineage is another"),
    ],
)
def test_what_is_no_later_state_is_refused_unless_it_is_forced(
    site: ProjectHarness, change: dict[str, object], told: str
) -> None:
    before = held(site)
    other = replace(before, **change)  # type: ignore[arg-type]
    with pytest.raises(StateError, match=told):
        pushed(site, other)
    assert held(site) == before
    after = pushed(site, other, is_forced=True)
    assert (after.lineage, after.serial) == (before.lineage, 2)
    assert held(site).owned == other.owned


def test_the_state_of_another_cluster_is_refused(site: ProjectHarness) -> None:
    with pytest.raises(WrongClusterError, match="It is about cluster other"):
        pushed(site, replace(held(site), serial=9, cluster_id="other"))


def test_a_damaged_file_is_never_pushed_and_a_damaged_state_is_replaced_by_force_only(
    site: ProjectHarness,
) -> None:
    good = pull_state(site.project)
    with pytest.raises(StateCorruptError, match=r"p\.json: "):
        pushed(site, good[:-9], is_forced=True)
    site.project.state_path.write_bytes(b"")
    with pytest.raises(StateCorruptError):
        pushed(site, good)
    assert pushed(site, good, is_forced=True).serial == 2
    assert site.plan().plan.batches == ()


# ---- restore


def test_an_earlier_state_becomes_the_newest_one(site: ProjectHarness) -> None:
    site.write(MAIN_TF.replace(", payments = 6", ""))
    site.apply()
    preview = preview_restore(site.project, 1)
    assert preview.differences.added == (PAYMENTS,)
    assert PAYMENTS not in held(site).owned
    found = restore_state(site.project, 1, site.ports)
    assert found == preview
    assert (held(site).serial, set(held(site).owned)) == (3, {ORDERS, PAYMENTS, READ})
    assert site.plan().plan.count() == 0


def test_a_damaged_state_is_restored_from_its_backup(site: ProjectHarness) -> None:
    site.write(MAIN_TF.replace("86400000", "3600000"))
    site.apply()
    site.project.state_path.write_bytes(b"{")
    restore_state(site.project, 1, site.ports)
    assert held(site).serial == 3
    assert site.plan().plan.batches == ()


# ---- verify


def test_after_an_apply_everything_is_as_applied(site: ProjectHarness) -> None:
    assert set(verify_state(site.project, site.ports).statuses.values()) == {
        ObjectStatus.AS_APPLIED
    }


def test_every_object_is_held_against_the_cluster(site: ProjectHarness) -> None:
    site.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "1"})])
    site.cluster.delete_topics([TopicRef("payments")])
    site.cluster.delete_acls(list(site.cluster.acls()))
    assert verify_state(site.project, site.ports).statuses == {
        ORDERS: ObjectStatus.CHANGED,
        PAYMENTS: ObjectStatus.GONE,
        READ: ObjectStatus.GONE,
    }


def test_what_cannot_be_seen_is_not_called_gone(site: ProjectHarness) -> None:
    """Design law 2."""
    site.cluster.hide_topic("orders")
    site.cluster.deny_operation("DESCRIBE", "CLUSTER")
    found = verify_state(site.project, site.ports).statuses
    assert found == {
        ORDERS: ObjectStatus.HIDDEN,
        PAYMENTS: ObjectStatus.AS_APPLIED,
        READ: ObjectStatus.UNREAD,
    }


def test_a_topic_of_the_same_name_is_not_the_same_topic(site: ProjectHarness) -> None:
    """K4-36."""
    site.cluster.delete_topics([TopicRef("payments")])
    site.write(MAIN_TF)
    (site.folder / "other").mkdir()
    other = ProjectHarness(site.folder / "other", site.cluster)
    other.write(MAIN_TF)
    other.apply()
    assert verify_state(site.project, site.ports).statuses[PAYMENTS] is ObjectStatus.RECREATED


# ---- rebuild


def rebuilt(site: ProjectHarness, *, is_approved: bool = True) -> tuple[RebuildProposal, bool]:
    seen: list[RebuildProposal] = []

    def approve(proposal: RebuildProposal) -> bool:
        seen.append(proposal)
        return is_approved

    written = rebuild_state(site.project, site.ports, approve)
    return seen[0], written


def test_a_lost_state_is_made_anew_from_what_is_declared_and_live(site: ProjectHarness) -> None:
    before = held(site)
    site.project.state_path.unlink()
    proposal, written = rebuilt(site)
    assert written
    assert held(site).owned == before.owned
    assert held(site).lineage != before.lineage
    assert (proposal.kept_count, proposal.missing) == (0, ())
    assert site.plan().plan.batches == ()
    assert site.cluster.count("create_topics") == 1


def test_what_a_lost_state_owned_and_is_hidden_is_told_and_not_called_absent(
    site: ProjectHarness,
) -> None:
    held(site)
    site.project.state_path.unlink()
    site.cluster.hide_topic("payments")
    proposal, _ = rebuilt(site)
    assert (proposal.missing, proposal.hidden) == ((), (PAYMENTS,))


def test_a_damaged_state_is_replaced_and_kept_beside(site: ProjectHarness) -> None:
    site.project.state_path.write_bytes(b"half of a sta")
    proposal, written = rebuilt(site)
    assert "not valid JSON" in proposal.read_error
    assert written
    assert not site.plan().plan.batches
    kept = site.project.state_path.parent / "backup" / site.project.state_path.name
    assert [each.read_bytes() for each in kept.iterdir()] == [b"half of a sta"]


def test_a_whole_state_is_only_added_to(site: ProjectHarness) -> None:
    before = held(site)
    without = {at: each for at, each in before.owned.items() if at != PAYMENTS}
    pushed(site, replace(before, serial=2, owned=without))
    proposal, written = rebuilt(site)
    assert [each.address for each in proposal.adopted] == [PAYMENTS]
    assert (proposal.kept_count, written) == (2, True)
    assert held(site).owned == before.owned
    assert (held(site).lineage, held(site).serial) == (before.lineage, 3)


def test_what_is_not_live_is_not_owned_and_what_is_not_declared_is_counted(
    site: ProjectHarness,
) -> None:
    site.project.state_path.unlink()
    site.write(MAIN_TF.replace("payments = 6", "late = 6"))
    proposal, _ = rebuilt(site)
    assert proposal.missing == (Address("kafka_topic", "t", "late"),)
    assert proposal.unmanaged["kafka_topic"] == 1
    assert set(held(site).owned) == {ORDERS, READ}


def test_what_differs_is_owned_as_it_is_and_then_planned(site: ProjectHarness) -> None:
    site.project.state_path.unlink()
    site.write(MAIN_TF.replace("86400000", "1"))
    rebuilt(site)
    made = site.plan().plan
    assert [str(each.address) for each in made.changes if each.touches_cluster] == [
        'kafka_topic.t["orders"]',
        'kafka_topic.t["payments"]',
    ]
    assert made.drift == ()


def test_nothing_is_written_without_approval(site: ProjectHarness) -> None:
    site.project.state_path.unlink()
    _, written = rebuilt(site, is_approved=False)
    assert not written
    assert not site.project.state_path.exists()


def test_the_journal_of_a_state_that_is_lost_goes_when_it_is_rebuilt(site: ProjectHarness) -> None:
    site.write(MAIN_TF.replace("orders = 3,", "orders = 3, late = 1,"))
    ports = replace(site.ports, is_stopped=lambda: len(site.watcher.sent) > 2)
    site.write(MAIN_TF.replace("orders = 3,", "orders = 3, late = 1,").replace('"Read"', '"Write"'))
    done = apply(site.project, PlanOptions(), ports, ApplyHandlers(lambda _: True, site.watcher))
    assert done.is_resumable
    site.project.state_path.write_bytes(b"")
    assert rebuilt(site)[1]
    site.apply()
    assert site.plan().plan.batches == ()
