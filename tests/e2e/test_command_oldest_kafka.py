"""The installed command on Kafka 2.8 with ZooKeeper, upgraded so far that topics have no id yet."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import NewTopic, TopicDescription, TopicRef
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.brokers import StartSandbox
from tests.contract.clusters import soon
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

ALL_KINDS = """
provider "kafka" {}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 2
  replication_factor = 1
  config             = { "retention.ms" = "5000" }
}
resource "kafka_acl" "reader" {
  resource_type       = "Topic"
  resource_name       = "orders"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_quota" "app" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = 500000 }
}
resource "kafka_user_scram_credential" "app" {
  username        = "app"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "secret"
}
resource "kafka_broker_config" "all" {
  config = { "log.cleaner.threads" = "2" }
}
"""
TOPIC = ALL_KINDS.partition('resource "kafka_acl"')[0]


@pytest.fixture(scope="module")
def oldest_broker(sandbox_of: StartSandbox) -> Sandbox:
    """Start Kafka 2.8 with ZooKeeper, whose brokers speak the protocol of 2.7."""
    return sandbox_of(
        SandboxSpec(
            kafka_version="2.8.2",
            security=Security.SASL,
            server_properties={"inter.broker.protocol.version": "2.7"},
        )
    )


@pytest.fixture
def oldest(tmp_path: Path, oldest_broker: Sandbox) -> Iterator[Place]:
    admin = properties_file(oldest_broker.folder, "admin")
    place = Place(tmp_path, {"KPLAN_COMMAND_CONFIG": str(admin)}, text=None)
    place.write(ALL_KINDS)
    yield place
    place.tidy_up()


def test_every_kind_is_applied_changed_and_destroyed(oldest: Place) -> None:
    """K117-20: topics, ACLs, quotas, credentials and configs of brokers."""
    assert "Resources: 5 added" in oldest.run("apply", "-auto-approve")
    assert "No changes." in oldest.run("plan")
    oldest.edit('"5000"', '"6000"')
    oldest.edit("partitions         = 2", "partitions         = 3")
    assert "1 changed" in oldest.run("apply", "-auto-approve")
    assert "No drift." in oldest.run("drift")
    oldest.run("groups", "reset", "g", "-topic=orders", "-to=earliest", "-create", "-auto-approve")
    assert "orders" in oldest.run("groups", "describe", "g")
    oldest.run("groups", "delete", "g", "-auto-approve")
    ran = oldest.ran("destroy", "-auto-approve")
    assert "5 destroyed" in ran.out
    assert "KP545" in ran.out + ran.err


def test_what_the_release_lacks_has_its_name(oldest: Place) -> None:
    told = oldest.fails("quorum", "describe")
    assert "Kafka has DescribeQuorum since 3.3 (KIP-836, with KRaft only)." in told


def test_a_topic_without_id_that_was_created_again_is_not_deleted(oldest: Place) -> None:
    """Its partitions show that it is not the topic of the plan."""
    oldest.write(TOPIC)
    oldest.run("apply", "-auto-approve")
    with closing(oldest.cluster()) as cluster:
        described = cluster.topics(["orders"])["orders"]
        assert isinstance(described, TopicDescription)
        assert described.topic_id == ""
        oldest.run("plan", "-destroy", "-out=gone.plan")
        assert cluster.delete_topics([TopicRef("orders")]) == {"orders": None}
        soon(lambda: "orders" not in cluster.topics())
        assert cluster.create_topics([NewTopic("orders", 5, 1)]) == {"orders": None}
        soon(lambda: "orders" in cluster.topics())
        oldest.fails("apply", "gone.plan", code=1)
        assert "orders" in cluster.topics()
