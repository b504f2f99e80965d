"""Configuration, state and cluster, opened together and closed together."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from kplan.cluster.port import Cluster
from kplan.config.load import Configuration, load_configuration
from kplan.config.modules.data_source import DataSourceReader
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import has_errors, sort_diagnostics
from kplan.model.errors import ConfigError, StateError
from kplan.model.state import State
from kplan.report.documents.notation import count_text
from kplan.state.file import new_state
from kplan.state.holder import Holder
from kplan.state.journal import Journal, fold_journal
from kplan.workflow.acl_order import order_problems
from kplan.workflow.clusters import Clusters, connect_clusters
from kplan.workflow.data_source import ClusterReader
from kplan.workflow.ports import Ports, Project


@dataclass(frozen=True, slots=True)
class OpenProject:
    """What every use case that meets the clusters starts from.

    `journal` is that of an apply that was killed; what it had done is folded into `state` already,
    but not yet written.
    """

    configuration: Configuration
    state: State
    clusters: Clusters
    journal: Journal | None = None


@contextmanager
def open_project(
    project: Project, ports: Ports, also: frozenset[str] = frozenset()
) -> Iterator[OpenProject]:
    """Load, lock, read the state and connect: what fails without network fails first.

    `also` are keys of connections that are opened if declared, even where nothing uses them.

    Raises:
        ConfigError: the configuration has errors.
        StateLocked, StateCorrupt: the state cannot be had.
        AuthError, Unreachable: no cluster can be had.
        WrongCluster: the state belongs to another cluster.

    """
    ports.progress.stage("Reading configuration")
    configuration = load_with_data(project, ports)
    with lock_state(project, ports):
        journal = project.store.journal()
        state = read_or_create_state(project)
        if journal is not None:
            state, unsettled = fold_journal(state, journal)
            ports.progress.note(_interrupted(journal, len(unsettled)))
        ports.progress.stage("Connecting")
        with connect_clusters(configuration, state, ports, also) as (clusters, state):
            yield OpenProject(configuration, state, clusters, journal)


def load_with_data(project: Project, ports: Ports) -> Configuration:
    """Load the configuration with its data sources, read over connections of their own.

    Raises:
        ConfigError: as `loaded`.
        ClusterError: a data source cannot be read.

    """
    configuration = load_checked(project)
    if not configuration.lacks_data:
        return configuration
    ports.progress.stage("Reading data sources")
    with ExitStack() as stack:

        def connect(key: str) -> Cluster:
            return stack.enter_context(closing(ports.connect(configuration, key)))

        return load_checked(project, ClusterReader(connect))


def load_checked(project: Project, reader: DataSourceReader | None = None) -> Configuration:
    """Load the configuration; data sources have values only where there is a reader.

    Raises:
        ConfigError: with every diagnostic, warnings included, if one of them is an error.

    """
    configuration = load_configuration(project.folder, project.inputs, KINDS, reader)
    problems = sort_diagnostics([*configuration.diagnostics, *order_problems(configuration)])
    if has_errors(problems):
        raise ConfigError(problems, configuration.sources)
    return configuration


def read_or_create_state(project: Project) -> State:
    """Read the state, or begin a new one where there is none yet; raises as `stored`."""
    return read_stored_state(project) or new_state(str(uuid.uuid4()))


def read_stored_state(project: Project) -> State | None:
    """Read the state; None where nothing was ever applied.

    Raises:
        StateError: it is still in the file, although the configuration names another place.

    """
    store = project.store
    found = store.read()
    if found is None and store.place != project.file.place and project.file.read() is not None:
        raise StateError(
            f"There is no state in {store.place}; it is still in {project.file.place}.",
            "Move it there: kplan state migrate -to kafka",
        )
    return found


def check_no_journal(project: Project) -> None:
    """Check that no apply was interrupted: what it did is not in the state yet.

    Raises:
        StateError: one was.

    """
    if project.store.has_journal():
        raise StateError(
            "An apply was interrupted, and what it did is not in the state yet.",
            "Finish it first: kplan apply -resume",
        )


@contextmanager
def lock_state(project: Project, ports: Ports) -> Iterator[None]:
    """Hold the lock of the state, unless the run goes without."""

    def waiting(holder: Holder) -> None:
        ports.progress.note(f"Waiting for the state lock, held by {holder}")

    with project.store.held(ports.holder, ports.lock_timeout_s, waiting):
        yield


def _interrupted(journal: Journal, unsettled: int) -> str:
    return (
        f"An apply of {count_text(len(journal.changes), 'change')} was interrupted; "
        f"known: {len(journal.outcomes)}, being looked up: {unsettled}, "
        f"not sent: {len(journal.not_sent)}."
    )
