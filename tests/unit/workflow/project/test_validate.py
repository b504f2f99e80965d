"""Every mistake at once, without a cluster."""

from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.workflow.project.validate import validate_project
from tests.project_harness import ProjectHarness


def told(folder: Path, text: str) -> list[tuple[str, str]]:
    site = ProjectHarness(folder, MemoryCluster())
    site.write(text)
    found = validate_project(site.project)
    assert site.cluster.calls == []
    return [(each.code, str(each.subject)) for each in found.diagnostics]


def test_mistakes_of_provider_blocks_stand_among_the_others(tmp_path: Path) -> None:
    text = """provider "kafka" {
  bootstrap_server = ["a:1"]
  timeout          = 0
  config           = { "acks" = "all" }
}
provider "kafka" {
  alias             = "other"
  bootstrap_servers = ["nonsense"]
}
resource "kafka_topic" "t" { name = "a/b" }
"""
    assert told(tmp_path, text) == [
        ("KP301", "main.tf:2:22"),
        ("KP302", "main.tf:3:22"),
        ("KP302", "main.tf:8:23"),
        ("KP201", "main.tf:10:37"),
        ("KP306", "main.tf:4:22"),
    ]


def test_what_only_the_place_of_the_plan_can_know_is_no_mistake(tmp_path: Path) -> None:
    """Addresses, passwords and files of certificates need not be where a change is checked."""
    text = """provider "kafka" {
  ca_cert_file    = "/run/secrets/ca.pem"
  client_key_file = "/run/secrets/key.pem"
  properties_file = "/run/secrets/kafka.properties"
  sasl_mechanism  = "plain"
}
"""
    assert told(tmp_path, text) == []
