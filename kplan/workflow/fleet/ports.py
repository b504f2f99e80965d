"""The outside world of fleet commands, and what they are asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.config.inputs import Inputs
from kplan.fleet.figures import MAX_ROWS, collect_table, explain_table
from kplan.fleet.spark.session import SparkSettings
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.table import FigureTable
from kplan.state.store import StateStore
from kplan.workflow.ports import Progress

if TYPE_CHECKING:
    from kplan.cluster.port import Cluster
    from kplan.fleet.spark.session import DataFrame

FleetConnector = Callable[
    [FleetCluster], "tuple[Callable[[], Cluster] | None, Sequence[Diagnostic]]"
]
"""Works out how a cluster is reached, without reaching it; the result goes to the executors."""

StateStoreFactory = Callable[[Path, Inputs], StateStore | None]
"""Says where the state of a folder is kept; None is a file there. Raises ConfigError."""

JavaClientSettings = Callable[[FleetCluster], Mapping[str, str]]
"""Says how Kafka's Java client connects, which Spark is; holds secrets. Raises AuthError."""


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """What a fleet command works on.

    `cluster_names` are the clusters asked for, and `run` is a stored run, "" the latest one.
    `limit` bounds the rows that are shown, `output` takes all of them. Of logs counts what was
    asked for in the time `since` until now, None for all of it. `command` names it in Spark.
    `is_explain` asks how Spark would compute the tables, instead of their rows. `names_files` is
    that files are written with the names of clusters.
    """

    folder: Path
    inputs: Inputs
    cluster_names: tuple[str, ...] = ()
    run: str = ""
    limit: int = MAX_ROWS
    output: str = ""
    engine: SparkSettings = field(default_factory=SparkSettings)
    since: timedelta | None = None
    command: str = "kplan fleet"
    is_explain: bool = False
    names_files: bool = False

    @property
    def make_table(self) -> "Callable[[str, DataFrame, int], FigureTable]":
        """Make a table with its rows, or with the plan for them."""
        return explain_table if self.is_explain else collect_table

    def selected_clusters(self, fleet: FleetConfiguration) -> tuple[FleetCluster, ...]:
        """Return the selected clusters, in the order of the file."""
        return tuple(
            each
            for each in fleet.clusters
            if not self.cluster_names or each.name in self.cluster_names
        )


class FleetProgress(Progress, Protocol):
    """Where a fleet command shows how far it is: its stage, and the tasks of Spark in it."""

    def tasks(self, done: int, total: int) -> None:
        """Say how far the stage is: `done` of `total`, or nothing where there are 0."""
        ...


@dataclass(frozen=True, slots=True)
class FleetPorts:
    """The outside world of a fleet command."""

    connector: FleetConnector
    state_store: StateStoreFactory
    java_client_settings: JavaClientSettings
    progress: FleetProgress
    now: Callable[[], datetime]
