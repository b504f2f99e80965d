"""One configuration for several clusters: planned, applied and told cluster by cluster."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration, NewTopic, TopicRef
from kplan.model.errors import (
    AuthError,
    ConfigError,
    StateError,
    UnreachableError,
    UnsupportedError,
    WrongClusterError,
)
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from kplan.state.file import read_state
from kplan.workflow.adopt.import_ import import_object
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import StaleAction, apply_saved
from kplan.workflow.plan.drift import detect_drift
from kplan.workflow.plan.plan import make_plan, save_plan
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.rebuild import rebuild_state
from kplan.workflow.state.state import verify_state
from tests.project_harness import ProjectHarness

TWO = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
provider "kafka" {
  alias             = "west"
  bootstrap_servers = ["127.0.0.1:2"]
}
resource "kafka_topic" "here" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_topic" "there" {
  provider           = kafka.west
  name               = "orders"
  partitions         = 2
  replication_factor = 1
}
resource "kafka_acl" "there" {
  provider            = kafka.west
  resource_name       = kafka_topic.there.name
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
output "name" { value = kafka_topic.there.name }
"""

REGIONS = """
variable "regions" { default = { eu = 1, us = 2 } }
provider "kafka" {
  alias             = "by_region"
  for_each          = var.regions
  bootstrap_servers = ["127.0.0.1:${each.value}"]
}
resource "kafka_topic" "t" {
  for_each           = var.regions
  provider           = kafka.by_region[each.key]
  name               = "orders"
  partitions         = each.value
  replication_factor = 1
}
"""


class Down(MemoryCluster):
    """A cluster that does not answer."""

    def describe(self) -> object:  # type: ignore[override]
        raise UnreachableError("Nobody answers at 127.0.0.1:2.")


def test_a_cluster_that_cannot_even_be_connected_does_not_hold_up_the_others(
    site: ProjectHarness,
) -> None:
    def connect(_: object, key: str) -> MemoryCluster:
        if key:
            raise AuthError("No.")
        return site.cluster

    made = make_plan(site.project, PlanOptions(), replace(site.ports, connect=connect))
    assert {each.provider for each in made.plan.changes} == {""}
    assert made.plan.unread.keys() == {"kafka_acl on kafka.west", "kafka_topic on kafka.west"}


