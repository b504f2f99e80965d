"""Tables of a cluster: brokers, controllers, quorum, features, API versions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from kplan.cluster.port import Cluster
from kplan.cluster.request import TopicDescription
from kplan.cluster.settings import ConfigResource, ConfigScope, NodeVersions
from kplan.cluster.topology import Quorum, QuorumReplica
from kplan.config.load import Configuration
from kplan.model.errors import ClusterError, Refusal, UnsupportedError
from kplan.model.resource import cluster_label
from kplan.model.state import Broker
from kplan.model.table import Cell, Figures, FigureTable
from kplan.workflow.open_project import load_checked_connections
from kplan.workflow.ports import Ports, Project

VersionsByNode = Mapping[Broker, NodeVersions]


def list_versions(project: Project, ports: Ports) -> Figures:
    """Ask every broker of every connection for its APIs and features.

    Brokers that do not answer, and brokers that offer other versions than the rest, are noted.

    Raises:
        ConfigError: the configuration has mistakes.
        UnreachableError, AuthError: a cluster as a whole cannot be asked.

    """
    configuration = load_checked_connections(project)
    tables: list[FigureTable] = []
    notes: list[str] = []
    keys = _connection_keys(configuration)
    for key in keys:
        ports.progress.stage("Asking the brokers")
        with closing(ports.connect(configuration, key)) as cluster:
            found, silent = read_node_versions(cluster)
            noun = "broker" if cluster.describe().controller_access is None else "controller"
        tables += [_label_table(each, key, keys) for each in _version_tables(found, noun)]
        notes += [cluster_label(each, key) for each in (*silent, *_version_mismatches(found))]
    return Figures("What the brokers offer", tuple(tables), notes=tuple(notes))


def _connection_keys(configuration: Configuration) -> tuple[str, ...]:
    return tuple(sorted({each.key for each in configuration.providers})) or ("",)


def read_node_versions(cluster: Cluster) -> tuple[VersionsByNode, list[str]]:
    """Query each node; one that does not answer becomes a note (K117-08)."""
    described = cluster.describe()
    noun = "Broker" if described.controller_access is None else "Controller"
    values: dict[Broker, NodeVersions] = {}
    silent: list[str] = []
    for node in described.nodes:
        try:
            values[node] = cluster.versions(broker=node.id)
        except ClusterError as failure:
            silent.append(f"{noun} {node.id} cannot be asked: {failure.detail}")
    return values, silent


def _label_table(table: FigureTable, key: str, keys: Sequence[str]) -> FigureTable:
    name = cluster_label(table.name, key) if len(keys) > 1 else table.name
    return FigureTable(name, table.columns, table.rows)


def _version_tables(node: VersionsByNode, noun: str) -> Iterator[FigureTable]:
    nodes = [f"{noun} {each.id}" for each in node]
    yield FigureTable(
        f"{noun}s",
        (noun, "address", "rack", "release", "apis"),
        tuple(
            (str(each.id), f"{each.host}:{each.port}", each.rack, found.release, len(found.apis))
            for each, found in node.items()
        ),
    )
    names = dict.fromkeys(name for found in node.values() for name in found.apis)
    yield FigureTable(
        "apis",
        ("api", *nodes),
        tuple(
            (name, *(_format_range(found.apis.get(name)) for found in node.values()))
            for name in names
        ),
    )
    features = sorted({name for found in node.values() for name in found.supported})
    yield FigureTable(
        "features",
        ("feature", "level", *nodes),
        tuple(
            (
                name,
                max(found.finalized.get(name, 0) for found in node.values()),
                *(_format_range(found.supported.get(name)) for found in node.values()),
            )
            for name in features
        ),
    )


def _format_range(found: tuple[int, int] | None) -> str:
    return "-" if found is None else f"{found[0]} to {found[1]}"


def _version_mismatches(node: VersionsByNode) -> Iterator[str]:
    """Say where brokers differ: most often an upgrade is under way."""
    apis = {name for found in node.values() for name in found.apis}
    mixed = sorted(
        name for name in apis if len({found.apis.get(name) for found in node.values()}) > 1
    )
    if mixed:
        shown = ", ".join(mixed[:_MAX_NAMES]) + (", ..." if len(mixed) > _MAX_NAMES else "")
        yield (
            f"The brokers offer different versions of {len(mixed)} APIs ({shown}): "
            "kplan uses what the broker offers that it asks. Is an upgrade under way?"
        )


_MAX_NAMES = 5


_SILENT_MS = 10_000
"""A node that runs fetches the metadata twice a second."""


def describe_cluster(cluster: Cluster) -> Figures:
    """Return the id, version, brokers and active controller of a cluster, and who we are to it.

    Brokers that are down are named where the cluster tells (KIP-1073, Kafka 4.0), and else as far
    as visible topics have replicas on them.

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    found = cluster.describe()
    noun = "broker" if found.controller_access is None else "controller"
    rows: list[tuple[Cell, ...]] = [
        (each.id, f"{each.host}:{each.port}", each.rack, "alive" if noun == "broker" else "")
        for each in found.nodes
    ]
    rows += [(each.id, f"{each.host}:{each.port}", each.rack, "fenced") for each in found.fenced]
    known = {each.id for each in (*found.nodes, *found.fenced)}
    notes: list[str] = []
    if noun == "broker":
        lost = _replica_brokers(cluster, notes) - known
        rows += [(each, "", "", "not registered") for each in sorted(lost)]
    leader = _active_controller(cluster, notes)
    policies = _broker_policies(cluster, found.nodes, notes) if noun == "broker" else ()
    whole = (found.cluster_id, found.version, found.principal, len(found.nodes), leader)
    columns = ("cluster_id", "version", "principal", f"{noun}s", "active_controller")
    return Figures(
        "The cluster",
        (
            FigureTable("cluster", columns, (whole,)),
            FigureTable(
                f"{noun}s",
                (noun, "address", "rack", "state"),
                tuple(sorted(rows, key=lambda row: str(row[0]).zfill(_ID_WIDTH))),
            ),
            *((FigureTable("policies", ("config", "class"), policies),) if policies else ()),
        ),
        notes=tuple(notes),
        findings=frozenset({"unread"} if notes else ()),
    )


