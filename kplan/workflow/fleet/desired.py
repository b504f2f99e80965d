"""The inputs of a fleet command: ports, and the declarations for each cluster."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kplan.cluster.request import ClusterDescription
from kplan.config.declarations.file import FLEET_FILE
from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.config.inputs import Inputs, Trust
from kplan.config.load import Configuration, load_configuration
from kplan.config.modules.data_source import NoClusterError
from kplan.fleet.dataframe import MAX_ROWS, collect_table, explain_table
from kplan.fleet.plan import FleetPlanRequest, PackedRequest, expected_objects, pack_request
from kplan.fleet.snapshot import Row, snapshot_from_rows
from kplan.fleet.spark.session import SparkSettings
from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import FleetError, KplanError, UnreadableError
from kplan.model.resource import Identity, connection_name
from kplan.model.state import KindSnapshot, Snapshot, State
from kplan.model.table import FigureTable
from kplan.model.workspace import workspace_path
from kplan.plan.request import PlanRequest
from kplan.state.journal import replay_journal
from kplan.state.store import StateStore
from kplan.workflow.access import add_first_connections
from kplan.workflow.open_project import load_checked, read_or_create_state
from kplan.workflow.plan.plan import output_values
from kplan.workflow.ports import Progress, Project
from kplan.workflow.state.workspace import selected_workspace

if TYPE_CHECKING:
    from kplan.cluster.port import Cluster

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
    """What a fleet command works on. `only` names clusters, `run` a stored run ("": the latest).

    `limit` bounds the rows that are shown, `output` takes all of them. Of logs counts what was
    asked for in the time `since` until now, None for all of it. `command` names it in Spark.
    `is_explain` asks how Spark would compute the tables, instead of their rows.
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


if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

RequestedObjects = dict[str, dict[str, set[Identity]]]
"""What is asked for by name: for each cluster by kind."""


def load_desired_names(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts
) -> RequestedObjects:
    """List the objects declared or owned on each cluster, for a run to read by name.

    What cannot be known yet is left out: `kplan fleet plan` tells why. A snapshot in a file
    holds what it holds, whatever is asked for.
    """
    found: RequestedObjects = {}
    for each in _configured_clusters(fleet, options, ports):
        if each.snapshot is not None:
            continue
        project = _cluster_project(each, options.inputs, ports)
        try:
            configuration = load_configuration(project.folder, project.inputs, KINDS)
            found[each.name] = expected_objects(_plan_request(project, configuration))
        except KplanError:
            continue
    return found


def load_desired(
    fleet: FleetConfiguration,
    options: FleetOptions,
    ports: FleetPorts,
    objects: "DataFrame",
    *,
    lists_undeclared: bool = False,
) -> FleetPlanRequest:
    """Load the configuration and state of each cluster; one with errors is reported by itself.

    Data sources are answered from the rows of the run, so that a plan is about one moment. With
    `lists_undeclared` objects that no one declares are findings.
    """
    found = DesiredCollector(options, lists_undeclared=lists_undeclared)
    for each in load_configurations(fleet, options, ports, objects):
        found.add(each)
    return found.request()


class DesiredCollector:
    """Gathers what is declared and owned, of many clusters only as it is packed for their tasks."""

    def __init__(self, options: FleetOptions, *, lists_undeclared: bool = False) -> None:
        self._lists_undeclared = lists_undeclared
        self._requests: dict[str, PackedRequest] = {}
        self._problems: dict[str, str] = {}
        self._notes = list(_fleet_file_notes(options))

    def add(self, loaded: "LoadedConfiguration") -> None:
        """Add a cluster."""
        name, project, found = loaded
        try:
            configuration = require_configuration(found)
            request = _plan_request(project, configuration)
        except KplanError as failure:
            self._problems[name] = failure_text(failure)
            return
        self._requests[name] = pack_request(request, lists_undeclared=self._lists_undeclared)
        self._notes += _configuration_notes(name, configuration)

    def request(self) -> FleetPlanRequest:
        """Return all of it."""
        return FleetPlanRequest(self._requests, self._problems, tuple(self._notes))


def _configuration_notes(name: str, configuration: Configuration) -> Iterator[str]:
    """Say what is declared for a cluster and not read."""
    for each in configuration.diagnostics:
        if each.code == "KP312":
            yield f"{name}: {each.detail}"
    for provider in sorted({each.provider for each in configuration.resources} - {""}):
        yield f"{name}: what is on {connection_name(provider)} is not read."


def _fleet_file_notes(options: FleetOptions) -> Iterator[str]:
    trust = options.inputs.trust
    if trust is None or trust.ref is None:
        return
    own, trusted = (
        file.read_bytes() if file.is_file() else b""
        for file in (options.folder / FLEET_FILE, trust.ref / FLEET_FILE)
    )
    if own != trusted:
        yield "fleet.hcl differs from the trusted one, which this plan uses."


LoadedConfiguration = tuple[str, Project, Configuration | KplanError]
"""A cluster, and its configuration or why it has none that could be used."""


def load_configurations(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts, objects: "DataFrame"
) -> Iterator[LoadedConfiguration]:
    """Load one configuration after the other; of none more is held than is asked for."""
    for each in _configured_clusters(fleet, options, ports):
        project = _cluster_project(each, options.inputs, ports)
        try:
            configuration = load_checked(project)
            if configuration.lacks_data:
                configuration = load_checked(
                    project, _SnapshotReader(_lazy_snapshot(objects, each.name))
                )
            yield each.name, project, configuration
        except KplanError as failure:
            yield each.name, project, failure


