"""Policies about deletions of records, in HCL and Python alike."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.kinds import KINDS
from kplan.model.errors import ConfigError
from kplan.model.policy import ViolationStatus
from kplan.model.resource import Identity
from kplan.workflow.apply.records import RecordOffsets, check_record_policies
from kplan.workflow.open_project import load_checked
from kplan.workflow.ports import PolicyOptions
from kplan.workflow.snapshot import read_snapshot
from tests.project_harness import ProjectHarness

OFFSETS: RecordOffsets = {Identity("a"): {0: 100, 1: 7}, Identity("b"): {0: 1}}
POLICY = """
resource "kafka_topic" "a" {
  name = "a"
}
policy "few" {
  on    = ["delete_records"]
  kind  = "kafka_topic"
  level = "soft"
  deny {
    condition = anytrue([for offset in values(change.offsets) : offset > 10])
    message   = "${change.identity}: ${current.partitions} partitions, ${change.offsets["0"]}"
  }
}
"""
PYTHON = """
class Few:
    def validate_delete_records(self, request, cluster):
        if max(request.deleted_message_offsets.values()) > 10:
            raise ValueError(f"{request.topic} {request.current_state.num_partitions}")
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.cluster.seed([NewTopic("a", 2, 1), NewTopic("b", 2, 1)])
    found.write(POLICY)
    return found


def judged(
    site: ProjectHarness, options: PolicyOptions | None = None
) -> list[tuple[str, str, ViolationStatus]]:
    cluster = site.cluster
    snapshot = read_snapshot(cluster, cluster.describe(), KINDS, {})
    seen = (load_checked(site.project), snapshot, cluster)
    said = check_record_policies(OFFSETS, seen, options or PolicyOptions(), site.ports)
    return [(each.identity, each.message, each.standing) for each in said]


def test_a_policy_sees_the_topic_and_the_offsets_of_its_partitions(site: ProjectHarness) -> None:
    """K201-12."""
    assert judged(site) == [("a", "a: 2 partitions, 100", ViolationStatus.REFUSED)]


def test_a_soft_one_gives_way_to_a_reason(site: ProjectHarness) -> None:
    options = PolicyOptions(overrides={"few": "asked for by law"})
    assert [standing for *_, standing in judged(site, options)] == [ViolationStatus.OVERRIDDEN]


def test_python_has_a_method_for_it(site: ProjectHarness) -> None:
    site.write('resource "kafka_topic" "a" {\n  name = "a"\n}')
    (site.folder / "few.py").write_text(PYTHON)
    options = PolicyOptions(paths=(str(site.folder / "few.py"),))
    assert judged(site, options) == [("a", "a 2", ViolationStatus.REFUSED)]


def test_a_policy_that_is_missing_lets_nothing_through(site: ProjectHarness) -> None:
    with pytest.raises(ConfigError):
        judged(site, PolicyOptions(paths=("nowhere",)))