_ID_WIDTH = 10


def _replica_brokers(cluster: Cluster, notes: list[str]) -> set[int]:
    """Return the brokers that replicas of visible topics are assigned to."""
    try:
        topics = cluster.topics().values()
    except ClusterError as failure:
        notes.append(f"Topics cannot be read: {failure.detail}")
        return set()
    described = (each for each in topics if isinstance(each, TopicDescription))
    return {broker for each in described for replicas in each.assignment for broker in replicas}


_POLICY_CONFIGS = ("create.topic.policy.class.name", "alter.config.policy.class.name")


def _broker_policies(
    cluster: Cluster, nodes: Sequence[Broker], notes: list[str]
) -> tuple[tuple[Cell, ...], ...]:
    """Return the policy classes that one broker has in its settings (KIP-108, KIP-133).

    Controllers ask them: where these are separate nodes, brokers may show none.
    """
    if not nodes:
        return ()
    asked = ConfigResource(ConfigScope.BROKER, str(min(each.id for each in nodes)))
    try:
        found = cluster.configs([asked]).get(asked, {})
    except ClusterError as failure:
        notes.append(f"Configs of brokers cannot be read: {failure.detail}")
        return ()
    if isinstance(found, Refusal):
        notes.append(f"Configs of brokers cannot be read: {str(found).rstrip('.')}.")
        return ()
    return tuple(
        (key, found[key].entry.value or "(hidden)")
        for key in _POLICY_CONFIGS
        if key in found and (found[key].entry.value or found[key].entry.is_sensitive)
    )


