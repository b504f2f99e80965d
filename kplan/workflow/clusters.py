"""The clusters that a configuration is about, opened together and read at the same time."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from threading import Event
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import (
    AuthError,
    ClusterError,
    ConfigError,
    StateError,
    UnreachableError,
    UsageError,
)
from kplan.model.resource import Identity, cluster_label, connection_name
from kplan.model.state import Snapshot, State
from kplan.report.documents.notation import count_text
from kplan.state.file import check_same_cluster
from kplan.state.journal import Journal
from kplan.workflow.platform import describe_with_platform
from kplan.workflow.ports import Ports
from kplan.workflow.snapshot import read_snapshot
from kplan.workflow.threads import map_in_threads

_T = TypeVar("_T")

DesiredIdentities = Mapping[str, Mapping[str, Collection[Identity]]]
"""Objects that are asked for by name: for each connection by kind."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A cluster that answers; `name` is that of its provider block, "" if it has none."""

    cluster: Cluster
    description: ClusterDescription
    name: str = ""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Connections by key, and why those of others cannot be had (design law 2)."""

    connections: Mapping[str, Connection] = field(default_factory=dict)
    unreachable: Mapping[str, ClusterError] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all connections, in order; that of the one without alias comes first."""
        return tuple(sorted({*self.connections, *self.unreachable}))

    @property
    def has_aliases(self) -> bool:
        """Whether there is any but the connection without alias."""
        return self.keys != ("",)

    @property
    def open(self) -> Mapping[str, Cluster]:
        """Clusters that answer, by key of the connection."""
        return {key: each.cluster for key, each in self.connections.items()}

    @property
    def descriptions(self) -> Mapping[str, ClusterDescription]:
        """What the clusters that answer are, by key of the connection."""
        return {key: each.description for key, each in self.connections.items()}

    @property
    def ids(self) -> Mapping[str, str]:
        """Ids of the clusters that answer, by key of the connection."""
        return {key: each.description.cluster_id for key, each in self.connections.items()}

    def connection(self, key: str) -> Connection:
        """Choose the connection that someone named.

        Raises:
            AuthError, UnreachableError: its cluster cannot be had.
            UsageError: no one declares it.

        """
        if key in self.connections:
            return self.connections[key]
        raise self.unreachable.get(key) or unknown_connection_error(key, self.keys)

    def record_ids(self, state: State) -> State:
        """Note in a state which clusters these are."""
        others = {key: each for key, each in self.ids.items() if key}
        own = self.ids.get("", state.cluster_id)
        return replace(state, cluster_id=own, clusters={**state.clusters, **others})


def unknown_connection_error(key: str, keys: Iterable[str]) -> UsageError:
    """Report an undeclared connection, with the declared ones."""
    return UsageError(
        f"There is no connection {connection_name(key)}.",
        hint=f"There are {', '.join(map(connection_name, keys))}; -provider=west means kafka.west.",
    )


def single_cluster(cluster: Cluster) -> Clusters:
    """Take a cluster for the only one, that of the connection without alias."""
    return Clusters({"": Connection(cluster, cluster.describe())})


@contextmanager
def connect_clusters(
    configuration: Configuration,
    state: State,
    ports: Ports,
    also: frozenset[str] = frozenset(),
    sent: frozenset[str] = frozenset(),
) -> Iterator[tuple[Clusters, State]]:
    """Open a connection for each key that resources use or that owns something.

    What is owned follows its cluster when the connection to it gets another name, and so does what
    an interrupted apply has `sent`. Where some of several clusters cannot be had, the others can.

    Raises:
        AuthError, UnreachableError: no cluster can be had.
        ConfigError: a connection cannot be made out, or two lead to one cluster.
        StateError: no connection leads to the cluster of an owned object.
        WrongClusterError: a connection leads to another cluster than the state says.

    """
    with ExitStack() as stack:
        declared = _declared_keys(configuration)
        # Any of them may be the new name of a connection that is not declared any more.
        asked = (also | sent) & declared if sent <= declared else declared
        used = _first_keys(configuration, state)
        owned = {each.provider for each in state.owned.values()}
        clusters = _open_connections(used | asked, Clusters(), configuration, (ports, stack))
        tried = asked - used - also - sent - owned
        clusters = _without_strangers(clusters, tried, state, sent | owned)
        state = _follow_clusters(state, clusters, sent, (configuration, ports))
        more = {each.provider for each in state.owned.values()} - {*clusters.keys}
        clusters = _open_connections(more, clusters, configuration, (ports, stack))
        if not clusters.connections:
            raise next(iter(clusters.unreachable.values()))
        _check_cluster_ids(clusters, state, configuration)
        yield clusters, state


