"""Reads clusters on the executors: each live or from a file, within a deadline."""

import json
import pickle
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kplan.cluster.authorizer_settings import read_authorizer_settings
from kplan.cluster.port import Cluster
from kplan.cluster.protocol import INT64_MAX
from kplan.cluster.request import TopicDescription
from kplan.cluster.usage import TopicUse
from kplan.fleet.dataframe import long_array, map_array, string_array
from kplan.fleet.snapshot import (
    ABSENT_NAMES,
    ALLOW_EVERYONE,
    CLUSTER,
    GROUP,
    LEADERLESS,
    SIZES,
    STORED_SCHEMA,
    UNDER_REPLICATED,
    UNREAD,
    USE,
    Row,
    read_snapshot,
    snapshot_rows,
    unread_cluster_rows,
)
from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.errors import (
    ClusterError,
    FleetError,
    KplanError,
    Refusal,
    UnreadableError,
    UnsupportedError,
)
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot, Snapshot
from kplan.policy.risk import topic_impact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_use_rows(name: str, cluster: Cluster, topics: Collection[str]) -> Iterator[Row]:
    """Read the usage of topics and all groups; unread parts are reported."""
    try:
        used = cluster.topic_use(topics) if topics else {}
        health = cluster.topics(topics) if topics else {}
        yield from (
            Row(
                name,
                USE,
                each,
                attributes={**_use_attributes(used[each]), **_health_attributes(health.get(each))},
            )
            for each in sorted(used)
        )
    except ClusterError as failure:
        yield Row(name, UNREAD, USE, attributes={"reason": failure.detail})
    try:
        yield from (Row(name, GROUP, each) for each in sorted(cluster.group_names()))
    except ClusterError as failure:
        yield Row(name, UNREAD, GROUP, attributes={"reason": failure.detail})


def _use_attributes(used: TopicUse) -> Mapping[str, str]:
    summed = topic_impact(used, 0)
    newest = [each.newest_ms for each in used.partitions.values() if each.records != 0]
    known = [each for each in newest if each is not None]
    groups = [[each.group, each.is_live, each.lag] for each in summed.groups or ()]
    values = {
        "records": summed.records,
        "bytes": summed.size_bytes,
        "newest_ms": max(known, default=None) if len(known) == len(newest) else None,
        "producers": summed.producers,
        "groups": None if summed.groups is None else json.dumps(groups),
        "unread": "; ".join(used.unread) or None,
    }
    return {key: str(each) for key, each in values.items() if each is not None}


def _health_attributes(found: TopicDescription | Refusal | None) -> Mapping[str, str]:
    """Count the partitions without a leader or with too few replicas in sync."""
    if not isinstance(found, TopicDescription):
        return {}
    return {LEADERLESS: str(found.leaderless), UNDER_REPLICATED: str(found.under_replicated)}


DEADLINE_S = 120.0

NamesByKind = Mapping[str, Collection[Identity]]
"""By kind the objects that are asked for by name, as lists may not show them."""


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """The origin of one cluster's rows: `connect` opens it live, otherwise `file` contains them.

    `allow_everyone` is read from a broker, or taken from the file, where it is None.
    `expected_names` is what is declared or owned there.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    connect: Callable[[], Cluster] | None = field(default=None, repr=False)
    file: Path | None = None
    deadline_s: float = DEADLINE_S
    super_users: tuple[str, ...] = ()
    allow_everyone: bool | None = None
    expected_names: NamesByKind = field(default_factory=dict, repr=False)

    @property
    def cluster_attributes(self) -> dict[str, str]:
        """The contents of a cluster's own row."""
        return {
            **{f"label.{name}": value for name, value in sorted(self.labels.items())},
            "super_users": json.dumps(self.super_users),
            **_everyone_attribute(self.allow_everyone),
        }


def _everyone_attribute(value: bool | None) -> dict[str, str]:  # noqa: FBT001 - it is the value
    """Return the attribute of a cluster that says it; none for what is not known."""
    return {} if value is None else {ALLOW_EVERYONE: json.dumps(value)}


def read_rows(source: SnapshotSource) -> Sequence[Row]:
    """Read everything of one cluster. A cluster that is down, hangs or refuses gives `unread` rows.

    A thread does the reading: a broker that takes a connection and then says nothing must not hold
    the others up, whatever library waits for it.
    """
    found: list[Sequence[Row]] = []
    opened: list[Cluster] = []
    thread = threading.Thread(
        target=lambda: found.append(_read_source(source, opened)), name=source.name, daemon=True
    )
    thread.start()
    thread.join(source.deadline_s)
    if found:
        return found[0]
    for cluster in opened:
        cluster.close()
    detail = f"Not read within its deadline of {source.deadline_s:g} s."
    return unread_cluster_rows(source.name, detail, source.cluster_attributes)


