"""The workspace that is selected in the folder of a cluster counts for the fleet as well."""

from dataclasses import replace
from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.config.inputs import Inputs
from kplan.model.diagnostic import SourceRange
from kplan.workflow.fleet.desired import read_owned
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.ports import Project
from tests.project_harness import ProjectHarness, SilentProgress

MAIN = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "t" {
  name               = "${terraform.workspace}.t"
  partitions         = 1
  replication_factor = 1
}
"""


class Quiet(SilentProgress):
    """A progress that nobody looks at."""


def owned(folder: Path, cluster: FleetCluster) -> list[str]:
    ports = FleetPorts(
        lambda _: (None, ()),
        lambda *_: None,
        lambda _: {},
        Quiet(),
        ProjectHarness(folder, MemoryCluster()).ports.now,
    )
    fleet = FleetConfiguration(folder, (cluster,))
    state = read_owned(fleet.clusters[0], FleetOptions(folder, Inputs()), ports)
    return [str(each.identity) for each in state.owned.values()]


def test_the_state_is_that_of_the_workspace_unless_the_fleet_file_names_it(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.write(MAIN)
    site.apply()
    base = site.project.state_path
    prod = base.parent / f"{base.name}.d" / "prod" / base.name

    class Prod(ProjectHarness):
        """The same folder in another workspace."""

        @property
        def project(self) -> Project:
            return Project(self.folder, prod, Inputs(workspace="prod"))

    Prod(tmp_path, site.cluster).apply()
    (tmp_path / ".terraform").mkdir()
    place = SourceRange("fleet.hcl", 1, 1, 1, 1)
    cluster = FleetCluster("eu", place, configuration=tmp_path, state=base)
    assert owned(tmp_path, cluster) == ["default.t"]
    (tmp_path / ".terraform" / "environment").write_text("prod")
    assert owned(tmp_path, cluster) == ["prod.t"]
    assert owned(tmp_path, replace(cluster, has_own_state=True)) == ["default.t"]