def _declared_keys(configuration: Configuration) -> set[str]:
    """List the connections of provider blocks; without any, that of the environment."""
    return {each.key for each in configuration.providers} or {""}


def _first_keys(configuration: Configuration, state: State) -> set[str]:
    """List the connections of resources; without any, of owned objects, otherwise any one."""
    used = {each.provider for each in configuration.resources}
    declared = _declared_keys(configuration)
    return used or declared & {each.provider for each in state.owned.values()} or {min(declared)}


def _without_strangers(
    clusters: Clusters, tried: Collection[str], state: State, keys: Iterable[str]
) -> Clusters:
    """Leave out the connections that were tried and lead to no cluster that is looked for.

    Nothing uses them, so that it is no harm if another connection leads to the same cluster.
    """
    known = {each for key, each in clusters.ids.items() if key not in tried}
    sought = {state.cluster_id_of(key) for key in keys} - known - {""}
    found = {
        key: each
        for key, each in clusters.connections.items()
        if key not in tried or each.description.cluster_id in sought
    }
    is_found = sought <= {each.description.cluster_id for each in found.values()}
    dark = {
        key: each
        for key, each in clusters.unreachable.items()
        if key not in tried or not is_found  # it may be the one
    }
    return Clusters(found, dark)


def _open_connections(
    keys: Collection[str],
    clusters: Clusters,
    configuration: Configuration,
    outside: tuple[Ports, ExitStack],
) -> Clusters:
    ports, stack = outside
    declared = {each.key: each.arguments.get("name") for each in configuration.providers}
    names = {key: str(each) for key, each in declared.items() if each}
    names.setdefault("", ports.cluster_name)

    opened: list[Cluster] = []
    is_over = Event()
    stack.callback(is_over.set)

    def open_connection(key: str) -> Connection:
        cluster = ports.connect(configuration, key)
        stack.callback(cluster.close)
        opened.append(cluster)
        if is_over.is_set():  # Ctrl-C did not wait, and the stack may have been emptied before
            cluster.close()
        described = describe_with_platform(cluster.describe(), configuration, key)
        return Connection(cluster, described, names.get(key, ""))

    fresh, dark = _query_all(sorted(keys), open_connection, opened)
    return Clusters({**clusters.connections, **fresh}, {**clusters.unreachable, **dark})


def _query_all(
    keys: Collection[str], ask: Callable[[str], _T], clusters: Iterable[Cluster]
) -> tuple[dict[str, _T], dict[str, ClusterError]]:
    """Connect to all clusters in parallel; unreachable ones are returned with the reason.

    `clusters` are closed when that is broken off, so that no one waits for an answer.
    """

    def answer(key: str) -> _T | ClusterError:
        try:
            return ask(key)
        except (AuthError, UnreachableError) as failure:
            return failure

    if len(keys) == 1:
        found = {key: answer(key) for key in keys}
    else:
        answers = map_in_threads(answer, keys, clusters)
        found = dict(zip(keys, answers, strict=True))
    dark = {key: each for key, each in found.items() if isinstance(each, ClusterError)}
    return {key: each for key, each in found.items() if not isinstance(each, ClusterError)}, dark


def _follow_clusters(
    state: State,
    clusters: Clusters,
    sent: frozenset[str],
    outside: tuple[Configuration, Ports],
) -> State:
    """Let owned objects go along with their cluster where the connection to it was renamed."""
    configuration, ports = outside
    owned = {each.provider for each in state.owned.values()}
    names = renamed_connections(state, clusters, owned | sent)
    for key in sorted(owned | sent):
        if key in names:
            ports.progress.note(
                f"What was on {connection_name(key)} is on {connection_name(names[key])} now"
            )
        elif key in owned:
            _check_declared(state, key, clusters, configuration)
    return _rename_connections(state, names) if names else state


def renamed_connections(state: State, clusters: Clusters, keys: Iterable[str]) -> dict[str, str]:
    """Return the new names of connections to clusters that a state knows by another one."""
    by_id = {each: key for key, each in clusters.ids.items()}
    known = {key: state.cluster_id_of(key) for key in keys}
    return {
        key: by_id[cluster_id]
        for key, cluster_id in known.items()
        if clusters.ids.get(key) != cluster_id and cluster_id in by_id
    }


