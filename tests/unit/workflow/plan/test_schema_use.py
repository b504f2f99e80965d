"""No schema is deleted under the clients of its topic unasked."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.usage import GroupUse, PartitionUse, TopicUse
from kplan.model.diagnostic import Severity
from kplan.model.plan import Action
from tests.project_harness import ProjectHarness

TOPIC = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}
"""
SCHEMA = """
resource "kafka_schema" "orders" {
  subject = "orders-value"
  schema  = "\\"string\\""
}
"""
UNUSED = TopicUse({0: PartitionUse(0, 0, None, 0, 0)}, ())


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    """Apply a topic and its schema, which is then not declared any more."""
    found = ProjectHarness(tmp_path, MemoryCluster(1))
    found.write(TOPIC + SCHEMA)
    found.apply()
    found.write(TOPIC)
    found.cluster.set_topic_use("orders", UNUSED)
    return found


def used_by(*groups: GroupUse, producers: int = 0) -> TopicUse:
    return TopicUse({0: PartitionUse(0, 5, None, 500, producers)}, groups)


def guards(site: ProjectHarness, **given: object) -> list[tuple[str, Severity, str]]:
    found = site.plan(**given).plan.diagnostics
    return [(each.code, each.severity, each.detail) for each in found if each.code == "KP521"]


def test_a_schema_that_no_one_uses_is_deleted(site: ProjectHarness) -> None:
    assert guards(site) == []
    (change,) = [each for each in site.plan().plan.changes if each.action is Action.DELETE]
    assert change.identity == "orders-value"
    site.apply()
    registry = site.cluster.schema_registry()
    assert registry is not None
    assert registry.subjects() == frozenset()


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (used_by(GroupUse("billing", True, 2, 0)), "consumed by billing"),
        (used_by(producers=3), "has 3 recent producers"),
        (TopicUse({}, None, ("broker 2 does not answer",)), "use is unknown: broker 2"),
    ],
)
def test_a_schema_in_use_is_not_deleted(site: ProjectHarness, use: TopicUse, words: str) -> None:
    site.cluster.set_topic_use("orders", use)
    ((_, severity, detail),) = guards(site)
    assert severity is Severity.ERROR
    assert words in detail
    site.apply()
    registry = site.cluster.schema_registry()
    assert registry is not None
    assert registry.subjects() == {"orders-value"}


def test_it_is_accepted_by_its_code(site: ProjectHarness) -> None:
    site.cluster.set_topic_use("orders", used_by(producers=1))
    ((_, severity, _),) = guards(site, accepted_guards=frozenset({"KP521"}))
    assert severity is Severity.WARNING


def test_a_group_without_members_and_a_topic_that_is_gone_are_no_use(site: ProjectHarness) -> None:
    site.cluster.set_topic_use("orders", used_by(GroupUse("old", False, 0, 5)))
    assert guards(site) == []
    site.cluster.set_topic_use("orders", used_by(producers=1))
    assert guards(site, is_destroy=True) == []  # the topic goes too, and its own delete is judged


REFERENCES = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_schema" "address" {
  subject = "address-value"
  schema  = "{\\"type\\":\\"record\\",\\"name\\":\\"Address\\",\\"fields\\":[]}"
}
resource "kafka_schema" "order" {
  subject    = "order-value"
  schema     = "{\\"type\\":\\"record\\",\\"name\\":\\"ORDER\\",\\"fields\\":[]}"
  references = [{ name = "Address", subject = kafka_schema.address.subject }]
}
"""


def test_a_reference_without_version_is_planned_once(tmp_path: Path) -> None:
    """The state has no version of it either, and the registry has."""
    site = ProjectHarness(tmp_path, MemoryCluster(1))
    site.write(REFERENCES.replace("ORDER", "Order"))
    site.apply()
    assert not site.plan().plan.is_applyable
    site.write(REFERENCES.replace("ORDER", "Purchase"))
    assert [each.identity for each in site.plan().plan.changes if each.touches_cluster] == [
        "order-value"
    ]
    site.apply()
    assert not site.plan().plan.is_applyable
