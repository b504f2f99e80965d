"""One round of `kplan reconcile`: what is safe is applied, and what is not is left."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration
from kplan.model.errors import KplanError
from kplan.model.plan import Action, Risk
from kplan.workflow.apply.reconcile import Reconciliation, reconcile
from kplan.workflow.ports import PlanOptions
from tests.project_harness import MAIN_TF, ProjectHarness


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    return found


def round_of(site: ProjectHarness, *risks: Risk, **given: object) -> Reconciliation:
    options = PlanOptions(**given)  # type: ignore[arg-type]
    allowed = risks or (Risk.SAFE,)
    return reconcile(site.project, options, site.ports, site.watcher, frozenset(allowed))


def test_what_is_declared_and_absent_is_created_and_then_nothing_is_left(
    site: ProjectHarness,
) -> None:
    first = round_of(site)
    assert {each.change.action for each in first.outcomes} == {Action.CREATE}
    assert first.is_converged
    assert set(site.cluster.topics()) == {"orders", "payments"}
    second = round_of(site)
    assert second.is_converged
    assert second.outcomes == ()
    assert site.cluster.count("create_topics") == 1


def test_a_dangerous_change_is_left_and_does_not_stop_the_safe_ones(site: ProjectHarness) -> None:
    round_of(site)
    site.write(
        MAIN_TF.replace("payments = 6", "fresh = 2")  # deletes payments, creates fresh
    )
    found = round_of(site)
    assert [str(each.change.identity) for each in found.outcomes] == ["fresh"]
    assert [str(each.identity) for each in found.left] == ["payments"]
    assert found.left[0].action is Action.DELETE
    assert not found.is_converged
    assert {"payments", "fresh"} <= set(site.cluster.topics())
    again = round_of(site)
    assert again.outcomes == ()
    assert [str(each.identity) for each in again.left] == ["payments"]


def test_drift_that_is_safe_to_mend_is_mended(site: ProjectHarness) -> None:
    round_of(site)
    other = site.cluster.connect_as()
    other.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "60000"})])
    assert round_of(site).is_converged
    held = site.cluster.topic_configs(["orders"])["orders"]
    assert held["retention.ms"].value == "86400000"  # type: ignore[index]


def test_an_error_of_a_change_that_is_left_does_not_stop_the_rest(site: ProjectHarness) -> None:
    round_of(site)
    site.write(MAIN_TF.replace("payments = 6", "fresh = 2, more = 2"))
    found = round_of(site, max_deletes=0)
    assert any(each.is_error for each in found.plan.diagnostics)
    assert {str(each.change.identity) for each in found.outcomes} == {"fresh", "more"}
    assert {"orders", "payments"} <= set(site.cluster.topics())


def test_an_error_of_the_safe_part_sends_nothing(site: ProjectHarness) -> None:
    site.cluster.deny_operation("CREATE", "TOPIC", "payments")
    found = round_of(site)
    assert found.problems
    assert found.outcomes == ()
    assert not site.cluster.topics()


def test_a_round_that_cannot_read_is_not_converged(site: ProjectHarness) -> None:
    round_of(site)
    site.cluster.deny_operation("DESCRIBE", "CLUSTER")
    assert not round_of(site).is_converged


def test_a_creation_without_an_answer_that_is_left_stays_recorded(site: ProjectHarness) -> None:
    """Its password cannot be read, so that a person decides whether it is adopted."""

    def lose() -> None:
        site.cluster.time_out(call="alter_scram_users", times=None)
        site.cluster.time_out(call="scram_users", times=None)

    user = (
        'resource "kafka_user_scram_credential" "u" {\n  username = "u"\n'
        '  scram_mechanism = "SCRAM-SHA-256"\n  password = "p"\n}\n'
    )
    site.write(MAIN_TF + user)
    site.cluster.run_before("alter_scram_users", lose)
    site.apply()
    site.cluster.clear_faults()
    site.write(MAIN_TF.replace("payments = 6", "payments = 6, fresh = 2") + user)
    serials = []
    for sent in (["fresh"], [], [], []):
        found = round_of(site)
        state = site.project.store.read()
        assert state is not None
        serials.append(state.serial)
        assert [str(each.change.identity) for each in found.outcomes] == sent
        assert [str(each.identity) for each in found.left] == ["u|SCRAM-SHA-256"]
        journal = site.project.store.read_journal()
        assert journal is not None
        assert {each.identity for each in journal.changes} >= {"u|SCRAM-SHA-256"}
    assert len({*serials[1:]}) == 1, "rounds without anything to send write no state"
    site.apply()
    assert site.project.store.read_journal() is None
    assert not site.plan().plan.has_changes


def test_no_cluster_is_an_error(site: ProjectHarness) -> None:
    site.cluster.time_out(call="describe", times=1)
    with pytest.raises(KplanError):
        round_of(site)
