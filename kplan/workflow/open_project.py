"""Configuration, data sources, state and clusters of a project, opened and closed together."""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import field, replace
from functools import partial
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription
from kplan.config.declarations.file import NO_FILES
from kplan.config.load import Configuration, load_connections, load_policies
from kplan.config.modules.data_source import DataSourceReader
from kplan.config.trusted import load_restricted
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors, sort_diagnostics
from kplan.model.errors import ConfigError, StateError
from kplan.model.plan import ObjectKey
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot, OwnedModules, State
from kplan.report.documents.notation import count_text
from kplan.state.file import new_state
from kplan.state.journal import Journal, replay_journal, replay_unlocked
from kplan.state.lock import liveness_text
from kplan.state.lock_holder import LockHolder
from kplan.state.store import StateStore
from kplan.workflow.access import acl_order_diagnostics
from kplan.workflow.clusters import Clusters, connect_clusters, renamed_connections
from kplan.workflow.platform import platform_argument_diagnostics
from kplan.workflow.ports import Ports, Project
from kplan.workflow.workspaces import OtherOwners, read_other_owners

T = TypeVar("T")

_TWO_STEP_KIND = "kafka_topic"
"""Of what is not named, a first reading tells the names, and a second one all about them."""


class ClusterReader:
    """Reads clusters for data sources; each object is read once."""

    def __init__(self, connect: Callable[[str], Cluster]) -> None:
        self._connect = connect
        self._clusters: dict[str, Cluster] = {}
        self._descriptions: dict[str, ClusterDescription] = {}
        self._readings: dict[tuple[str, str, frozenset[Identity] | None], KindSnapshot] = {}

    def _cluster(self, provider: str) -> Cluster:
        if provider not in self._clusters:
            self._clusters[provider] = self._connect(provider)
        return self._clusters[provider]

    def describe(self, provider: str) -> ClusterDescription:
        """Return the cluster's id and brokers."""
        if provider not in self._descriptions:
            self._descriptions[provider] = self._cluster(provider).describe()
        return self._descriptions[provider]

    def read(self, provider: str, kind: str, names: Collection[Identity] | None) -> KindSnapshot:
        """Read objects in full, by name; None means all there are."""
        key = (provider, kind, None if names is None else frozenset(names))
        if key not in self._readings:
            self._readings[key] = self._read(self._cluster(provider), kind, names)
        return self._readings[key]

    def _read(
        self, cluster: Cluster, name: str, names: Collection[Identity] | None
    ) -> KindSnapshot:
        kind = next(each for each in KINDS if each.name == name)
        found = kind.read(cluster, names or ())
        if names is None and name == _TWO_STEP_KIND:
            return kind.read(cluster, list(found.objects))
        return found


@dataclass(frozen=True, slots=True)
class OpenProject:
    """What every use case that meets the clusters starts from.

    `journal` is that of an apply that was killed; what it had done is folded into `state` already,
    but not yet written. `load_all_data` loads the configuration with every data source read, where
    some have been left for later. `read_other_owners` says what other workspaces own. `doubtful`
    are creations of the journal that may exist, and are not known to be owned here or elsewhere:
    each with what is to be said of it unless the plan adopts it. `connection_names` are new names
    of connections, by those of the stored journal.
    """

    configuration: Configuration
    state: State
    clusters: Clusters
    journal: Journal | None = None
    load_all_data: Callable[[], Configuration] | None = None
    read_other_owners: Callable[[], OtherOwners] = OtherOwners
    doubtful: Mapping[ObjectKey, Diagnostic] = field(default_factory=dict)
    connection_names: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def open_project(  # noqa: PLR0913 - what callers differ in
    project: Project,
    ports: Ports,
    also: frozenset[str] = frozenset(),
    *,
    defers: bool = False,
    is_destroy: bool = False,
    check: Callable[[Configuration], None] | None = None,
    locks: bool = True,
) -> Iterator[OpenProject]:
    """Load, lock, read the state and connect: checks without network come first.

    `also` are keys of connections that are opened if declared, even where nothing uses them. With
    `defers` data sources that depend on resources are left for later. Where all `is_destroy` and
    nothing is owned, none are read, as in Terraform. `check` is one more check
    before anything is connected. Unless it `locks`, an apply may run meanwhile: that is the
    caller's to find out, and to tell.

    Raises:
        ConfigError: the configuration has errors.
        StateLockedError, StateCorruptError: the state cannot be had.
        AuthError, UnreachableError: no cluster can be had.
        WrongClusterError: the state belongs to another cluster.

    """
    ports.progress.stage("Reading configuration")
    if is_destroy and _owns_nothing(project):
        configuration = load_checked(project)
    else:
        configuration = load_with_data(project, ports, defers=defers, check=check)
    with lock_state(project, ports if locks else replace(ports, holder=None)):
        state = read_or_create_state(project)
        journal = project.store.read_journal()  # after the state, of whose writing it tells
        unsettled: frozenset[ObjectKey] = frozenset()
        if journal is not None:
            if not locks:
                read_again = partial(read_or_create_state, project)
                state, unsettled = replay_unlocked(state, journal, read_again)
            else:
                state, unsettled = replay_journal(state, journal)
                ports.progress.note(interruption_note(journal, len(unsettled)))
        ports.progress.stage("Connecting")
        sent = frozenset(provider for _, _, provider in unsettled)  # to look what came of it
        with connect_clusters(configuration, state, ports, also, sent) as (clusters, followed):
            names: Mapping[str, str] = {}
            if journal is not None:
                keys = {each.provider for each in journal.changes}
                names = renamed_connections(state, clusters, keys)
                journal = journal.with_connections(names)
            later = partial(load_with_data, project, ports)
            others = partial(read_other_owners, project)
            yield OpenProject(
                configuration, followed, clusters, journal, later, others, connection_names=names
            )