def require_configuration(found: Configuration | KplanError) -> Configuration:
    """Return it, or raise why there is none."""
    if isinstance(found, KplanError):
        raise found
    return found


def failure_text(failure: KplanError) -> str:
    """Write the errors of a cluster in one line."""
    return "; ".join(
        f"{each.code} {each.summary}: {each.detail}"
        for each in failure.diagnostics
        if each.is_error
    )


def read_owned(cluster: FleetCluster, options: FleetOptions, ports: FleetPorts) -> State:
    """Read the state of the cluster itself. Raises StateError and ClusterError."""
    return read_project_state(_cluster_project(cluster, options.inputs, ports)).for_provider("")


def list_owners(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts
) -> tuple[list[tuple[str, str, str, str]], tuple[str, ...]]:
    """List cluster, kind, identity and owner of all that is owned; and which states are not known.

    The owner is the configuration of the cluster, as the fleet file names it, with its module.
    """
    found: list[tuple[str, str, str, str]] = []
    unknown: list[str] = []
    for each in _configured_clusters(fleet, options, ports):
        try:
            owned = read_owned(each, options, ports).owned.values()
        except KplanError as failure:
            unknown.append(f"{each.name}: the owner is unknown: {failure_text(failure)}")
            continue
        name = str(each.configuration)
        found += [
            (each.name, one.address.kind, str(one.identity), _owner_name(name, one.address))
            for one in owned
        ]
    return found, tuple(unknown)


def _owner_name(configuration: str, address: Address) -> str:
    modules = ".".join(f"module.{each}" for each in address.module)
    return f"{configuration}: {modules}" if modules else configuration


def _configured_clusters(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts
) -> Iterator[FleetCluster]:
    chosen = [each for each in options.selected_clusters(fleet) if each.configuration is not None]
    ports.progress.stage("Reading configurations", len(chosen))
    for each in chosen:
        yield each
        ports.progress.advance()


def _cluster_project(cluster: FleetCluster, inputs: Inputs, ports: FleetPorts) -> Project:
    """Return the project that `kplan plan` would find in the folder of the cluster."""
    folder = cluster.configuration or Path()
    trust = _cluster_trust(folder, inputs.trust)
    settled = folder if trust is None or trust.ref is None else trust.ref
    workspace = selected_workspace(settled, inputs.environ)
    own = Inputs(
        environ=inputs.environ,
        skips_foreign=inputs.skips_foreign,
        workspace=workspace,
        trust=trust,
    )
    state = cluster.state or settled
    if cluster.has_own_state:
        return Project(folder, state, own, is_state_exact=True)
    remote = cache(lambda: ports.state_store(folder, own))
    return Project(folder, workspace_path(state, workspace), own, remote)


def _cluster_trust(folder: Path, trust: Trust | None) -> Trust | None:
    """Return the limits for the folder of a cluster, which the trusted checkout has too."""
    if trust is None or trust.ref is None:
        return trust
    return Trust(trust.repository, trust.ref / folder)


def read_project_state(project: Project) -> State:
    """Read the state, with the results of an interrupted apply."""
    state, journal = read_or_create_state(project), project.store.read_journal()
    return state if journal is None else replay_journal(state, journal)[0]


def _plan_request(project: Project, configuration: Configuration) -> PlanRequest:
    return PlanRequest(
        resources=tuple(each for each in configuration.resources if not each.provider),
        outputs=output_values(configuration),
        state=read_project_state(project),
        config_digest=configuration.digest,
        adds_first=add_first_connections(configuration),
        moved=configuration.refactorings.moved,
        removed=configuration.refactorings.removed,
        imports=configuration.refactorings.imports,
    )


def _lazy_snapshot(objects: "DataFrame", name: str) -> Callable[[], Snapshot]:
    """Bring the rows of one cluster over, when they are first needed."""
    found: list[Snapshot] = []

    def seen() -> Snapshot:
        if not found:
            own = objects.where(objects["cluster"] == name).select(*Row._fields)
            snapshot = snapshot_from_rows(Row(*each) for each in own.toLocalIterator())
            if isinstance(snapshot, str):
                raise FleetError(f"Its data sources cannot be answered: {snapshot}")
            found.append(snapshot)
        return found[0]

    return seen


@dataclass(frozen=True, slots=True)
class _SnapshotReader:
    """Answers data sources from the rows of a run."""

    load_snapshot: Callable[[], Snapshot]

    def describe(self, provider: str) -> ClusterDescription:
        """Return the cluster's id and brokers."""
        snapshot = self._snapshot(provider)
        return ClusterDescription(
            snapshot.cluster_id, snapshot.brokers, snapshot.principal, snapshot.version
        )

    def read(self, provider: str, kind: str, names: Collection[Identity] | None) -> KindSnapshot:
        """Return objects by name; None means all there are. Raises Unread."""
        snapshot = self._snapshot(provider)
        if kind not in snapshot.readings:
            raise UnreadableError(f"{kind}: {snapshot.unread.get(kind, 'it is not in the run')}")
        reading = snapshot.readings[kind]
        if names is None:
            return reading
        return KindSnapshot(
            {name: each for name, each in reading.objects.items() if name in names},
            {name: each for name, each in reading.hidden.items() if name in names},
        )

    def _snapshot(self, provider: str) -> Snapshot:
        if provider:
            raise NoClusterError(f"The run knows nothing of the connection {provider}.")
        return self.load_snapshot()
