"""The installed command in the middle of a rolling upgrade: one broker of 3.9, one of 4.3."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION, SandboxSpec
from kplan.sandbox.lifecycle import restart_nodes, temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

TOPIC_AND_QUOTA = """
provider "kafka" {}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 2
  replication_factor = 2
  config             = { "retention.ms" = "5000" }
}
resource "kafka_quota" "app" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = 500000 }
}
"""
GROUP = """
resource "kafka_group_config" "g" {
  group_id = "g"
  config   = { "consumer.session.timeout.ms" = 50000 }
}
"""


@pytest.fixture(scope="module")
def upgrading() -> Iterator[Sandbox]:
    """Start two brokers and a controller of 3.9, and upgrade the second broker."""
    shape = SandboxSpec(brokers=2, controllers=1, kafka_version="3.9.1")
    with temporary_sandbox(shape) as sandbox:
        yield restart_nodes(sandbox.folder, [2], kafka_version=DEFAULT_KAFKA_VERSION)


@pytest.fixture(params=["older", "newer"])
def mixed(
    request: pytest.FixtureRequest, tmp_path: Path, upgrading: Sandbox
) -> Iterator[tuple[Place, str]]:
    """Ask the broker of one version first."""
    older, newer = upgrading.bootstrap_servers.split(",")
    servers = f"{older},{newer}" if request.param == "older" else f"{newer},{older}"
    place = Place(
        tmp_path, {"KPLAN_BOOTSTRAP_SERVERS": servers, "KPLAN_TLS_ENABLED": "false"}, text=None
    )
    place.write(TOPIC_AND_QUOTA)
    yield place, request.param
    place.tidy_up()


def test_a_cluster_of_two_versions_is_planned_applied_and_watched(
    mixed: tuple[Place, str],
) -> None:
    """K117-08: what only one of the versions has is named, and nothing is half done."""
    place, asked = mixed
    place.write(TOPIC_AND_QUOTA + GROUP)
    told = place.fails("apply", "-auto-approve")
    assert "with kafka_group_config.g" in told
    lack = "Kafka has them since 4.0 (KIP-848)" if asked == "older" else "Unknown resource type"
    assert lack in told
    place.write(TOPIC_AND_QUOTA)
    assert "Resources: 2 added" in place.run("apply", "-auto-approve")
    place.edit("partitions         = 2", "partitions         = 3")
    assert "1 changed" in place.run("apply", "-auto-approve")
    assert "No changes." in place.run("plan")
    assert "No drift." in place.run("drift")
    features = json.loads(place.run("features", "-json"))["tables"]["features"]["rows"]
    (metadata,) = (each for each in features if each["feature"] == "metadata.version")
    assert (metadata["level"], metadata["highest"], metadata["can_be_raised"]) == (21, 21, False)
    assert not any(each["can_be_raised"] for each in features if each["feature"] == "group.version")
    assert "2 destroyed" in place.run("destroy", "-auto-approve")
