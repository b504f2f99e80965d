"""What the states of a fleet own, and which configuration each object is of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.config.inputs import Inputs
from kplan.fleet.dataframe import columns_dataframe
from kplan.fleet.inventory import OWNER_SCHEMA
from kplan.model.errors import KplanError
from kplan.model.state import OwnedModules
from kplan.workflow.fleet.desired import (
    cluster_project,
    configured_clusters,
    failure_text,
    read_project_state,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts, StateStoreFactory
from kplan.workflow.fleet.processes import map_in_processes
from kplan.workflow.open_project import read_owned_modules
from kplan.workflow.ports import Project

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

_TOPIC_KIND = "kafka_topic"


class OwnedObjects(NamedTuple):
    """What the states of clusters own: rows of OWNER_SCHEMA; and which states are not known.

    The owner is the configuration of the cluster, as the fleet file names it, with its module.
    """

    rows: "DataFrame"
    has_topics: bool
    unknown: tuple[str, ...]


class OwnerColumns(NamedTuple):
    """What the state of a cluster owns, a list for each column of OWNER_SCHEMA after the first."""

    cluster: str
    kinds: list[str]
    identities: list[str]
    owners: list[str]


ClusterOwners = OwnerColumns | str
"""What the state of a cluster owns, or why that is not known."""


class OwnerReader:
    """Reads what the states of all clusters own, while Spark starts.

    That takes some seconds, in which processors are idle.
    """

    def __init__(self, options: FleetOptions, ports: FleetPorts) -> None:
        self._options, self._ports = options, ports
        self._found: SimpleQueue[ClusterOwners | BaseException] = SimpleQueue()
        self._count: int | None = None

    def begin(self, fleet: FleetConfiguration) -> None:
        """Begin to read in the background."""
        clusters = configured_clusters(fleet, self._options)
        self._count = len(clusters)
        Thread(target=self._read, args=(clusters,), daemon=True).start()

    def _read(self, clusters: Sequence[FleetCluster]) -> None:
        read = partial(_read_owners, self._options.inputs, self._ports.state_store)
        try:
            for each in map_in_processes(read, clusters):
                self._found.put(each)
        except BaseException as failure:  # noqa: BLE001 - raised by who waits
            self._found.put(failure)

    def finish(self, spark: "SparkSession") -> OwnedObjects:
        """Wait until all is read, with progress, and give it to Spark. Raises FleetError."""
        if self._count is None:
            raise AssertionError("nothing was begun: all objects would seem to have no owner")
        self._ports.progress.stage("Reading states", self._count)
        return owned_objects(spark, self._results(self._count))

    def _results(self, count: int) -> Iterator[ClusterOwners]:
        for _ in range(count):
            found = self._found.get()
            if isinstance(found, BaseException):
                raise found
            yield found
            self._ports.progress.advance()


def _read_owners(
    inputs: Inputs, state_store: StateStoreFactory, cluster: FleetCluster
) -> ClusterOwners:
    project = cluster_project(cluster, inputs, state_store)
    return cluster_owners(cluster.name, project, partial(_read_modules, project))


def _read_modules(project: Project) -> OwnedModules:
    """Read the modules that declare what is owned, also by an interrupted apply."""
    if project.store.has_journal():
        return read_project_state(project).modules
    return read_owned_modules(project)


def cluster_owners(
    name: str, project: Project, read_modules: Callable[[], OwnedModules]
) -> ClusterOwners:
    """Read what the state of a cluster owns there."""
    try:
        found = read_modules()
    except KplanError as failure:
        return f"{name}: the owner is unknown: {failure_text(failure)}"
    own = [(kind, str(identity), at) for (kind, identity, other), at in found.items() if not other]
    names = {at: _owner_name(str(project.folder), at) for at in {at for _, _, at in own}}
    return OwnerColumns(
        name,
        [kind for kind, _, _ in own],
        [identity for _, identity, _ in own],
        [names[at] for _, _, at in own],
    )


def owned_objects(spark: "SparkSession", clusters: Iterable[ClusterOwners]) -> OwnedObjects:
    """Put together what the states of all clusters own."""
    columns: tuple[list[str], ...] = ([], [], [], [])
    unknown: list[str] = []
    for each in clusters:
        if isinstance(each, str):
            unknown.append(each)
            continue
        names = [each.cluster] * len(each.kinds)
        for column, more in zip(columns, (names, *each[1:]), strict=True):
            column.extend(more)
    has_topics = _TOPIC_KIND in columns[1]
    rows = columns_dataframe(spark, columns, OWNER_SCHEMA)
    return OwnedObjects(rows, has_topics, tuple(unknown))


def _owner_name(configuration: str, module: tuple[str, ...]) -> str:
    modules = ".".join(f"module.{each}" for each in module)
    return f"{configuration}: {modules}" if modules else configuration