class Closing(MemoryCluster):
    """A cluster that notes when it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = Event()

    def close(self) -> None:
        self.closed.set()


@pytest.mark.parametrize("stop", [UnsupportedError("No."), KeyboardInterrupt()])
def test_a_cluster_is_closed_that_connects_while_another_ends_the_run(
    site: ProjectHarness, stop: BaseException
) -> None:
    """An error waits for it, an interrupt does not: then it closes what it opened too late."""
    connecting, has_left, late = Event(), Event(), Closing()
    waits = isinstance(stop, Exception)

    def connect(_: object, key: str) -> MemoryCluster:
        if not key:
            connecting.wait(10)
            raise stop
        connecting.set()
        has_left.wait(0.2 if waits else 10)
        return late

    with pytest.raises(type(stop)):
        make_plan(site.project, PlanOptions(), replace(site.ports, connect=connect))
    assert late.closed.is_set() == waits
    has_left.set()
    assert late.closed.wait(10)


def another(name: str = "west-cluster") -> MemoryCluster:
    return MemoryCluster(1, cluster_id=name)


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    """Give a folder with TWO, and the cluster of kafka.west."""
    found = ProjectHarness(tmp_path, MemoryCluster(), clusters={"west": another()})
    found.write(TWO)
    return found


def topics(cluster: MemoryCluster) -> dict[str, int]:
    return {name: len(each.assignment) for name, each in cluster.topics().items()}  # type: ignore[union-attr]


def owned(site: ProjectHarness) -> dict[str, str]:
    state = read_state(site.project.state_path)
    assert state is not None
    return {str(address): each.provider for address, each in state.owned.items()}


def test_each_cluster_gets_what_is_declared_for_it(site: ProjectHarness) -> None:
    done = site.apply()
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert topics(site.cluster) == {"orders": 1}
    assert topics(site.clusters["west"]) == {"orders": 2}
    assert site.cluster.acls() == frozenset()
    assert len(site.clusters["west"].acls()) == 1
    assert owned(site) == {
        "kafka_acl.there": "west",
        "kafka_topic.here": "",
        "kafka_topic.there": "west",
    }
    assert done.state.clusters == {"west": "west-cluster"}
    assert site.plan().plan.is_applyable is False
    assert not site.plan().plan.has_adoptions


def test_the_plan_says_which_cluster_is_meant(site: ProjectHarness) -> None:
    text = views.plan_text(site.plan().plan, PLAIN_STYLE)
    head = text.splitlines()[:2]
    assert head[0].startswith("Cluster kafka: bWVtb3J5LWNsdXN0ZXItMQ (Kafka 4.3) at ")
    assert head[1].startswith("Cluster kafka.west: west-cluster (Kafka 4.3) at ")
    assert "# kafka_topic.there will be created\n  # (on kafka.west)" in text
    assert "User:app on kafka.west" in text
    assert "Plan: 3 to add, 0 to change, 0 to destroy." in text


def test_batches_of_one_cluster_follow_those_of_another(site: ProjectHarness) -> None:
    plan = site.plan().plan
    assert [each.provider for each in plan.batches] == ["", "west", "west"]


def test_connections_with_for_each_are_clusters_too(tmp_path: Path) -> None:
    clusters = {f'by_region["{name}"]': another(name) for name in ("eu", "us")}
    site = ProjectHarness(tmp_path, MemoryCluster(), clusters=clusters)
    site.write(REGIONS)
    site.apply()
    assert [topics(each) for each in clusters.values()] == [{"orders": 1}, {"orders": 2}]
    assert site.cluster.calls == []
    assert site.plan().plan.is_applyable is False


def test_a_cluster_that_is_down_does_not_hold_up_the_others(site: ProjectHarness) -> None:
    """Design law 2: nothing is planned for it, and the run is incomplete."""
    up = site.clusters["west"]
    site.clusters["west"] = Down(1)
    done = site.apply()
    plan = done.plan_result.plan
    assert topics(site.cluster) == {"orders": 1}
    assert [str(each.change.address) for each in done.outcomes] == ["kafka_topic.here"]
    assert not plan.is_complete
    assert plan.unread.keys() == {"kafka_acl on kafka.west", "kafka_topic on kafka.west"}
    assert "Nobody answers at 127.0.0.1:2" in plan.unread["kafka_topic on kafka.west"]
    site.clusters["west"] = up
    assert [each.provider for each in site.apply().plan_result.plan.batches] == ["west", "west"]


def test_what_is_owned_on_a_cluster_that_is_down_stays_owned(site: ProjectHarness) -> None:
    site.apply()
    before = owned(site)
    site.clusters["west"] = Down(1)
    site.write(TWO.replace("partitions         = 1", "partitions         = 3"))
    done = site.apply()
    assert topics(site.cluster) == {"orders": 3}
    assert owned(site) == before
    assert done.state.clusters == {"west": "west-cluster"}
    assert detect_drift(site.project, site.ports).has_unread_owned


def test_no_cluster_at_all_is_an_error(site: ProjectHarness) -> None:
    site.cluster = Down(1)
    site.clusters["west"] = Down(1)
    with pytest.raises(UnreachableError):
        site.plan()


def test_two_connections_to_one_cluster_are_refused(site: ProjectHarness) -> None:
    site.clusters["west"] = site.cluster
    with pytest.raises(ConfigError) as told:
        site.plan()
    (problem,) = told.value.diagnostics
    assert problem.code == "KP307"
    assert str(problem.subject) == "main.tf:3:1"


def test_a_connection_that_leads_elsewhere_than_before_is_refused(site: ProjectHarness) -> None:
    site.apply()
    site.clusters["west"] = another("somewhere else")
    with pytest.raises(WrongClusterError, match=r"bootstrap address of kafka\.west"):
        site.plan()


def test_what_is_owned_follows_its_cluster_when_the_connection_is_renamed(
    site: ProjectHarness,
) -> None:
    site.apply()
    site.clusters["occident"] = site.clusters.pop("west")
    site.write(TWO.replace("west", "occident"))
    plan = site.plan().plan
    assert {each.action for each in plan.changes} == {Action.NO_OP}
    site.write(TWO.replace("west", "occident").replace("partitions         = 1", "partitions = 2"))
    state = site.apply().state
    assert state.clusters == {"occident": "west-cluster"}
    assert owned(site)["kafka_topic.there"] == "occident"


def test_a_connection_gets_an_alias_without_any_change(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.write("""
    provider "kafka" {}
    resource "kafka_topic" "t" {
      name               = "orders"
      partitions         = 1
      replication_factor = 1
    }
    """)
    site.apply()
    site.clusters = {"main": site.cluster}
    site.write("""
    provider "kafka" { alias = "main" }
    resource "kafka_topic" "t" {
      provider           = kafka.main
      name               = "orders"
      partitions         = 2
      replication_factor = 1
    }
    """)
    plan = site.plan().plan
    assert [each.action for each in plan.changes] == [Action.UPDATE]
    state = site.apply().state
    assert (state.cluster_id, dict(state.clusters)) == ("", {"main": "bWVtb3J5LWNsdXN0ZXItMQ"})


def test_an_object_goes_from_no_cluster_to_another(site: ProjectHarness) -> None:
    """Design law 6: it would be deleted here and created there, and lose its records."""
    site.apply()
    topic = TWO.replace('"there" {\n  provider           = kafka.west', '"there" {', 1)
    site.write(topic.replace('name               = "orders"', 'name = "others"', 1))
    problems = [each for each in site.plan().plan.diagnostics if each.code == "KP243"]
    assert [str(each.address) for each in problems] == ["kafka_topic.there"]
    assert "owned on kafka.west and declared on kafka" in problems[0].detail
    assert topics(site.clusters["west"]) == {"orders": 2}


def test_what_nobody_declares_any_more_is_deleted_where_it_is(site: ProjectHarness) -> None:
    site.apply()
    site.write(TWO[: TWO.index('resource "kafka_topic" "there"')])
    done = site.apply()
    assert {(each.change.action, each.change.provider) for each in done.outcomes} == {
        (Action.DELETE, "west")
    }
    assert topics(site.clusters["west"]) == {}
    assert topics(site.cluster) == {"orders": 1}


def test_a_connection_is_needed_as_long_as_something_is_owned_there(site: ProjectHarness) -> None:
    site.apply()
    block = TWO[TWO.index('provider "kafka" {\n') : TWO.index("resource")]
    site.write(TWO[: TWO.index('resource "kafka_topic" "there"')].replace(block, ""))
    with pytest.raises(StateError, match=r"owns 2 objects on kafka\.west"):
        site.plan()


def test_everything_is_destroyed_on_every_cluster(site: ProjectHarness) -> None:
    site.apply()
    site.apply(is_destroy=True)
    assert topics(site.cluster) == topics(site.clusters["west"]) == {}
    assert owned(site) == {}


def test_drift_and_verification_look_at_every_cluster(site: ProjectHarness) -> None:
    site.apply()
    west = site.clusters["west"]
    west.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "1"})])
    site.cluster.seed([NewTopic("foreign", 1, 1)])
    found = detect_drift(site.project, site.ports)
    assert [(str(each.address), each.provider) for each in found.changes] == [
        ("kafka_topic.there", "west")
    ]
    assert len(found.unmanaged["kafka_topic"]) == 1
    standings = verify_state(site.project, site.ports).statuses
    assert {str(key): each.value for key, each in standings.items()} == {
        "kafka_acl.there": "as last applied",
        "kafka_topic.here": "as last applied",
        "kafka_topic.there": "changed",
    }


def test_a_saved_plan_is_carried_out_on_the_clusters_it_was_made_for(
    site: ProjectHarness, tmp_path: Path
) -> None:
    file = tmp_path / "two.kplan"
    save_plan(site.plan(), file, site.ports.now())
    hands = ApplyHandlers(lambda _: False, site.watcher)
    west = site.clusters["west"]
    site.clusters["west"] = another("somewhere else")
    with pytest.raises(WrongClusterError, match=r"west-cluster behind kafka\.west"):
        apply_saved(site.project, file, PlanOptions(), (site.ports, hands))
    site.clusters["west"] = west
    done = apply_saved(site.project, file, PlanOptions(), (site.ports, hands))
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert topics(west) == {"orders": 2}


def test_a_saved_plan_leaves_out_what_is_stale_on_one_cluster(
    site: ProjectHarness, tmp_path: Path
) -> None:
    file = tmp_path / "two.kplan"
    save_plan(site.plan(), file, site.ports.now())
    site.clusters["west"].seed([NewTopic("orders", 7, 1)])
    hands = ApplyHandlers(lambda _: False, site.watcher)
    done = apply_saved(site.project, file, PlanOptions(), (site.ports, hands), StaleAction.SKIP)
    told = {(each.change.key[0], each.change.provider): each.status for each in done.outcomes}
    assert told == {
        ("kafka_topic", ""): OutcomeStatus.APPLIED,
        ("kafka_topic", "west"): OutcomeStatus.FAILED,
        ("kafka_acl", "west"): OutcomeStatus.APPLIED,
    }


def test_an_interrupted_apply_is_resumed_on_every_cluster(site: ProjectHarness) -> None:
    ports = replace(site.ports, is_stopped=lambda: bool(site.watcher.sent))
    done = apply(site.project, PlanOptions(), ports, ApplyHandlers(lambda _: True, site.watcher))
    assert done.is_resumable
    assert topics(site.clusters["west"]) == {}
    again = resume_apply(
        site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: True, site.watcher)
    )
    assert {each.status for each in again.outcomes} == {OutcomeStatus.APPLIED}
    assert topics(site.clusters["west"]) == {"orders": 2}
    assert len(owned(site)) == 3


def test_objects_are_imported_and_states_rebuilt_from_the_cluster_they_are_declared_on(
    site: ProjectHarness,
) -> None:
    site.cluster.seed([NewTopic("orders", 1, 1)])
    site.clusters["west"].seed([NewTopic("orders", 2, 1)])
    imported = import_object(site.project, "kafka_topic.there", "orders", site.ports)
    assert imported.provider == "west"
    state = read_state(site.project.state_path)
    assert state is not None
    assert state.clusters == {"west": "west-cluster"}
    site.project.state_path.unlink()
    assert rebuild_state(site.project, site.ports, lambda _: True)
    assert owned(site) == {"kafka_topic.here": "", "kafka_topic.there": "west"}
    live = site.clusters["west"].topics()["orders"]
    assert imported.uid == live.topic_id  # type: ignore[union-attr]
    site.clusters["west"].delete_topics([TopicRef("orders")])


def test_the_json_names_connections_as_terraform_does(site: ProjectHarness) -> None:
    found = json.loads(views.plan_json(site.plan().plan))
    keys = {
        each["address"]: each["provider_config_key"]
        for each in found["configuration"]["root_module"]["resources"]
    }
    assert keys == {
        "kafka_acl.there": "kafka.west",
        "kafka_topic.here": "kafka",
        "kafka_topic.there": "kafka.west",
    }
    assert found["configuration"]["provider_config"]["kafka.west"]["alias"] == "west"
    assert found["kplan"]["clusters"]["kafka.west"]["id"] == "west-cluster"


BROKERS = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_broker_config" "one" {
  broker_id = 1
  config    = { "log.cleaner.threads" = "2" }
}
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = COUNT
  replication_factor = 1
}
"""


