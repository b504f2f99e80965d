"""What is told of a cluster of a fleet is what `kplan plan` and `kplan drift` tell of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, ConfigAlteration, NewTopic, TopicRef
from kplan.cluster.settings import (
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    QuotaAlteration,
    QuotaEntity,
)
from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.config.inputs import Inputs
from kplan.fleet.dataframe import unpack
from kplan.fleet.plan import plan_cluster
from kplan.fleet.reader import SnapshotSource, read_rows
from kplan.fleet.snapshot import Row
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import UnsupportedError
from kplan.model.plan import Action, Change
from kplan.workflow.fleet.desired import load_desired, load_desired_names
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.plan.drift import detect_drift
from tests.project_harness import ProjectHarness, SilentProgress

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
EVERY_KIND = """
variable "pass" {
  default   = "long enough to be one"
  sensitive = true
}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 1
  config             = { "retention.ms" = "86400000" }
}
resource "kafka_topic" "shown" {
  name               = "shown"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_acl" "read" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_quota" "app" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = 1048576 }
}
resource "kafka_broker_config" "all" {
  config = { "background.threads" = 12 }
}
resource "kafka_broker_config" "one" {
  broker_id = 1
  config    = { "background.threads" = 14 }

  sensitive_config = { "listener.name.tls.ssl.keystore.password" = var.pass }
}
resource "kafka_group_config" "reports" {
  group_id = "reports"
  config   = { "consumer.session.timeout.ms" = 50000 }
}
resource "kafka_client_metrics" "consumers" {
  name   = "consumers"
  config = { "interval.ms" = 60000, "metrics" = "org.apache.kafka.consumer." }
}
resource "kafka_feature" "group" {
  name  = "group.version"
  level = 1
}
resource "kafka_feature" "off" {
  name  = "eligible.leader.replicas.version"
  level = 0
}
resource "kafka_user_scram_credential" "app" {
  username            = "app"
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 8192
  password_wo         = var.pass
  password_wo_version = 1
}
"""
APP = QuotaEntity(user="app")
SECRET = "long enough to be one"
READ = AclBinding("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW")


class FleetQuiet(SilentProgress):
    """A progress that nobody looks at, of tasks as well."""

    def tasks(self, done: int, total: int) -> None:
        """Hear it."""


class OlderCluster(MemoryCluster):
    """One that cannot list what has configs of its own (before KIP-1142)."""

    def config_names(self, scope: ConfigScope) -> None:
        """Tell nothing."""
        del scope


def site(folder: Path, cluster: MemoryCluster | None = None) -> ProjectHarness:
    made = ProjectHarness(folder, cluster or MemoryCluster())
    made.write(PROVIDER + EVERY_KIND)
    return made


def fleet(found: ProjectHarness) -> tuple[FleetConfiguration, FleetOptions, FleetPorts]:
    place = SourceRange("fleet.hcl", 1, 1, 1, 1)
    cluster = FleetCluster(
        "eu",
        place,
        configuration=found.folder,
        state=found.project.state_path,
        has_own_state=True,
    )
    ports = FleetPorts(
        lambda _: (None, ()), lambda *_: None, lambda _: {}, FleetQuiet(), found.ports.now
    )
    return FleetConfiguration(found.folder, (cluster,)), FleetOptions(found.folder, Inputs()), ports


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one cluster where Spark's are asked for."""

    held: Sequence[Row]

    def __getitem__(self, name: str) -> str:
        """Name a column."""
        return name

    def where(self, _: object) -> "Rows":
        """Keep all of them."""
        return self

    def select(self, *_: str) -> "Rows":
        """Keep all columns."""
        return self

    def toLocalIterator(self) -> Iterator[Row]:  # noqa: N802 - Spark's word
        """Give them."""
        return iter(self.held)


def taken(found: ProjectHarness) -> Sequence[Row]:
    """Take a run."""
    asked = load_desired_names(*fleet(found))
    return read_rows(
        SnapshotSource("eu", {}, lambda: found.cluster, expected_names=asked.get("eu", {}))
    )


def told(found: ProjectHarness, rows: Sequence[Row]) -> list[dict[str, Any]]:
    wanted = load_desired(*fleet(found), None)  # type: ignore[arg-type] # for data only
    return plan_cluster(rows, unpack(wanted.for_cluster("eu")))


