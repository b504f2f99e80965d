"""The inputs of a fleet command: ports, and the declarations for each cluster."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kplan.cluster.request import ClusterDescription
from kplan.config.declarations.file import FLEET_FILE
from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.config.inputs import Inputs, Trust
from kplan.config.load import Configuration, load_configuration
from kplan.config.modules.data_source import DataSourceReader, NoClusterError
from kplan.fleet.plan import FleetPlanRequest, PackedRequest, expected_objects, pack_request
from kplan.fleet.snapshot import Row, snapshot_from_rows
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError, KplanError, UnreadableError
from kplan.model.resource import Identity, connection_name
from kplan.model.state import KindSnapshot, Snapshot, State
from kplan.model.workspace import workspace_path
from kplan.plan.request import PlanRequest
from kplan.state.journal import replay_journal
from kplan.workflow.access import add_first_connections
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts, StateStoreFactory
from kplan.workflow.fleet.processes import map_in_processes
from kplan.workflow.open_project import load_checked, read_or_create_state
from kplan.workflow.plan.drift import NO_STATE_HINT
from kplan.workflow.plan.plan import output_values
from kplan.workflow.ports import Project
from kplan.workflow.state.workspace import selected_workspace

T = TypeVar("T")

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

RequestedObjects = dict[str, dict[str, set[Identity]]]
"""What is asked for by name: for each cluster by kind."""
_NO_STATE = f"{{}}: its drift is unknown, because it has no state. {NO_STATE_HINT}"


def load_desired_names(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts
) -> RequestedObjects:
    """List the objects declared or owned on each cluster, for a run to read by name.

    What cannot be known yet is left out: `kplan fleet plan` tells why. A snapshot in a file
    holds what it holds, whatever is asked for.
    """
    read = partial(_read_names, options.inputs, ports.state_store)
    chosen = [each for each in configured_clusters(fleet, options) if each.snapshot is None]
    names = zip(chosen, _map_clusters(read, chosen, ports), strict=True)
    return {each.name: found for each, found in names if found is not None}


def _read_names(
    inputs: Inputs, state_store: StateStoreFactory, cluster: FleetCluster
) -> dict[str, set[Identity]] | None:
    project = cluster_project(cluster, inputs, state_store)
    try:
        configuration = load_configuration(project.folder, project.inputs, KINDS)
        return expected_objects(_plan_request(configuration, read_project_state(project)))
    except KplanError:
        return None


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
    `lists_undeclared` objects that no one declares are findings, and a note names the clusters
    whose drift cannot be known.
    """
    take = partial(read_desired, lists_undeclared=lists_undeclared)
    found = fleet_plan_request(options, load_configurations(fleet, options, ports, objects, take))
    lost = map(_NO_STATE.format, found.stateless if lists_undeclared else ())
    return replace(found, notes=(*found.notes, *lost))


@dataclass(frozen=True, slots=True)
class ClusterDesired:
    """What is declared and owned on a cluster; without a request there is a problem."""

    request: PackedRequest | None
    problem: str = ""
    notes: tuple[str, ...] = ()


def read_desired(
    loaded: "LoadedConfiguration", *, lists_undeclared: bool = False
) -> ClusterDesired:
    """Pack for the task of a cluster what is declared and owned there."""
    try:
        configuration = loaded.configuration
        request = _plan_request(configuration, loaded.read_state())
    except KplanError as failure:
        return ClusterDesired(None, failure_text(failure))
    packed = pack_request(request, lists_undeclared=lists_undeclared)
    return ClusterDesired(packed, notes=tuple(_configuration_notes(loaded.name, configuration)))


def fleet_plan_request(
    options: FleetOptions, clusters: Iterable[tuple[str, ClusterDesired]]
) -> FleetPlanRequest:
    """Put together what is declared and owned on all clusters."""
    requests: dict[str, PackedRequest] = {}
    problems: dict[str, str] = {}
    notes = list(_fleet_file_notes(options))
    for name, each in clusters:
        if each.request is None:
            problems[name] = each.problem
        else:
            requests[name] = each.request
        notes += each.notes
    return FleetPlanRequest(requests, problems, tuple(notes))


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


class LoadedConfiguration(NamedTuple):
    """A cluster, and its configuration or why it has none that could be used.

    `read_state` gives the state, with the results of an interrupted apply; it is read once.
    """

    name: str
    project: Project
    found: Configuration | KplanError
    read_state: Callable[[], State]

    @property
    def configuration(self) -> Configuration:
        """Return the configuration, or raise why there is none."""
        if isinstance(self.found, KplanError):
            raise self.found
        return self.found


ConfigurationLoader = Callable[[Project, DataSourceReader | None], Configuration]
"""What loads of a configuration as much as is asked of it; raises ConfigError."""