def _read_source(source: SnapshotSource, opened: list[Cluster]) -> Sequence[Row]:
    try:
        if source.connect is None:
            return _read_source_file(source)
        with closing(source.connect()) as cluster:
            opened.append(cluster)
            found = _read_snapshot(cluster, source.expected_names)
            about = {
                **_read_everyone(cluster, found, source),
                **source.cluster_attributes,
                ABSENT_NAMES: _absent_names_json(found, source.expected_names),
            }
            topics = found.readings.get("kafka_topic", KindSnapshot({})).objects
            return (
                *snapshot_rows(source.name, found, about),
                *read_use_rows(source.name, cluster, topics),
            )
    except FleetError as failure:  # of its file
        return unread_cluster_rows(source.name, failure.detail, source.cluster_attributes)
    except KplanError as failure:
        detail = f"{failure.summary}: {failure.detail}" if failure.detail else failure.summary
        return unread_cluster_rows(source.name, detail, source.cluster_attributes)
    except Exception as failure:  # noqa: BLE001 - one cluster never takes the others down
        detail = f"{type(failure).__name__}: {failure}"
        return unread_cluster_rows(source.name, detail, source.cluster_attributes)


def _read_everyone(cluster: Cluster, found: Snapshot, source: SnapshotSource) -> dict[str, str]:
    if source.allow_everyone is not None:
        return {}
    return _everyone_attribute(read_authorizer_settings(cluster, found.brokers).allow_everyone)


def _read_source_file(source: SnapshotSource) -> Sequence[Row]:
    if source.file is None:
        return unread_cluster_rows(
            source.name, "It has neither a provider nor a file.", source.cluster_attributes
        )
    about = source.cluster_attributes
    return tuple(
        replace_labels(row._replace(cluster=source.name), about)
        for row in read_snapshot(source.file)
    )


def replace_labels(row: Row, about: Mapping[str, str]) -> Row:
    """Set the current labels on the row of a cluster; those of the file are outdated."""
    if row.kind != CLUSTER:
        return row
    kept = {name: value for name, value in row.attributes.items() if not name.startswith("label.")}
    return row._replace(attributes={**kept, **about})


def _read_snapshot(cluster: Cluster, wanted: NamesByKind) -> Snapshot:
    """Read all kinds; undeclared objects are for the inventory (decision 0023)."""
    description = cluster.describe()
    readings: dict[str, KindSnapshot] = {}
    unread: dict[str, str] = {}
    for kind in KINDS:
        try:
            readings[kind.name] = _read_kind(kind, cluster, wanted.get(kind.name, ()))
        except (UnreadableError, UnsupportedError) as failure:
            unread[kind.name] = failure.detail
    return replace(
        Snapshot(description.cluster_id, description.brokers, readings, unread),
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        principal=description.principal,
        version=description.version,
    )


def _read_kind(kind: ResourceKind, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
    """Read a kind with everything there is to know of each object, not only of declared ones."""
    if kind.name != "kafka_topic":
        return kind.read(cluster, wanted)
    return kind.read(cluster, {*wanted, *kind.read(cluster, ()).objects})


def _absent_names_json(snapshot: Snapshot, wanted: NamesByKind) -> str:
    """Record the objects that were requested by name and do not exist."""
    absent = {
        kind: sorted(set(wanted.get(kind, ())) - reading.objects.keys() - reading.hidden.keys())
        for kind, reading in snapshot.readings.items()
    }
    return json.dumps({kind: names for kind, names in absent.items() if names}, sort_keys=True)


_BATCH_ROWS = 10_000
_STRING_COLUMNS = ("cluster", "kind", "identity", "uid", "value")


def read_clusters(spark: "SparkSession", sources: Sequence[SnapshotSource]) -> "DataFrame":
    """Return the rows of all clusters, read on the executors when Spark comes to it.

    One task reads one cluster. How to connect travels with the code of the tasks: Spark shows
    neither. A task unpacks its own cluster alone.
    """
    from pyspark import cloudpickle

    pack: Callable[[SnapshotSource], bytes] = cloudpickle.dumps
    packed = [pack(each) for each in sources]

    def read(numbers: Iterator[Any]) -> Iterator[Any]:  # Arrow batches, on the executor
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from _arrow_batches(read_rows(pickle.loads(packed[number])))  # noqa: S301 - ours

    count = len(packed)
    return spark.range(0, count, 1, max(1, count)).mapInArrow(read, STORED_SCHEMA)


def _arrow_batches(rows: Sequence[Row]) -> Iterator[Any]:
    """Make batches of the rows of one cluster, in STORED_SCHEMA."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor

    found = {row.identity: row.attributes.get("bytes") for row in rows if row.kind == USE}
    for start in range(0, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
        arrays = [string_array([getattr(row, name) for row in part]) for name in _STRING_COLUMNS]
        arrays.append(map_array([row.attributes for row in part]))
        sizes = zip(*(topic_size(row, found.get(row.identity)) for row in part), strict=True)
        arrays.extend(map(long_array, sizes))
        yield pa.RecordBatch.from_arrays(arrays, names=[*_STRING_COLUMNS, "attributes", *SIZES])


def topic_size(row: Row, size: str | None) -> tuple[int | None, ...]:
    """Return the SIZES of a row; `size` are the bytes of one replica, None where not known.

    Kafka tells the size of one replica, and the others follow it. What a file has that is no number
    is not known.
    """
    if row.kind != "kafka_topic":
        return (None,) * len(SIZES)
    found = row.attributes.get("partitions"), row.attributes.get("replication_factor"), size
    partitions, copies, own = (int(n) if n is not None and n.isdecimal() else None for n in found)
    of_all = (None if n is None or copies is None else n * copies for n in (partitions, own))
    return tuple(n if n is None or n <= INT64_MAX else None for n in (partitions, *of_all))
