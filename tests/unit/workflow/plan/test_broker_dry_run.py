"""What the count of the brokers' dry run counts."""

from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from tests.project_harness import ProjectHarness

TOPIC_AND_SCHEMA = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_schema" "orders" {
  subject = "orders-value"
  schema  = jsonencode("string")
}
"""


def test_what_the_schema_registry_checks_is_not_counted_as_asked_of_brokers(
    tmp_path: Path,
) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster(1))
    site.write(TOPIC_AND_SCHEMA)
    plan = site.plan().plan
    assert len(plan.changes) == 2
    assert (plan.cluster["asked"], plan.cluster["refused"]) == ("1", "0")


def test_an_unknown_logger_is_answered_with_those_of_its_node(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster(1))
    site.write(
        """
        provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
        resource "kafka_logger" "none" {
          node_id = 1
          logger  = "no.such.logger"
          level   = "DEBUG"
        }
        """
    )
    (problem,) = site.plan().plan.diagnostics
    assert problem.code == "KP241"
    assert problem.hint.endswith("kplan loggers list 1")