def test_a_broker_that_is_down_does_not_hold_up_what_others_serve(tmp_path: Path) -> None:
    """Design law 2: nothing is planned for its config, and the run is incomplete."""
    site = ProjectHarness(tmp_path, MemoryCluster(3))
    site.write(BROKERS.replace("COUNT", "1"))
    site.apply()
    site.cluster.stop_brokers(1)
    site.write(BROKERS.replace("COUNT", "2"))
    plan = site.plan().plan
    assert plan.is_applyable
    assert not plan.is_complete
    assert [str(each.address) for each in plan.changes] == ["kafka_topic.t"]
    assert "Broker 1 does not answer" in plan.unread["kafka_broker_config/1"]
    assert [each.code for each in plan.diagnostics] == ["KP234"]
    site.write(BROKERS.replace("COUNT", "2").partition("resource")[0])
    gone = site.plan(is_destroy=True).plan
    assert [str(each.address) for each in gone.changes] == ["kafka_topic.t"]
    assert gone.unread.keys() == {"kafka_broker_config/1"}
    assert not site.plan(targets=("kafka_topic.t",)).plan.unread
    site.cluster.start_brokers()
    assert not site.plan(is_destroy=True).plan.unread


def test_what_a_broker_that_is_down_has_is_not_lost_with_its_address(tmp_path: Path) -> None:
    """The address would own the config of another broker, and no one that of this one."""
    site = ProjectHarness(tmp_path, MemoryCluster(3))
    text = BROKERS.replace("COUNT", "1")
    site.write(text)
    site.apply()
    site.cluster.stop_brokers(1)
    site.write(text.replace("broker_id = 1", "broker_id = 2"))
    plan = site.plan().plan
    (problem,) = (each for each in plan.diagnostics if each.is_error)
    assert problem.code == "KP233"
    assert "another address" in problem.hint
    assert "kplan state rm 'kafka_broker_config.one'" in problem.hint
    assert not plan.is_applyable
    narrow = site.plan(targets=("kafka_broker_config.one",)).plan
    assert [each.code for each in narrow.diagnostics if each.is_error] == ["KP233"]
    site.write(text)
    narrow = site.plan(targets=("kafka_broker_config.one",)).plan
    assert [each.code for each in narrow.diagnostics] == ["KP234"]


REMOVED = """
removed {
  from = kafka_broker_config.one
  lifecycle { destroy = false }
}
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = 1
  replication_factor = 1
}
"""


def test_what_a_broker_that_is_down_has_can_be_forgotten(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster(3))
    text = BROKERS.replace("COUNT", "1")
    site.write(text)
    site.apply()
    site.cluster.stop_brokers(1)
    site.write(text.partition("resource")[0] + REMOVED)
    plan = site.plan().plan
    actions = {str(each.address): each.action for each in plan.changes}
    assert actions["kafka_broker_config.one"] is Action.FORGET
    assert plan.is_complete
    assert not plan.diagnostics
    topic = next(each.key for each in plan.changes if each.kind == "kafka_topic")
    site.write(text)
    narrow = site.plan(only=frozenset({topic})).plan
    assert not narrow.unread
    assert not narrow.diagnostics
