"""An object that must stay owned at an address which another one has taken."""

from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.plan import Reason
from kplan.model.state import State
from tests.project_harness import ProjectHarness

TOPICS = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
locals { names = [%s] }
resource "kafka_topic" "t" {
  count              = length(local.names)
  name               = local.names[count.index]
  partitions         = 1
  replication_factor = 1
}
"""


def shift(folder: Path) -> ProjectHarness:
    """Apply two topics and declare a list that begins with the second."""
    harness = ProjectHarness(folder, MemoryCluster())
    harness.write(TOPICS % '"a", "b"')
    harness.apply()
    harness.write(TOPICS % '"b", "c"')
    return harness


def names(state: State | None) -> dict[str, str]:
    """Return what is owned where."""
    return {str(at): each.identity for at, each in state.owned.items()} if state else {}


DEPOSED = {
    "kafka_topic.t[0]": "b",
    "kafka_topic.t[1]": "c",
    'kafka_topic.t["deposed 1"]': "a",
}


def test_a_target_that_creates_an_object_loses_none(tmp_path: Path) -> None:
    """The next plan deletes the one that lost its address, and the state is in order again."""
    harness = shift(tmp_path)
    assert names(harness.apply(targets=("kafka_topic.t[1]",)).state) == DEPOSED
    planned = [each for each in harness.plan().plan.changes if each.action.name != "NO_OP"]
    assert [(str(each.address), each.action.name, each.reason) for each in planned] == [
        ('kafka_topic.t["deposed 1"]', "DELETE", Reason.NOT_DECLARED)
    ]
    done = harness.apply()
    assert names(done.state) == {"kafka_topic.t[0]": "b", "kafka_topic.t[1]": "c"}
    assert sorted(harness.cluster.topics()) == ["b", "c"]


def test_a_refused_delete_loses_no_object(tmp_path: Path) -> None:
    """What was created is owned, and what could not be deleted as well."""
    harness = shift(tmp_path)
    harness.cluster.refuse("TOPIC_AUTHORIZATION_FAILED", call="delete_topics")
    assert names(harness.apply(has_broker_check=False).state) == DEPOSED
    harness.write(TOPICS % '"b"')
    harness.cluster.clear_faults()
    assert names(harness.apply().state) == {"kafka_topic.t[0]": "b"}
    assert sorted(harness.cluster.topics()) == ["b"]
