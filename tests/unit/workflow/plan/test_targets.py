"""Plans of a part of the configuration, by -target."""

from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from tests.project_harness import ProjectHarness

TOPICS = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "odd" {
  for_each           = toset(["a", "b"])
  name               = each.key
  partitions         = 1
  replication_factor = 1
  config             = { "min.insync.replicas" = "2" }
}
resource "kafka_topic" "fine" { name = "c" }
"""


def test_warnings_are_about_what_is_targeted(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.write(TOPICS)

    def told(*targets: str) -> list[str]:
        found = site.plan(targets=targets).plan.diagnostics
        return [str(each.address) for each in found if each.code == "KP216"]

    odd = ['kafka_topic.odd["a"]', 'kafka_topic.odd["b"]']
    assert told() == told("kafka_topic.odd") == odd
    assert told(odd[1]) == odd[1:]
    assert told("kafka_topic.fine") == []