def _active_controller(cluster: Cluster, notes: list[str]) -> int | None:
    """Return the leader of the quorum; None on a cluster with ZooKeeper."""
    try:
        return cluster.quorum().leader
    except UnsupportedError:
        return None
    except ClusterError as failure:
        notes.append(f"The quorum of controllers cannot be read: {failure.detail}")
        return None


def list_controllers(cluster: Cluster) -> Figures:
    """Return the controllers of a cluster and which one is active (K919-07, K919-09).

    Asked directly, each is asked whether it answers.

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    described, found = cluster.describe(), cluster.quorum()
    direct = described.controller_access
    behind = {each.id: each.lag for each in found.voters}
    at = dict(found.addresses)
    silent: list[str] = []
    if direct is not None:
        at |= {each.id: f"{each.host}:{each.port}" for each in direct.controllers}
        silent = read_node_versions(cluster)[1]
    rows = tuple(
        (number, at.get(number, ""), _controller_state(number, found), behind.get(number))
        for number in sorted({*at, *behind})
    )
    return Figures(
        "The controllers",
        (FigureTable("controllers", ("controller", "address", "state", "behind"), rows),),
        notes=tuple(silent) or tuple(_silent_nodes(found)),
    )


def _controller_state(number: int, quorum: Quorum) -> str:
    return "active" if number == quorum.leader else "inactive"


def describe_quorum(cluster: Cluster) -> Figures:
    """Return who leads the metadata, and how far voters and observers are behind (K919-21).

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    found = cluster.quorum()
    whole = (
        found.leader,
        found.epoch,
        found.high_watermark,
        len(found.voters),
        len(found.observers),
    )
    columns = ("leader", "epoch", "high_watermark", "voters", "observers")
    return Figures(
        "The quorum of controllers",
        (
            FigureTable("quorum", columns, (whole,)),
            FigureTable(
                "replicas",
                ("node", "role", "end_offset", "behind", "fetched_ms_ago", "caught_up_ms_ago"),
                tuple(_replica_rows(found)),
            ),
        ),
        notes=tuple(_silent_nodes(found)),
    )


def _replica_rows(quorum: Quorum) -> Iterator[tuple[Cell, ...]]:
    for each in quorum.voters:
        yield _replica_row(each, "leader" if each.id == quorum.leader else "voter")
    for each in quorum.observers:
        yield _replica_row(each, "observer")


def _replica_row(each: QuorumReplica, role: str) -> tuple[Cell, ...]:
    return (each.id, role, each.end_offset, each.lag, each.fetched_ms, each.caught_up_ms)


def _silent_nodes(quorum: Quorum) -> Iterator[str]:
    """Name the nodes that have not fetched for long: most often they are down."""
    for each in (*quorum.voters, *quorum.observers):
        if each.id != quorum.leader and (each.fetched_ms is None or each.fetched_ms > _SILENT_MS):
            ago = "yet" if each.fetched_ms is None else f"for {each.fetched_ms // 1000} s"
            yield f"Node {each.id} has not fetched {ago}."


def list_features(cluster: Cluster) -> Figures:
    """Return the level of each feature, and those that every node could run (K919-20, KIP-584).

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    found, silent = read_node_versions(cluster)
    if not found:
        raise ClusterError(" ".join(silent))
    levels: dict[str, int] = {}
    for each in found.values():
        levels |= each.finalized
    # In the middle of an upgrade an older node has no range of a feature: it runs level 0 alone.
    ranges = {
        name: [each.supported.get(name, (0, 0)) for each in found.values()]
        for name in {name for each in found.values() for name in each.supported}
    }
    rows = tuple(
        (
            name,
            levels.get(name, 0),
            *_common_levels(spans),
            levels.get(name, 0) < _common_levels(spans)[1],
        )
        for name, spans in sorted(ranges.items())
    )
    columns = ("feature", "level", "lowest", "highest", "can_be_raised")
    return Figures("The features", (FigureTable("features", columns, rows),), notes=tuple(silent))


def _common_levels(spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the levels that all of them can run."""
    return max(low for low, _ in spans), min(high for _, high in spans)
