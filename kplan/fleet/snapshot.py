"""The known facts of a cluster as rows of one shape, for every kind of object.

One row is one object as it was read: a topic, an ACL, a quota, a consumer group. `value` is the
object as JSON under the attribute names of its kind, or null for what is no kind; `attributes`
holds the same flat (`config.retention.ms`), for jobs that go by attribute. A cluster as a whole has
a row of kind `cluster`, with its labels. What could not be read is a row of kind `unread`: its
identity is the kind, or `*` for everything, and it says why. An object that the cluster would not
show is a row of kind `hidden`. What is in a topic and who uses it is a row of kind `use`, a
consumer group one of kind `group`.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import from_document, to_document, to_stored_document
from kplan.model.errors import FleetError, Refusal
from kplan.model.resource import Identity
from kplan.model.state import Broker, KindSnapshot, LiveObject, Snapshot
from kplan.model.version import VERSION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ROW_FORMAT = 1
"""Of the rows; it goes up when a reader of older rows would misread newer ones."""

OBJECT_SCHEMA = (
    "cluster string, kind string, identity string, uid string, value string, "
    "attributes map<string,string>"
)
"""The schema of the rows, as Spark writes it."""
SIZES = ("partitions", "replicas", "bytes")
"""Columns of stored rows of topics, null in others; the bytes are those of all replicas.

What is in the attributes of two rows of a topic is so read without these rows being put together.
"""
STORED_SCHEMA = f"{OBJECT_SCHEMA}, {', '.join(f'{each} long' for each in SIZES)}"
"""The schema of the rows of a run."""

CLUSTER = "cluster"
UNREAD = "unread"
HIDDEN = "hidden"
USE = "use"
GROUP = "group"
NON_OBJECT_KINDS = (CLUSTER, UNREAD, HIDDEN, USE, GROUP)
KINDS_READ = "kinds"
"""The attribute of a cluster that lists, as JSON, the kinds that were read in full: of any other
kind nothing is known, also not that there is none."""
ABSENT_NAMES = "asked"
"""The attribute of a cluster that lists, as JSON by kind, what was asked for by name and is not
there. What is not listed here, nor found, may also be hidden from lists."""
ALLOW_EVERYONE = "allow_everyone"
"""The attribute of a cluster that says, as JSON, whether brokers allow everyone what has no ACL;
there is none where that is not known."""
LEADERLESS, UNDER_REPLICATED = "leaderless", "under_replicated"
"""Attributes of the use of a topic: its partitions without a leader or without all replicas."""
ALL_KINDS = "*"


class Row(NamedTuple):
    """One object of one cluster."""

    cluster: str
    kind: str
    identity: str
    uid: str = ""
    value: str | None = None
    attributes: Mapping[str, str] = {}


def snapshot_rows(name: str, snapshot: Snapshot, about: Mapping[str, str]) -> Iterator[Row]:
    """Write a snapshot as rows; `about` goes into the cluster's own row."""
    facts = {
        "cluster_id": snapshot.cluster_id,
        "principal": snapshot.principal,
        "version": snapshot.version,
        "taken_at": snapshot.taken_at,
        "brokers": json.dumps([[b.id, b.host, b.port, b.rack] for b in snapshot.brokers]),
        KINDS_READ: _to_json(sorted(snapshot.readings)),
        **about,
    }
    yield Row(name, CLUSTER, snapshot.cluster_id, attributes=facts)
    for kind, reading in sorted(snapshot.readings.items()):
        for identity in sorted(reading.objects):
            live = reading.objects[identity]
            yield _object_row(name, kind, (identity, live.uid), live.value)
        for identity, refusal in sorted(reading.hidden.items()):
            why = {
                "kind": kind,
                "error": refusal.error,
                "code": str(refusal.code),
                "message": refusal.message,
            }
            yield Row(name, HIDDEN, identity, attributes=why)
    for kind, reason in sorted(snapshot.unread.items()):
        yield Row(name, UNREAD, kind, attributes={"reason": reason})