def _owns_nothing(project: Project) -> bool:
    state = read_stored_state(project)
    return (state is None or not state.owned) and not project.store.has_journal()


def load_with_data(
    project: Project,
    ports: Ports,
    *,
    defers: bool = False,
    check: Callable[[Configuration], None] | None = None,
) -> Configuration:
    """Load the configuration with its data sources, read over connections of their own.

    Raises:
        ConfigError: the configuration has mistakes.
        ClusterError: a data source cannot be read.

    """
    configuration = load_checked(project)
    if check is not None:
        check(configuration)
    if not configuration.lacks_data:
        return configuration
    ports.progress.stage("Reading data sources")
    with ExitStack() as stack:

        def connect(key: str) -> Cluster:
            return stack.enter_context(closing(ports.connect(configuration, key)))

        return load_checked(project, ClusterReader(connect), defers=defers)


def load_checked(
    project: Project, reader: DataSourceReader | None = None, *, defers: bool = False
) -> Configuration:
    """Load the configuration; data sources have values only where there is a reader.

    Raises:
        ConfigError: with every diagnostic, warnings included, if one of them is an error.

    """
    return _check(load_restricted(project.folder, project.inputs, KINDS, reader, defers=defers))


def load_checked_connections(project: Project) -> Configuration:
    """Load the provider blocks alone, for what only asks a cluster; raises as `load_checked`.

    A folder without files is no error yet: environment and options may name the cluster.
    """
    if project.inputs.trust is not None:
        return load_checked(project)
    found = load_connections(project.folder, project.inputs, KINDS)
    is_empty = {each.code for each in found.diagnostics} == {NO_FILES}
    return found if is_empty else _check(found)


def load_checked_policies(
    project: Project, reader: DataSourceReader | None = None
) -> Configuration:
    """Load the policy blocks alone; raises as `load_checked`."""
    if project.inputs.trust is not None:
        return load_checked(project, reader)
    return _check(load_policies(project.folder, project.inputs, KINDS, reader))


def _check(configuration: Configuration) -> Configuration:
    problems = sort_diagnostics(
        [
            *configuration.diagnostics,
            *acl_order_diagnostics(configuration),
            *platform_argument_diagnostics(configuration),
        ]
    )
    if has_errors(problems):
        raise ConfigError(problems, configuration.sources)
    return configuration


def read_or_create_state(project: Project) -> State:
    """Read the state, or begin a new one where there is none yet; raises StateError."""
    return read_stored_state(project) or new_state(str(uuid.uuid4()))


def read_stored_state(project: Project) -> State | None:
    """Read the state; None where nothing was ever applied.

    Raises:
        StateError: it is still in the file, although the configuration names another place.

    """
    return _read_stored(project, lambda store: store.read())


def read_owned_modules(project: Project) -> OwnedModules:
    """Read only the modules that declare what is owned; raises as `read_stored_state`."""
    return _read_stored(project, lambda store: store.read_modules()) or {}


def _read_stored(project: Project, read: Callable[[StateStore], T | None]) -> T | None:
    store = project.store
    found = read(store)
    if (
        found is None
        and store.location != project.file_store.location
        and project.file_store.read() is not None
    ):
        service, colon, _ = store.location.partition("://")
        backend = service if colon else "kafka"
        raise StateError(
            f"There is no state in {store.location}; it is still in {project.file_store.location}.",
            f"Move it there: kplan state migrate -to {backend}",
        )
    return found


def check_no_journal(project: Project) -> None:
    """Check that no apply was interrupted or lacks answers: its results are not in the state yet.

    Raises:
        StateError: one was, or does.

    """
    check_no_journal_in(project.store)


def check_no_journal_in(store: StateStore) -> None:
    """Check that a store has no journal; raises as `check_no_journal`."""
    if not store.has_journal():
        return
    journal, place = store.read_journal(), store.location
    if journal is not None and journal.is_finished:
        raise StateError(
            f"An apply ended without all answers, and what it did is not in the state {place} yet.",
            "Find it out first: kplan apply",
        )
    raise StateError(
        f"An apply was interrupted, and what it did is not in the state {place} yet.",
        "Finish it first: kplan apply -resume",
    )


@contextmanager
def lock_state(project: Project, ports: Ports) -> Iterator[None]:
    """Hold the lock of the state, unless the run goes without, for its stage to read the state."""
    with hold_lock(project.store, ports):
        ports.progress.stage("Reading the state")
        yield


@contextmanager
def hold_lock(store: StateStore, ports: Ports) -> Iterator[None]:
    """Hold the lock of a store, unless the run goes without, and show who it is waited for."""

    def note_waiting(holder: LockHolder) -> None:
        ports.progress.stage("Waiting for the state lock")
        ports.progress.note(
            f"Waiting for the state lock, held by {holder}. {liveness_text(holder)}".rstrip()
        )

    if ports.holder is not None:
        ports.progress.stage("Acquiring the state lock")
    with store.hold_lock(ports.holder, ports.lock_timeout_s, note_waiting):
        yield


def interruption_note(journal: Journal, unsettled: int) -> str:
    """Say how far an interrupted apply came, or one that ended without all answers."""
    if journal.is_finished:
        return (
            f"An earlier apply got no answer for {count_text(unsettled, 'change')}; being looked "
            f"up: {unsettled}."
        )
    total, unsent = len(journal.changes), len(journal.unsent_changes)
    return (
        f"An apply of {count_text(total, 'change')} was interrupted; "
        f"known: {total - unsettled - unsent}, being looked up: {unsettled}, not sent: {unsent}."
    )
