"""Reading one cluster, live or from a file, within its deadline; failures come back as rows.

This runs wherever Spark runs it, so it knows nothing of Spark.
"""

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from kplan.cluster.port import Cluster
from kplan.fleet.rows import ASKED, CLUSTER, Row, snapshot_rows, unread_cluster
from kplan.fleet.saved import read_file
from kplan.fleet.use import use_rows
from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.model.errors import FleetError, KplanError, Unread, Unsupported
from kplan.model.resource import Identity
from kplan.model.snapshot import Reading, Snapshot

DEADLINE_S = 120.0

Wanted = Mapping[str, Collection[Identity]]
"""By kind the objects that are asked for by name, as lists may not show them."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows of one cluster come from: `connect` opens it live, else `file` holds them.

    `wanted` is what is declared or owned there.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    connect: Callable[[], Cluster] | None = field(default=None, repr=False)
    file: Path | None = None
    deadline_s: float = DEADLINE_S
    super_users: tuple[str, ...] = ()
    allow_everyone: bool = False
    wanted: Wanted = field(default_factory=dict, repr=False)

    @property
    def about(self) -> dict[str, str]:
        """What the row of the cluster says beside what was read."""
        return {
            **{f"label.{name}": value for name, value in sorted(self.labels.items())},
            "super_users": json.dumps(self.super_users),
            "allow_everyone": json.dumps(self.allow_everyone),
        }


def read_rows(source: Source) -> Sequence[Row]:
    """Read everything of one cluster. A cluster that is down, hangs or refuses gives `unread` rows.

    A thread does the reading: a broker that takes a connection and then says nothing must not hold
    the others up, whatever library waits for it.
    """
    found: list[Sequence[Row]] = []
    opened: list[Cluster] = []
    thread = threading.Thread(
        target=lambda: found.append(_attempted(source, opened)), name=source.name, daemon=True
    )
    thread.start()
    thread.join(source.deadline_s)
    if found:
        return found[0]
    for cluster in opened:
        cluster.close()
    told = f"Not read within its deadline of {source.deadline_s:g} s."
    return unread_cluster(source.name, told, source.about)


def _attempted(source: Source, opened: list[Cluster]) -> Sequence[Row]:
    try:
        if source.connect is None:
            return _from_file(source)
        with closing(source.connect()) as cluster:
            opened.append(cluster)
            found = _snapshot(cluster, source.wanted)
            about = {**source.about, ASKED: _absent(found, source.wanted)}
            topics = found.readings.get("kafka_topic", Reading({})).objects
            return (
                *snapshot_rows(source.name, found, about),
                *use_rows(source.name, cluster, topics),
            )
    except FleetError as failure:  # of its file
        return unread_cluster(source.name, failure.detail, source.about)
    except KplanError as failure:
        told = f"{failure.summary}: {failure.detail}" if failure.detail else failure.summary
        return unread_cluster(source.name, told, source.about)
    except Exception as failure:  # noqa: BLE001 - one cluster never takes the others down
        told = f"{type(failure).__name__}: {failure}"
        return unread_cluster(source.name, told, source.about)


def _from_file(source: Source) -> Sequence[Row]:
    if source.file is None:
        return unread_cluster(source.name, "It has neither a provider nor a file.", source.about)
    return tuple(
        replace_about(row._replace(cluster=source.name), source.about)
        for row in read_file(source.file)
    )


def replace_about(row: Row, about: Mapping[str, str]) -> Row:
    """Put the labels of today on the row of a cluster; those of the file are history."""
    if row.kind != CLUSTER:
        return row
    kept = {name: value for name, value in row.attributes.items() if not name.startswith("label.")}
    return row._replace(attributes={**kept, **about})


def _snapshot(cluster: Cluster, wanted: Wanted) -> Snapshot:
    """Read all kinds; those that nobody declares are for the inventory (decision 0023)."""
    description = cluster.describe()
    readings: dict[str, Reading] = {}
    unread: dict[str, str] = {}
    for kind in KINDS:
        try:
            readings[kind.name] = _whole(kind, cluster, wanted.get(kind.name, ()))
        except (Unread, Unsupported) as failure:
            unread[kind.name] = failure.detail
    return replace(
        Snapshot(description.cluster_id, description.brokers, readings, unread),
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        principal=description.principal,
        version=description.version,
    )


def _whole(kind: ResourceKind, cluster: Cluster, wanted: Collection[Identity]) -> Reading:
    """Read a kind with everything there is to know of each object, not only of declared ones."""
    if kind.name != "kafka_topic":
        return kind.read(cluster, wanted)
    return kind.read(cluster, {*wanted, *kind.read(cluster, ()).objects})


def _absent(found: Snapshot, wanted: Wanted) -> str:
    """Write down what was asked for by name and is not there."""
    absent = {
        kind: sorted(set(wanted.get(kind, ())) - reading.objects.keys() - reading.hidden.keys())
        for kind, reading in found.readings.items()
    }
    return json.dumps({kind: names for kind, names in absent.items() if names}, sort_keys=True)
