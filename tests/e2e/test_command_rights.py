"""Rights that are missing for a plan, told before any change, on a cluster that asks who we are."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, TopicRef
from kplan.kafka.cluster import open_cluster
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.contract.clusters import settings_of
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

TOPICS = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  for_each           = toset(["a", "b", "c", "d"])
  name               = "{prefix}.${{each.key}}"
  partitions         = 1
  replication_factor = 1
}}
"""


@pytest.fixture
def admin(sasl_broker: Sandbox) -> Iterator[Cluster]:
    with closing(open_cluster(settings_of(sasl_broker, "admin"))) as cluster:
        before, acls = set(cluster.topics()), cluster.acls()
        yield cluster
        cluster.delete_acls(list(cluster.acls() - acls))
        cluster.delete_topics([TopicRef(name) for name in set(cluster.topics()) - before])


@pytest.fixture
def place(tmp_path: Path, sasl_broker: Sandbox) -> Place:
    file = properties_file(Path(sasl_broker.folder), "ci")
    return Place(tmp_path, {"KPLAN_COMMAND_CONFIG": str(file)}, TOPICS)


def granted(admin: Cluster, place: Place, *operations: str) -> None:
    bindings = [
        AclBinding("TOPIC", f"{place.prefix}.", "PREFIXED", "User:ci", "*", each, "ALLOW")
        for each in operations
    ]
    assert set(admin.create_acls(bindings).values()) == {None}
    until(lambda: set(bindings) <= admin.acls(broker=1))


def unwrapped(told: str) -> str:
    return " ".join(told.replace("│", " ").split())


def test_the_right_to_create_is_told_at_plan(admin: Cluster, place: Place) -> None:
    """K4-21, S23."""
    granted(admin, place, "DESCRIBE")
    told = unwrapped(place.ran("plan", code=1).err)
    assert f"User:ci needs CREATE on TOPIC {place.prefix}.* (4 topics)." in told
    assert told.count("Missing permission [KP332]") == 1
    granted(admin, place, "CREATE")
    assert "Plan: 4 to add" in place.run("plan")


def test_the_right_to_delete_is_told_before_anything_is_deleted(
    admin: Cluster, place: Place
) -> None:
    """K4-34, K201-18: a delete cannot be validated, but the right to it is told."""
    granted(admin, place, "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
    place.run("apply", "-auto-approve")
    place.edit('"a", "b", "c", "d"', '"a", "b", "c"')
    told = unwrapped(place.ran("apply", "-auto-approve", code=1).err)
    assert f"User:ci needs DELETE on TOPIC {place.prefix}.d." in told
    place.edit('"a", "b", "c"', '"a", "b", "c", "d"')
    place.edit("partitions         = 1", "partitions         = 2")
    told = unwrapped(place.ran("plan", code=1).err)
    assert f"User:ci needs ALTER on TOPIC {place.prefix}.* (4 topics)." in told
    assert len([name for name in admin.topics() if name.startswith(place.prefix)]) == 4


def test_hidden_topics_are_not_taken_for_absent_ones(admin: Cluster, place: Place) -> None:
    """K4-34, trap 7."""
    granted(admin, place, "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS")
    place.run("apply", "-auto-approve")
    admin.delete_acls([each for each in admin.acls() if each.resource_name == f"{place.prefix}."])
    until(lambda: not [each for each in admin.acls(broker=1) if place.prefix in each.resource_name])
    told = unwrapped(place.ran("plan", code=1).err)
    assert f"The cluster will not show topic {place.prefix}.a" in told
    assert "will be created" not in told