def kinds_read() -> "Column":
    """Return the kinds that a run read in full, of the row of a cluster."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    return F.from_json(F.col("attributes")[KINDS_READ], "array<string>")


def object_row(cluster: str, kind: ResourceKind, value: object) -> Row:
    """Write one object that does not exist yet, but will be."""
    return _object_row(cluster, kind.name, (str(kind.identify(value)), ""), value)


def _object_row(cluster: str, kind: str, known_as: tuple[str, str], value: object) -> Row:
    found = to_document(value) | to_stored_document(value)
    return Row(cluster, kind, *known_as, _to_json(found), dict(flatten_attributes(found)))


def unread_cluster_rows(name: str, reason: str, about: Mapping[str, str]) -> tuple[Row, ...]:
    """Write down a cluster of which nothing could be read."""
    return (
        Row(name, CLUSTER, "", attributes=about),
        Row(name, UNREAD, ALL_KINDS, attributes={"reason": reason}),
    )


def snapshot_from_rows(rows: Iterable[Row]) -> Snapshot | str:
    """Read the rows of `snapshot_rows` of one cluster; an unread one has a reason."""
    kinds: Mapping[str, ResourceKind] = {each.name: each for each in KINDS}
    objects: dict[str, dict[Identity, LiveObject]] = {name: {} for name in kinds}
    hidden: dict[str, dict[Identity, Refusal]] = {name: {} for name in kinds}
    unread: dict[str, str] = {}
    facts: Mapping[str, str] = {}
    for row in rows:
        if row.kind == CLUSTER:
            facts = row.attributes
        elif row.kind == UNREAD:
            unread[row.identity] = row.attributes["reason"]
        elif row.kind == HIDDEN:
            found = row.attributes
            why = Refusal(found["error"], int(found["code"]), found["message"])
            hidden[found["kind"]][Identity(row.identity)] = why
        elif row.kind in kinds and row.value is not None:
            value = from_document(kinds[row.kind].schema, json.loads(row.value))
            objects[row.kind][Identity(row.identity)] = LiveObject(value, row.uid)
    if ALL_KINDS in unread:
        return unread[ALL_KINDS]
    return Snapshot(
        facts.get("cluster_id", ""),
        tuple(Broker(*each) for each in json.loads(facts.get("brokers", "[]"))),
        {
            name: KindSnapshot(objects[name], hidden[name])
            for name in json.loads(facts.get(KINDS_READ, "[]"))
            if name in kinds
        },
        unread,
        facts.get("taken_at", ""),
        facts.get("principal", ""),
        facts.get("version", ""),
    )


def flatten_attributes(found: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """List attributes by dotted name; lists are JSON, unset ones are left out."""
    for name in sorted(found):
        value = found[name]
        if isinstance(value, Mapping):
            yield from flatten_attributes(value, f"{prefix}{name}.")
        elif isinstance(value, str):
            yield f"{prefix}{name}", value
        elif value is not None:
            yield f"{prefix}{name}", _to_json(value)


_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


FILE_KIND = "kplan snapshot"


def write_snapshot(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with _open_file(fresh, "wt", is_packed=path.suffix == ".gz") as file:
            head = {
                "kind": FILE_KIND,
                "format": ROW_FORMAT,
                "kplan_version": VERSION,
                "rows": len(rows),
            }
            file.write(json.dumps(head) + "\n")
            for row in rows:
                file.write(json.dumps(row, sort_keys=True) + "\n")
            file.write(json.dumps({"end": len(rows)}) + "\n")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def save_snapshots(objects: "DataFrame", clusters: Iterable[str], folder: Path) -> None:
    """Write each cluster to its own file; one cluster at a time is in memory."""
    for name in clusters:
        own = objects.where(objects["cluster"] == name).select(*Row._fields)
        ordered = own.orderBy("kind", "identity").toLocalIterator()
        rows = [Row(*each) for each in ordered]
        if all(row.kind != UNREAD for row in rows):
            write_snapshot(folder / f"{name}.jsonl.gz", rows)


def read_snapshot(path: Path) -> Iterator[Row]:
    """Read the output of `write_snapshot`.

    Raises:
        FleetError: it does not exist, or is truncated, damaged, newer, or something else.

    """
    try:
        with _open_file(path, "rt", is_packed=path.suffix == ".gz") as file:
            yield from _read_rows(path, file)
    except FleetError:
        raise
    except OSError as failure:
        raise FleetError(f"{path}: {failure.strerror or failure}.") from failure
    except (EOFError, zlib.error, ValueError, TypeError, KeyError) as failure:
        raise FleetError(f"{path} is cut or damaged.", _RETRY_HINT) from failure


_RETRY_HINT = "Create it again: kplan fleet snapshot -save=DIR"


def _read_rows(path: Path, file: IO[str]) -> Iterator[Row]:
    head = json.loads(file.readline() or "null")
    if not isinstance(head, dict) or head.get("kind") != FILE_KIND:
        raise FleetError(f"{path} is not a snapshot of kplan.", _RETRY_HINT)
    if head["format"] > ROW_FORMAT:
        raise FleetError(
            f"{path} has format {head['format']}; this version of kplan reads up to {ROW_FORMAT}.",
            f"Use kplan {head.get('kplan_version', '')} or later.",
        )
    for _ in range(head["rows"]):
        yield Row(*json.loads(file.readline()))
    if json.loads(file.readline()) != {"end": head["rows"]}:
        raise FleetError(f"{path} is cut or damaged.", _RETRY_HINT)


def _open_file(path: Path, mode: str, *, is_packed: bool) -> IO[str]:
    if not is_packed:
        return path.open(mode, encoding="utf-8")
    return cast("IO[str]", gzip.open(path, mode, encoding="utf-8"))
