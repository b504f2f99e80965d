"""A folder of configuration beside a cluster in memory, and the use cases on both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.workflow.apply.apply import ApplyHandlers, ApplyResult, apply
from kplan.workflow.plan.plan import PlanResult, make_plan
from kplan.workflow.ports import PlanOptions, Ports, Project
from tests.apply_harness import FakeClock, RecordingWatcher


class Killed(BaseException):
    """Ends a run as SIGKILL does: nothing of kplan's gets to clean up."""


MAIN_TF = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
locals { sizes = { orders = 3, payments = 6 } }
resource "kafka_topic" "t" {
  for_each           = local.sizes
  name               = each.key
  partitions         = each.value
  replication_factor = 1
  config             = { "retention.ms" = "86400000" }
}
resource "kafka_acl" "read" {
  resource_name       = kafka_topic.t["orders"].name
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
output "names" { value = [for each in kafka_topic.t : each.name] }
"""


@dataclass(slots=True)
class SilentProgress:
    """A progress that nobody looks at."""

    notes: list[str] = field(default_factory=list)

    def stage(self, name: str, total: int | None = None) -> None:
        """Hear it."""

    def advance(self, done: int = 1) -> None:
        """Hear it."""

    def tasks(self, done: int, total: int) -> None:
        """Hear it."""

    def detail(self, text: str) -> None:
        """Hear it."""

    def note(self, text: str) -> None:
        """Remember it."""
        self.notes.append(text)


@dataclass(slots=True)
class ProjectHarness:
    """A folder of configuration, a cluster, and the verbs on them.

    `clusters` are those behind connections with an alias.
    """

    folder: Path
    cluster: MemoryCluster
    watcher: RecordingWatcher = field(default_factory=RecordingWatcher)
    clusters: dict[str, MemoryCluster] = field(default_factory=dict)
    now: datetime = datetime(2026, 1, 2, tzinfo=UTC)

    @property
    def project(self) -> Project:
        """Where things are."""
        path = self.folder / "state" / "kplan.state.json"
        return Project(self.folder, path, Inputs())

    @property
    def ports(self) -> Ports:
        """The outside world."""
        return Ports(
            lambda _, key: self.clusters[key] if key else self.cluster,
            SilentProgress(),
            FakeClock(),
            lambda: self.now,
            lambda: False,
        )

    def write(self, text: str, name: str = "main.tf") -> None:
        """Write a file of the configuration."""
        (self.folder / name).write_text(text)

    def plan(self, **given: object) -> PlanResult:
        """Plan."""
        return make_plan(self.project, PlanOptions(**given), self.ports)  # type: ignore[arg-type]

    def apply(
        self, approve: Callable[[PlanResult], bool] = lambda _: True, **given: object
    ) -> ApplyResult:
        """Plan and apply."""
        options = PlanOptions(**given)  # type: ignore[arg-type]
        return apply(self.project, options, self.ports, ApplyHandlers(approve, self.watcher))