def load_configurations(
    fleet: FleetConfiguration,
    options: FleetOptions,
    ports: FleetPorts,
    objects: "DataFrame",
    take: Callable[[LoadedConfiguration], T],
    load: ConfigurationLoader = load_checked,
) -> Iterator[tuple[str, T]]:
    """Load the configuration of each cluster; yields what `take` makes of it, by cluster.

    `take` works in several processes. It can be pickled, and so can what it makes.
    """
    chosen = configured_clusters(fleet, options)
    read = partial(_load_without_run, (options.inputs, ports.state_store), load, take)
    for each, found in zip(chosen, _map_clusters(read, chosen, ports), strict=True):
        if found is not None:
            yield each.name, found
            continue
        project = cluster_project(each, options.inputs, ports.state_store)
        reader = SnapshotReader(_lazy_snapshot(objects, each.name))
        yield each.name, take(_load(each, project, load, reader))


def _load_without_run(
    given: tuple[Inputs, StateStoreFactory],
    load: ConfigurationLoader,
    take: Callable[[LoadedConfiguration], T],
    cluster: FleetCluster,
) -> T | None:
    """Load what needs no data sources; None for what does."""
    loaded = _load(cluster, cluster_project(cluster, *given), load)
    if isinstance(loaded.found, Configuration) and loaded.found.lacks_data:
        return None
    return take(loaded)


def _load(
    cluster: FleetCluster,
    project: Project,
    load: ConfigurationLoader,
    reader: "SnapshotReader | None" = None,
) -> LoadedConfiguration:
    found: Configuration | KplanError
    try:
        found = load(project, reader)
    except KplanError as failure:
        found = failure
    return LoadedConfiguration(
        cluster.name, project, found, cache(partial(read_project_state, project))
    )


def failure_text(failure: KplanError) -> str:
    """Write the errors of a cluster in one line."""
    return "; ".join(
        f"{each.code} {each.summary}: {each.detail}"
        for each in failure.diagnostics
        if each.is_error
    )


def read_owned(cluster: FleetCluster, options: FleetOptions, ports: FleetPorts) -> State:
    """Read the state of the configuration of a cluster. Raises StateError and ClusterError."""
    return read_project_state(cluster_project(cluster, options.inputs, ports.state_store))


def configured_clusters(
    fleet: FleetConfiguration, options: FleetOptions
) -> tuple[FleetCluster, ...]:
    """List the chosen clusters that have a configuration."""
    return tuple(
        each for each in options.selected_clusters(fleet) if each.configuration is not None
    )


def _map_clusters(
    read: Callable[[FleetCluster], T], clusters: Sequence[FleetCluster], ports: FleetPorts
) -> Iterator[T]:
    """Read what belongs to each cluster, with progress."""
    ports.progress.stage("Reading configurations", len(clusters))
    for each in map_in_processes(read, clusters):
        yield each
        ports.progress.advance()


def cluster_project(
    cluster: FleetCluster, inputs: Inputs, state_store: StateStoreFactory
) -> Project:
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
    remote = cache(lambda: state_store(folder, own))
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


def _plan_request(configuration: Configuration, state: State) -> PlanRequest:
    return PlanRequest(
        resources=tuple(each for each in configuration.resources if not each.provider),
        outputs=output_values(configuration),
        state=state,
        config_digest=configuration.digest,
        adds_first=add_first_connections(configuration),
        moved=configuration.refactorings.moved,
        removed=configuration.refactorings.removed,
        imports=configuration.refactorings.imports,
    )


def _lazy_snapshot(objects: "DataFrame", name: str) -> Callable[[], Snapshot]:
    """Bring the rows of one cluster over, when they are first needed."""
    found: list[Snapshot] = []

    def load_snapshot() -> Snapshot:
        if not found:
            own = objects.where(objects["cluster"] == name).select(*Row._fields)
            snapshot = snapshot_from_rows(Row(*each) for each in own.toLocalIterator())
            if isinstance(snapshot, str):
                raise FleetError(f"Its data sources cannot be answered: {snapshot}")
            found.append(snapshot)
        return found[0]

    return load_snapshot


def _no_snapshot() -> Snapshot:
    raise AssertionError("the rows of the run are elsewhere")


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """Answers data sources from the rows of a run."""

    load_snapshot: Callable[[], Snapshot]

    def __reduce__(self) -> tuple[type["SnapshotReader"], tuple[Callable[[], Snapshot]]]:
        """Leave the rows here: policies go to other processes when all data they use was read."""
        return SnapshotReader, (_no_snapshot,)

    def describe(self, provider: str) -> ClusterDescription:
        """Return the cluster's id and brokers."""
        snapshot = self._snapshot(provider)
        return ClusterDescription(
            snapshot.cluster_id, snapshot.brokers, snapshot.principal, snapshot.version
        )

    def read(self, provider: str, kind: str, names: Collection[Identity] | None) -> KindSnapshot:
        """Return objects by name; None means all there are. Raises UnreadableError."""
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
