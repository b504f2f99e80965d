"""The installed command on three brokers of which one is dead: a dead broker makes no drift."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.specs import TopicDescription
from kplan.sandbox.control import kill
from kplan.sandbox.lifecycle import running
from kplan.sandbox.record import Sandbox
from kplan.sandbox.spec import SandboxSpec
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

DEAD = 3
CONFIGURATION = """
provider "kafka" {}
resource "kafka_topic" "spread" {
  name               = "spread"
  partitions         = 6
  replication_factor = 3
  config             = { "retention.ms" = "86400000" }
}
resource "kafka_topic" "only" {
  name               = "only"
  replica_assignment = [[3], [1]]
}
resource "kafka_acl" "reader" {
  resource_type       = "Topic"
  resource_name       = "spread"
  acl_principal       = "User:reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_quota" "app" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = 500000 }
}
"""
DYNAMIC = """
resource "kafka_broker_config" "three" {
  broker_id = 3
  config = { "log.cleaner.threads" = "2" }
}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """Start three brokers of which a test may kill one, with one controller."""
    with running(SandboxSpec(brokers=3, controllers=1, heap_mb=512)) as sandbox:
        yield sandbox


@pytest.fixture
def place(tmp_path: Path, cluster: Sandbox) -> Place:
    found = Place(tmp_path, {"KPLAN_BOOTSTRAP_SERVERS": cluster.bootstrap_servers}, text=None)
    found.write(CONFIGURATION)
    return found


def _leaderless(place: Place) -> int:
    with closing(place.cluster()) as cluster:
        found = cluster.topics(["only"])["only"]
    return found.leaderless if isinstance(found, TopicDescription) else -1


def test_a_dead_broker_makes_no_drift(place: Place, cluster: Sandbox) -> None:
    """S04: what it alone can tell is not read, which is said; K117-08: the others are told."""
    place.write(CONFIGURATION + DYNAMIC)
    assert "Resources: 5 added" in place.run("apply", "-auto-approve")
    kill(cluster.folder, DEAD)
    until(lambda: _leaderless(place) == 1, within_s=40)

    ran = place.ran("plan", "-json", code=1)
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert not {"planned_change", "resource_drift"} & {each.get("type") for each in told}
    assert "broker 3" in ran.out.lower()

    place.write(CONFIGURATION)
    place.run("state", "rm", "kafka_broker_config.three")
    assert "No changes." in place.run("plan", "-detailed-exitcode")
    listed = json.loads(place.run("topics", "list", "-json"))
    assert [each["topic"] for each in listed["tables"]["topics"]["rows"]] == ["only", "spread"]
    assert "BROKER_NOT_AVAILABLE" not in place.run("topics", "describe", "only")
