"""The principal of plan jobs, with the module for it, on a cluster with passwords."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, TopicRef
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.e2e.commands import kplan
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

ROOT = Path(__file__).parents[2]
ARGUMENTS = ("-lock=false", "-broker-validate=false")
OWN = """
provider "kafka" {}
module "reader" {
  source      = "./modules/plan-reader"
  principal   = "User:ci"
  state_topic = "__kplan_reader"
}
state {
  backend            = "kafka"
  topic              = "__kplan_reader"
  key                = "reader"
  replication_factor = 1
}
resource "kafka_topic" "t" {
  name               = "reader.t"
  partitions         = PARTITIONS
  replication_factor = 1
}
resource "kafka_quota" "q" {
  entity_name = "reader"
  entity_type = "user"
  config      = { producer_byte_rate = "1000000" }
}
"""


@pytest.fixture
def admin(tmp_path: Path, sasl_broker: Sandbox) -> Iterator[Place]:
    shutil.copytree(ROOT / "modules", tmp_path / "modules")
    file = properties_file(Path(sasl_broker.folder), "admin")
    place = Place(tmp_path, {"KPLAN_COMMAND_CONFIG": str(file)}, text=None)
    place.write(OWN.replace("PARTITIONS", "1"))
    place.run("apply", "-auto-approve")
    yield place
    place.run("destroy", "-auto-approve", "-max-deletes=99")
    with closing(place.cluster()) as cluster:
        cluster.delete_topics([TopicRef("__kplan_reader")])


def test_a_plan_job_reads_what_a_plan_compares_and_changes_nothing(
    admin: Place, sasl_broker: Sandbox
) -> None:
    """Issue 18, 3.4: as the job of a request; the apply job has another principal."""
    file = properties_file(Path(sasl_broker.folder), "ci")
    job = Place(admin.folder, {"KPLAN_COMMAND_CONFIG": str(file)}, text=None)
    job.write(OWN.replace("PARTITIONS", "2"))
    shown = job.ran("plan", *ARGUMENTS)
    assert "1 to change" in shown.out
    assert "could not be read" not in shown.out
    assert "kplan cannot see" not in shown.out
    job.fails("apply", "-auto-approve", "-input=false")
    with closing(admin.cluster()) as cluster:
        needed = [each for each in cluster.acls() if each.principal == "User:ci"]
        assert len(needed) == 6
        needless = [each for each in needed if not _is_missed(each, job, cluster)]
    assert [(each.resource_type, each.operation) for each in needless] == [("GROUP", "DESCRIBE")]


def _is_missed(acl: AclBinding, job: Place, cluster: Cluster) -> bool:
    """Take an ACL away: a plan fails then or says what it could not read.

    Groups are looked at only where a topic is deleted.
    """
    cluster.delete_acls([acl])
    until(lambda: acl not in cluster.acls())
    try:
        done = kplan(job.folder, "plan", *ARGUMENTS, env=job.env)
        told = " ".join((done.out + done.err).replace("│", " ").split())
        return done.code == 1 or "could not" in told or "cannot see" in told or "NKNOWN" in told
    finally:
        cluster.create_acls([acl])
        until(lambda: acl in cluster.acls())