def _check_declared(
    state: State, key: str, clusters: Clusters, configuration: Configuration
) -> None:
    if key in clusters.keys or key in _declared_keys(configuration):
        return
    count = count_text(len(state.for_provider(key).owned), "object")
    name = connection_name(key)
    raise StateError(
        f"The state owns {count} on {name} (cluster {state.cluster_id_of(key)}), and the "
        "configuration declares no such connection.",
        f"Declare {name} again until they are deleted, or forget them: kplan state rm ADDRESS",
    )


def _rename_connections(state: State, names: Mapping[str, str]) -> State:
    owned = {
        at: replace(each, provider=names.get(each.provider, each.provider))
        for at, each in state.owned.items()
    }
    ids = {key: each for key, each in state.clusters.items() if key not in names}
    ids |= {new: state.cluster_id_of(old) for old, new in names.items()}
    own = ids.pop("", "" if "" in names else state.cluster_id)
    return replace(state, owned=owned, cluster_id=own, clusters=ids)


def _check_cluster_ids(clusters: Clusters, state: State, configuration: Configuration) -> None:
    owned = {"", *(each.provider for each in state.owned.values())}
    first: dict[str, str] = {}
    for key, cluster_id in clusters.ids.items():
        if key in owned:
            check_same_cluster(state, cluster_id, key)
        if cluster_id and first.setdefault(cluster_id, key) != key:
            raise ConfigError(
                [_same_cluster_diagnostic(first[cluster_id], key, cluster_id, configuration)]
            )


def _same_cluster_diagnostic(
    first: str, key: str, cluster_id: str, configuration: Configuration
) -> Diagnostic:
    places = {each.key: each.declared_at for each in configuration.providers}
    return Diagnostic(
        "KP307",
        Severity.ERROR,
        SUMMARIES["KP307"],
        f"{connection_name(first)} and {connection_name(key)} both lead to cluster {cluster_id}. "
        "kplan plans for each cluster on its own, and would not see what one does to the other.",
        "Use one connection for one cluster.",
        subject=places.get(key),
    )


# ---- reading


def read_clusters(
    clusters: Clusters, wanted: DesiredIdentities, kinds: Sequence[ResourceKind] = KINDS
) -> dict[str, Snapshot]:
    """Read all clusters in parallel; an unreachable one has only unread kinds.

    Raises:
        AuthError, UnreachableError: none of them can be had.

    """
    known = clusters.connections

    def read(key: str) -> Snapshot:
        found = known[key]
        return read_snapshot(found.cluster, found.description, kinds, wanted.get(key, {}))

    snapshots, lost = _query_all(known, read, [each.cluster for each in known.values()])
    if not snapshots:
        raise next(iter(lost.values()))
    for key, failure in {**clusters.unreachable, **lost}.items():
        why = f"{failure.summary}: {failure.detail}"
        asked = (kind for kind in kinds if kind.is_always_read or kind.name in wanted.get(key, {}))
        unread = {kind.name: why for kind in asked}
        snapshots[key] = Snapshot("", (), {}, unread, failure=_failure_diagnostic(key, failure))
    return dict(sorted(snapshots.items()))


def _failure_diagnostic(key: str, failure: ClusterError) -> Diagnostic:
    name = connection_name(key)
    detail = f"{name}: {failure.detail} Nothing is planned for {name}."
    return Diagnostic(failure.code, Severity.ERROR, failure.summary, detail, failure.hint)


def unread_kinds(snapshots: Mapping[str, Snapshot]) -> dict[str, str]:
    """Name the unread kinds with the reason: `kafka_acl on kafka.west`."""
    return {
        cluster_label(kind, key): reason
        for key, snapshot in snapshots.items()
        for kind, reason in snapshot.unread.items()
    }


def desired_identities(
    configuration: Configuration, state: State, journal: Journal | None = None
) -> DesiredIdentities:
    """List the objects that are declared, owned or in a journal: they are read by name."""
    wanted: dict[str, dict[str, set[Identity]]] = defaultdict(lambda: defaultdict(set))
    for resource in configuration.resources:
        wanted[resource.provider][resource.address.kind].add(resource.identity)
    for owned in state.owned.values():
        wanted[owned.provider][owned.address.kind].add(owned.identity)
    for change in journal.changes if journal else ():
        wanted[change.provider][change.kind].add(change.identity)
    return wanted
