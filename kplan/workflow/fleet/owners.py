"""What the states of a fleet own, and which configuration each object is of."""

from collections.abc import Callable, Iterable
from functools import partial
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
    map_configured_clusters,
    read_project_state,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts, StateStoreFactory
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


def read_owners(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts, spark: "SparkSession"
) -> OwnedObjects:
    """Read what the states of all clusters own."""
    read = partial(_read_owners, options.inputs, ports.state_store)
    return owned_objects(
        spark, map_configured_clusters(read, configured_clusters(fleet, options), ports)
    )


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
