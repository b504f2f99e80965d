"""Reading clusters for the data sources of a configuration."""

from collections.abc import Callable, Collection

from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription
from kplan.kinds import KINDS
from kplan.model.resource import Identity
from kplan.model.snapshot import KindSnapshot

_LISTED_FIRST = "kafka_topic"
"""Of what is not named, a first reading tells the names, and a second one all about them."""


class ClusterReader:
    """Reads clusters for data sources; what was read once is not asked for again."""

    def __init__(self, connect: Callable[[str], Cluster]) -> None:
        self._connect = connect
        self._clusters: dict[str, Cluster] = {}
        self._described: dict[str, ClusterDescription] = {}
        self._readings: dict[tuple[str, str, frozenset[Identity] | None], KindSnapshot] = {}

    def _cluster(self, provider: str) -> Cluster:
        if provider not in self._clusters:
            self._clusters[provider] = self._connect(provider)
        return self._clusters[provider]

    def describe(self, provider: str) -> ClusterDescription:
        """Say what the cluster is."""
        if provider not in self._described:
            self._described[provider] = self._cluster(provider).describe()
        return self._described[provider]

    def read(self, provider: str, kind: str, names: Collection[Identity] | None) -> KindSnapshot:
        """Read objects in full, by name; None stands for all there are."""
        key = (provider, kind, None if names is None else frozenset(names))
        if key not in self._readings:
            self._readings[key] = self._read(self._cluster(provider), kind, names)
        return self._readings[key]

    def _read(
        self, cluster: Cluster, name: str, names: Collection[Identity] | None
    ) -> KindSnapshot:
        kind = next(each for each in KINDS if each.name == name)
        found = kind.read(cluster, names or ())
        if names is None and name == _LISTED_FIRST:
            return kind.read(cluster, list(found.objects))
        return found
