"""Use case: query one cluster of a configuration, without state and lock."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.config.load import Configuration
from kplan.model.dataclass import dataclass
from kplan.workflow.clusters import unknown_connection_error
from kplan.workflow.open_project import load_checked_connections
from kplan.workflow.ports import Ports, Project

Answer = TypeVar("Answer")


def query_cluster(
    project: Project, ports: Ports, provider: str, question: Callable[[Cluster], Answer]
) -> Answer:
    """Connect, ask, and close. `provider` is the key of the connection, "" where one is plain.

    Raises:
        UsageError: there is no such connection, or it must be said which.
        ConfigError: the configuration has mistakes.
        ClusterError: the cluster does not answer, or refuses to.

    """
    with open_connection(project, ports, provider) as found:
        return question(found.cluster)


@dataclass(frozen=True, slots=True)
class QueriedCluster:
    """A cluster that is only asked; of `configuration` there are the provider blocks alone."""

    cluster: Cluster
    configuration: Configuration
    key: str


@contextmanager
def open_connection(project: Project, ports: Ports, provider: str) -> Iterator[QueriedCluster]:
    """Connect to one cluster until the end of the block; raises as `query_cluster`."""
    configuration = load_checked_connections(project)
    key = _connection_key(configuration, provider)
    ports.progress.stage("Asking the cluster")
    with closing(ports.connect(configuration, key)) as cluster:
        yield QueriedCluster(cluster, configuration, key)


def _connection_key(configuration: Configuration, provider: str) -> str:
    """Choose the connection; a single one need not be named."""
    keys = sorted({each.key for each in configuration.providers}) or [""]
    if provider in keys:
        return provider
    if not provider and len(keys) == 1:
        return keys[0]
    raise unknown_connection_error(provider, keys)
