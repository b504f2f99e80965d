"""The installed command on Kafka 3.9 with the metadata of 3.4, over TLS without a certificate."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

TOPIC = """
provider "kafka" {}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 2
  replication_factor = 1
  config             = { "retention.ms" = "5000" }
}
"""
QUOTA = """
resource "kafka_quota" "app" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = 500000 }
}
"""
USER = """
resource "kafka_user_scram_credential" "app" {
  username        = "app"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "secret"
}
"""


@pytest.fixture(scope="module")
def older_broker(sandbox_of: StartSandbox) -> Sandbox:
    """Start Kafka 3.9 with the metadata of 3.4, and TLS without certificates of clients."""
    return sandbox_of(
        SandboxSpec(
            kafka_version="3.9.1",
            metadata_version="3.4-IV0",
            security=Security.TLS,
            server_properties={
                "listener.name.client.ssl.client.auth": "none",
                "authorizer.class.name": "",
            },
        )
    )


@pytest.fixture
def older(tmp_path: Path, older_broker: Sandbox) -> Iterator[Place]:
    environ = {
        "KPLAN_BOOTSTRAP_SERVERS": older_broker.bootstrap_servers,
        "KPLAN_TLS_CA_CERT": str(older_broker.folder / "ca.pem"),
    }
    place = Place(tmp_path, environ, text=None)
    place.write(TOPIC + QUOTA)
    yield place
    place.tidy_up()


def test_a_plan_that_needs_what_the_cluster_lacks_fails_before_any_change(older: Place) -> None:
    """K117-20, K117-21 and S02: the API, what it needs and what the cluster has; exit 1."""
    older.write(TOPIC + QUOTA + USER)
    told = " ".join(older.fails("apply", "-auto-approve").replace("│", " ").split())
    assert "API not supported by the cluster" in told
    assert (
        "AlterUserScramCredentials needs metadata.version at level 11 (3.5-IV2); "
        "the cluster is at level 8"
    ) in told
    with closing(older.cluster()) as cluster:
        assert "orders" not in cluster.topics()
        assert cluster.quotas() == {}


def test_one_kplan_serves_an_older_kafka_too(older: Place) -> None:
    """K117-20, and the row of the connection matrix with TLS and no certificate of ours (S01)."""
    assert "Resources: 2 added" in older.run("apply", "-auto-approve")
    assert "No changes." in older.run("plan")
    older.edit('"5000"', '"6000"')
    older.edit("partitions         = 2", "partitions         = 3")
    assert "1 changed" in older.run("apply", "-auto-approve")
    assert "3.9" in older.run("cluster", "versions")
