"""Real clusters for the contract suite: connected as a user, and left as they were found."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kplan.cluster.port import Cluster
from kplan.cluster.specs import TopicRef
from kplan.kafka.cluster import open_cluster
from kplan.kafka.resolve import connection_settings
from kplan.kafka.settings import ConnectionSettings
from kplan.kafka.wire.driver import WireCluster
from kplan.sandbox.record import Sandbox, properties_file


def settings_of(sandbox: Sandbox, user: str) -> ConnectionSettings:
    """Connect as a user of the sandbox by the file that it writes for that user."""
    file = properties_file(sandbox.folder, user)
    found = connection_settings(None, {}, folder=Path(), properties_file=file)
    assert found.settings is not None, found.diagnostics
    return found.settings


def connected(kind: str, settings: ConnectionSettings) -> Cluster:
    """Connect with the implementation."""
    return WireCluster(settings) if kind == "wire" else open_cluster(settings)


@contextmanager
def cleaned(cluster: Cluster, prefix: str) -> Iterator[Cluster]:
    """Lend a cluster; remove what the test has left there."""
    with closing(cluster):
        yield cluster
        left = [name for name in cluster.topics() if name.startswith(prefix)]
        for start in range(0, len(left), 1000):
            cluster.delete_topics([TopicRef(name) for name in left[start : start + 1000]])
        acls = [each for each in cluster.acls() if f"{each}".count(prefix)]
        for start in range(0, len(acls), 500):
            cluster.delete_acls(acls[start : start + 500])
