"""Planning and applying at controllers, with the brokers left out (KIP-919)."""

import re
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ClusterDescription, ControllerAccess, NewTopic, TopicDescription
from kplan.cluster.settings import MissingApi, NodeVersions, QuotaEntity
from kplan.model.errors import (
    NotListableError,
    PolicyDeniedError,
    Refusal,
    UnreachableError,
    UnreadableError,
)
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.model.resource import Identity
from kplan.workflow.inspect.broker import read_broker_status
from kplan.workflow.threads import map_in_threads
from tests.project_harness import MAIN_TF, ProjectHarness

QUOTA = """
resource "kafka_quota" "q" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = "5" }
}
"""


class Controllers(MemoryCluster):
    """The cluster in memory as its controllers are: they tell and take less than brokers do."""

    is_allowed = True

    def describe(self) -> ClusterDescription:
        site = self._store.setup
        direct = ControllerAccess(site.brokers, 1, self.is_allowed, "ACLs and configs")
        return ClusterDescription(site.cluster_id, (), self._principal, "4.3", direct)

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        if names is None:
            raise NotListableError("A controller does not list topics.")
        found = super().topics(names, broker=broker)
        return {
            name: each if isinstance(each, Refusal) else TopicDescription(name, "", ())
            for name, each in found.items()
        }

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:  # noqa: ARG002
        raise UnreadableError("Controllers do not return quotas.")

    def missing_apis(self, methods: Collection[str]) -> Mapping[str, MissingApi]:
        return {
            name: MissingApi(name, (0, 0), None, "This takes a broker")
            for name in sorted(methods)
            if name not in {"create_acls", "delete_acls", "alter_topic_configs", "alter_configs"}
        }


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    """Apply MAIN through brokers, and ask controllers from then on."""
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF + QUOTA)
    found.apply()
    found.cluster = Controllers(store=found.cluster._store)
    return found


def codes(site: ProjectHarness) -> list[str]:
    return [each.code for each in site.plan().plan.diagnostics]


def test_nothing_is_to_be_done_where_nothing_changed_and_what_is_not_told_is_said(
    site: ProjectHarness,
) -> None:
    """K919-14, K919-16: quotas are not told, which stops nothing else."""
    plan = site.plan().plan
    assert {each.action for each in plan.changes} == {Action.NO_OP}
    assert plan.drift == ()
    assert plan.unread == {"kafka_quota": "Controllers do not return quotas."}
    assert sorted(codes(site)) == ["KP234", "KP245"]


def test_acls_and_configs_are_planned_and_applied_and_seen(site: ProjectHarness) -> None:
    """K919-13, K919-14, S24."""
    site.write(MAIN_TF.replace("86400000", "1000").replace('"Read"', '"Write"') + QUOTA)
    done = site.apply()
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert all(each.is_verified for each in done.outcomes)
    assert sorted(each.change.kind for each in done.outcomes) == [
        "kafka_acl",
        "kafka_topic",
        "kafka_topic",
    ]
    assert {each.operation for each in site.cluster.acls()} == {"WRITE"}
    assert not site.plan().plan.has_changes


def test_a_topic_keeps_the_id_that_its_owner_knows(site: ProjectHarness) -> None:
    """Controllers do not tell ids; a topic that is re-created later is still told from this one."""
    before = {each.identity: each.uid for each in site.plan().state.owned.values()}
    site.write(MAIN_TF.replace("86400000", "1000") + QUOTA)
    site.apply()
    assert {each.identity: each.uid for each in site.plan().state.owned.values()} == before
    assert before[Identity("orders")]


@pytest.mark.parametrize(
    ("change", "methods"),
    [
        (("orders = 3", "orders = 4"), ["create_partitions"]),
        (("payments = 6", "others = 6"), ["create_topics", "delete_topics"]),
    ],
)
def test_what_controllers_do_not_serve_is_refused_at_plan(
    site: ProjectHarness, change: tuple[str, str], methods: list[str]
) -> None:
    """K919-12, K919-23: nothing is half applied."""
    site.write(MAIN_TF.replace(*change).replace('"Read"', '"Write"') + QUOTA)
    plan = site.plan().plan
    refused = [each for each in plan.diagnostics if each.code == "KP229"]
    assert len(refused) == len(methods)
    assert all("takes a broker" in each.detail for each in refused)
    assert site.apply().outcomes == ()
    assert {each.operation for each in site.cluster.acls()} == {"READ"}


