"""What a cluster tells about itself, as tables."""

from collections.abc import Iterator

from kplan.cluster.port import Cluster
from kplan.cluster.topology import Quorum, QuorumReplica
from kplan.model.errors import ClusterError
from kplan.model.table import Cell, Figures, FigureTable
from kplan.workflow.versions import offers

_SILENT_MS = 10_000
"""A node that runs fetches the metadata twice a second."""


def cluster_described(cluster: Cluster) -> Figures:
    """Tell the id, version and live brokers of a cluster, and who we are to it.

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    found = cluster.describe()
    nodes = sorted(found.nodes, key=lambda each: each.id)
    rows = tuple((each.id, f"{each.host}:{each.port}", each.rack) for each in nodes)
    noun = "broker" if found.controller_access is None else "controller"
    whole = (found.cluster_id, found.version, found.principal, len(nodes))
    return Figures(
        "The cluster",
        (
            FigureTable("cluster", ("cluster_id", "version", "principal", f"{noun}s"), (whole,)),
            FigureTable(f"{noun}s", (noun, "address", "rack"), rows),
        ),
    )


def controllers_listed(cluster: Cluster) -> Figures:
    """Tell the controllers of a cluster and which one is active (K919-07, K919-09).

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
        silent = offers(cluster)[1]
    rows = tuple(
        (number, at.get(number, ""), _state(number, found), behind.get(number))
        for number in sorted({*at, *behind})
    )
    return Figures(
        "The controllers",
        (FigureTable("controllers", ("controller", "address", "state", "behind"), rows),),
        notes=tuple(silent) or tuple(_unheard(found)),
    )


def _state(number: int, found: Quorum) -> str:
    return "active" if number == found.leader else "inactive"


def quorum_described(cluster: Cluster) -> Figures:
    """Tell who leads the metadata, and how far voters and observers are behind (K919-21).

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
                tuple(_replicas(found)),
            ),
        ),
        notes=tuple(_unheard(found)),
    )


def _replicas(found: Quorum) -> Iterator[tuple[Cell, ...]]:
    for each in found.voters:
        yield _replica(each, "leader" if each.id == found.leader else "voter")
    for each in found.observers:
        yield _replica(each, "observer")


def _replica(each: QuorumReplica, role: str) -> tuple[Cell, ...]:
    return (each.id, role, each.end_offset, each.lag, each.fetched_ms, each.caught_up_ms)


def _unheard(found: Quorum) -> Iterator[str]:
    """Name the nodes that have not fetched for long: most often they are down."""
    for each in (*found.voters, *found.observers):
        if each.id != found.leader and (each.fetched_ms is None or each.fetched_ms > _SILENT_MS):
            ago = "yet" if each.fetched_ms is None else f"for {each.fetched_ms // 1000} s"
            yield f"Node {each.id} has not fetched {ago}."


def features_listed(cluster: Cluster) -> Figures:
    """Tell the level of each feature, and those that every node could run (K919-20, KIP-584).

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    told, silent = offers(cluster)
    if not told:
        raise ClusterError(" ".join(silent))
    ranges: dict[str, list[tuple[int, int]]] = {}
    levels: dict[str, int] = {}
    for each in told.values():
        for name, span in each.supported.items():
            ranges.setdefault(name, []).append(span)
        levels |= each.finalized
    rows = tuple(
        (name, levels.get(name, 0), *_shared(spans), levels.get(name, 0) < _shared(spans)[1])
        for name, spans in sorted(ranges.items())
    )
    columns = ("feature", "level", "lowest", "highest", "can_be_raised")
    return Figures("The features", (FigureTable("features", columns, rows),), notes=tuple(silent))


def _shared(spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Give the levels that all of them can run."""
    return max(low for low, _ in spans), min(high for _, high in spans)