def of(sort: str, rows: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    names = ("action", "address", "identity", "reason", "risk")
    return sorted(tuple(each[name] for name in names) for each in rows if each["finding"] == sort)


def same(changes: Sequence[Change]) -> list[tuple[str, ...]]:
    return sorted(
        (e.action.value, str(e.address), str(e.identity), e.reason.value, e.risk.value)
        for e in changes
        if e.action is not Action.NO_OP
    )


def retuned(cluster: MemoryCluster) -> None:
    cluster.alter_topic_configs([ConfigAlteration("orders", set={"retention.ms": "5"})])


def emptied(cluster: MemoryCluster) -> None:
    group = ConfigResource(ConfigScope.GROUP, "reports")
    broker = ConfigResource(ConfigScope.BROKER, "1")
    cluster.seed_settings(
        [QuotaAlteration(APP, remove=("producer_byte_rate",))],
        configs=[
            ConfigResourceAlteration(group, delete=("consumer.session.timeout.ms",)),
            ConfigResourceAlteration(broker, {"background.threads": "3"}),
        ],
    )
    cluster.delete_acls([READ])
    cluster.delete_topics([TopicRef("shown")])


def hidden(cluster: MemoryCluster) -> None:
    cluster.hide_topic("shown")


def down(cluster: MemoryCluster) -> None:
    cluster.stop_brokers(1)


def untouched(cluster: MemoryCluster) -> None:
    del cluster


EVENTS = (untouched, retuned, emptied, hidden, down)


@pytest.mark.parametrize("made", [MemoryCluster, OlderCluster])
@pytest.mark.parametrize("event", EVENTS)
def test_plan_and_drift_of_a_fleet_are_those_of_each_cluster(
    tmp_path: Path, made: type[MemoryCluster], event: Callable[[MemoryCluster], None]
) -> None:
    """K4-34, K117-15: also of what lists do not show, and of brokers that are down."""
    here = site(tmp_path, made())
    here.apply()
    event(here.cluster)
    rows = taken(here)
    found = told(here, rows)
    alone = here.plan(has_broker_check=False).plan
    assert of("change", found) == same(alone.changes)
    obstacles = sorted(each["reason"][:5] for each in found if each["finding"] == "obstacle")
    assert obstacles == sorted(each.code for each in alone.diagnostics if each.is_error)
    drifted = detect_drift(here.project, here.ports)
    assert of("drift", found) == same(drifted.changes)
    unseen = {each["identity"] for each in found if each["finding"] == "hidden"}
    assert unseen == set(drifted.hidden)


def test_a_cluster_without_anything_gets_the_plan_that_it_would_get_alone(tmp_path: Path) -> None:
    here = site(tmp_path)
    found = told(here, taken(here))
    assert of("change", found) == same(here.plan(has_broker_check=False).plan.changes)
    assert len(of("change", found)) > 8


def test_what_was_applied_after_the_run_is_unknown_and_not_gone(tmp_path: Path) -> None:
    """Design law 2: the run could not ask for what nobody had declared or owned yet."""
    here = site(tmp_path)
    rows = read_rows(SnapshotSource("eu", {}, lambda: here.cluster))
    here.apply()
    found = told(here, rows)
    assert of("drift", found) == []
    assert {"orders", "reports", "app"} & {e["identity"] for e in found if e["finding"] == "hidden"}


def test_a_topic_that_was_declared_after_the_run_is_new(tmp_path: Path) -> None:
    here = site(tmp_path)
    here.apply()
    rows = taken(here)
    here.write(
        """
        resource "kafka_topic" "new" {
          name               = "new"
          partitions         = 1
          replication_factor = 1
        }
        resource "kafka_group_config" "new" {
          group_id = "new"
          config   = { "consumer.session.timeout.ms" = 50000 }
        }""",
        "more.tf",
    )
    found = told(here, rows)
    assert [row[:2] for row in of("change", found)] == [("create", "kafka_topic.new")]
    (obstacle,) = [each for each in found if each["finding"] == "obstacle"]
    assert "take a new run" in obstacle["reason"]


def test_the_state_of_another_cluster_is_told_and_nothing_is_concluded(tmp_path: Path) -> None:
    here = site(tmp_path)
    here.apply()
    here.cluster = MemoryCluster(cluster_id="another")
    found = told(here, taken(here))
    assert [each["finding"] for each in found] == ["problem"]
    assert "belongs to cluster" in found[0]["reason"]


class WithoutQuotas(MemoryCluster):
    """One that is too old for quotas."""

    def quotas(self, *, broker: int | None = None) -> NoReturn:
        """Refuse."""
        del broker
        raise UnsupportedError("no quotas here")


def test_a_kind_that_a_cluster_is_too_old_for_takes_no_other_with_it(tmp_path: Path) -> None:
    here = site(tmp_path, WithoutQuotas())
    found = told(here, taken(here))
    assert [e["reason"] for e in found if e["finding"] == "unread"] == ["no quotas here"]
    assert "kafka_topic.orders" in {row[1] for row in of("change", found)}


def test_no_secret_is_in_rows_or_findings(tmp_path: Path) -> None:
    """Design law 11."""
    here = site(tmp_path)
    assert SECRET in here.folder.joinpath("main.tf").read_text()
    assert SECRET not in str(told(here, taken(here)))
    here.apply()
    rows = taken(here)
    assert SECRET not in str([*rows, *told(here, rows)])


def test_what_is_on_other_connections_is_told(tmp_path: Path) -> None:
    """A cluster of a fleet is one cluster; nothing is passed over in silence."""
    here = site(tmp_path)
    here.write(
        """
        provider "kafka" {
          alias             = "west"
          bootstrap_servers = ["127.0.0.1:2"]
        }
        resource "kafka_topic" "west" {
          provider           = kafka.west
          name               = "west"
          partitions         = 1
          replication_factor = 1
        }""",
        "west.tf",
    )
    found = load_desired(*fleet(here), None)  # type: ignore[arg-type] # for data only
    assert found.notes == ("eu: what is on kafka.west is not read.",)
    rows = taken(here)
    changes = of("change", plan_cluster(rows, unpack(found.for_cluster("eu"))))
    assert "kafka_topic.west" not in {row[1] for row in changes}


WITH_DATA = """
data "kafka_topic" "base" { name = "base" }
data "kafka_cluster" "here" {}
resource "kafka_topic" "copy" {
  name               = "copy"
  partitions         = data.kafka_topic.base.partitions
  replication_factor = length(data.kafka_cluster.here.brokers)
}
"""


def test_data_sources_are_answered_from_the_run(tmp_path: Path) -> None:
    here = site(tmp_path, MemoryCluster(brokers=1))
    here.cluster.seed([NewTopic("base", 7, 1)])
    here.write(PROVIDER + WITH_DATA)
    rows = taken(here)
    wanted = load_desired(*fleet(here), Rows(rows))  # type: ignore[arg-type] # as Spark
    found = plan_cluster(rows, unpack(wanted.for_cluster("eu")))
    assert of("change", found) == same(here.plan(has_broker_check=False).plan.changes)
    (new,) = [each for each in found if each["finding"] == "change"]
    assert json.loads(new["attributes"])["partitions"] == 7
