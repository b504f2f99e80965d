"""Use case: tell what every broker, or controller, offers (KIP-35, KIP-97)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from kplan.cluster.port import Cluster
from kplan.cluster.settings import NodeVersions
from kplan.config.load import Configuration
from kplan.model.errors import ClusterError
from kplan.model.resource import cluster_label
from kplan.model.snapshot import Broker
from kplan.model.table import Figures, FigureTable
from kplan.workflow.opened import loaded
from kplan.workflow.project import Ports, Project

Told = Mapping[Broker, NodeVersions]


def versions(project: Project, ports: Ports) -> Figures:
    """Ask every broker of every connection for its APIs and features.

    Brokers that do not answer, and brokers that offer other versions than the rest, are noted.

    Raises:
        ConfigError: the configuration has mistakes.
        Unreachable, AuthError: a cluster as a whole cannot be asked.

    """
    configuration = loaded(project)
    tables: list[FigureTable] = []
    notes: list[str] = []
    keys = _keys(configuration)
    for key in keys:
        ports.progress.stage("Asking the brokers")
        with closing(ports.connect(configuration, key)) as cluster:
            told, silent = offers(cluster)
            noun = "broker" if cluster.describe().controller_access is None else "controller"
        tables += [_named(each, key, keys) for each in _tables(told, noun)]
        notes += [cluster_label(each, key) for each in (*silent, *_mixture(told))]
    return Figures("What the brokers offer", tuple(tables), notes=tuple(notes))


def _keys(configuration: Configuration) -> tuple[str, ...]:
    return tuple(sorted({each.key for each in configuration.providers})) or ("",)


def offers(cluster: Cluster) -> tuple[Told, list[str]]:
    """Ask each node; one that does not answer leaves the others told (K117-08), with a note."""
    described = cluster.describe()
    noun = "Broker" if described.controller_access is None else "Controller"
    told: dict[Broker, NodeVersions] = {}
    silent: list[str] = []
    for node in described.nodes:
        try:
            told[node] = cluster.versions(broker=node.id)
        except ClusterError as failure:
            silent.append(f"{noun} {node.id} cannot be asked: {failure.detail}")
    return told, silent


def _named(table: FigureTable, key: str, keys: Sequence[str]) -> FigureTable:
    name = cluster_label(table.name, key) if len(keys) > 1 else table.name
    return FigureTable(name, table.columns, table.rows)


def _tables(told: Told, noun: str) -> Iterator[FigureTable]:
    nodes = [f"{noun} {each.id}" for each in told]
    yield FigureTable(
        f"{noun}s",
        (noun, "address", "rack", "release", "apis"),
        tuple(
            (str(each.id), f"{each.host}:{each.port}", each.rack, found.release, len(found.apis))
            for each, found in told.items()
        ),
    )
    names = dict.fromkeys(name for found in told.values() for name in found.apis)
    yield FigureTable(
        "apis",
        ("api", *nodes),
        tuple((name, *(_range(found.apis.get(name)) for found in told.values())) for name in names),
    )
    features = sorted({name for found in told.values() for name in found.supported})
    yield FigureTable(
        "features",
        ("feature", "level", *nodes),
        tuple(
            (
                name,
                max(found.finalized.get(name, 0) for found in told.values()),
                *(_range(found.supported.get(name)) for found in told.values()),
            )
            for name in features
        ),
    )


def _range(found: tuple[int, int] | None) -> str:
    return "-" if found is None else f"{found[0]} to {found[1]}"


def _mixture(told: Told) -> Iterator[str]:
    """Say where brokers differ: most often an upgrade is under way."""
    apis = {name for found in told.values() for name in found.apis}
    mixed = sorted(
        name for name in apis if len({found.apis.get(name) for found in told.values()}) > 1
    )
    if mixed:
        shown = ", ".join(mixed[:_NAMED]) + (", ..." if len(mixed) > _NAMED else "")
        yield (
            f"The brokers offer different versions of {len(mixed)} APIs ({shown}): "
            "kplan uses what the broker offers that it asks. Is an upgrade under way?"
        )


_NAMED = 5