def test_the_layout_of_a_topic_that_is_not_owned_is_not_known(site: ProjectHarness) -> None:
    """K919-23: the topic is there, and nobody can tell how many partitions it has."""
    site.cluster.create_topics([NewTopic("legacy", 3, 1)])
    block = 'resource "kafka_topic" "l" {\n  name = "legacy"\n%s}\n'
    site.write(MAIN_TF + QUOTA + block % "  partitions = 3\n")
    assert "KP214" in codes(site)
    site.write(MAIN_TF + QUOTA + block % '  config = { "retention.ms" = "5" }\n')
    assert "KP214" not in codes(site)
    site.apply()
    held = site.cluster.topic_configs(["legacy"])["legacy"]
    assert not isinstance(held, Refusal)
    assert held["retention.ms"].value == "5"


def test_brokers_are_bypassed_and_all_controllers_are_named(site: ProjectHarness) -> None:
    """K919-03, K919-06, K919-09."""
    told = next(each for each in site.plan().plan.diagnostics if each.code == "KP245")
    assert "Active: 1 at " in told.detail
    assert "inactive: 2 at " in told.detail
    assert "ACLs and configs" in told.hint


def test_a_controller_that_is_down_is_not_told_as_one_that_is_inactive(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = site.cluster.versions

    def versions(*, broker: int | None = None) -> NodeVersions:
        if broker == 2:
            raise UnreachableError("Nobody answers.")
        return up(broker=broker)

    monkeypatch.setattr(site.cluster, "versions", versions)
    told = next(each for each in site.plan().plan.diagnostics if each.code == "KP245")
    assert "without an answer: 2 at " in told.detail
    assert "inactive: 2" not in told.detail


def test_controllers_are_asked_at_the_same_time_and_told_in_order(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each that does not answer costs its timeout."""
    together = threading.Barrier(2)

    def versions(*, broker: int | None = None) -> NodeVersions:
        together.wait(10)  # both are being asked, or this breaks
        raise UnreachableError(f"{broker} does not answer.")

    monkeypatch.setattr(site.cluster, "versions", versions)
    told = next(each for each in site.plan().plan.diagnostics if each.code == "KP245")
    assert re.search("; without an answer: 2 at [^,]+, 3 at ", told.detail)


def test_an_interrupt_does_not_wait_for_a_node_that_is_silent() -> None:
    asked, end, ended = threading.Event(), threading.Event(), threading.Event()

    def ask(node: int) -> None:
        if node == 1:
            asked.wait(10)
            raise KeyboardInterrupt
        asked.set()
        end.wait(10)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        map_in_threads(ask, [1, 2], [])
    assert not ended.is_set()
    end.set()
    assert ended.wait(10)


def test_an_error_closes_the_clusters_and_waits_for_what_was_asked() -> None:
    """So nothing goes on, or is printed, after the command has told the error."""
    asked, closed, ended = (threading.Event() for _ in range(3))

    class Waking(MemoryCluster):
        def close(self) -> None:
            closed.set()

    def ask(node: int) -> None:
        if node == 1:
            asked.wait(10)
            raise UnreachableError("No.")
        asked.set()
        if closed.wait(10):
            time.sleep(0.1)  # an answer that is on its way
            ended.set()

    with pytest.raises(UnreachableError):
        map_in_threads(ask, [1, 2], [Waking()])
    assert ended.is_set()


def test_a_thread_that_is_left_behind_ends_with_the_process() -> None:
    """Python itself waits for all others before it ends, in a script that uses the library too."""
    assert map_in_threads(lambda _: threading.current_thread().daemon, [1], []) == [True]


def test_changes_are_refused_unless_they_are_allowed(site: ProjectHarness) -> None:
    """K919-06: a plan may be made; without changes there is nothing to allow."""
    assert isinstance(site.cluster, Controllers)
    site.cluster.is_allowed = False
    assert "KP246" not in codes(site)
    site.write(MAIN_TF.replace('"Read"', '"Write"') + QUOTA)
    assert "KP246" in codes(site)
    assert site.apply().outcomes == ()
    assert {each.operation for each in site.cluster.acls()} == {"READ"}
    with pytest.raises(PolicyDeniedError, match="allow_direct"):
        read_broker_status(site.cluster, 2)
