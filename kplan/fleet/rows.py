"""What is known of a cluster as rows of one shape, whatever the kind of object.

One row is one object as it was read: a topic, an ACL, a quota, a consumer group. `value` is the
object as JSON under the attribute names of its kind, or null for what is no kind; `attributes`
holds the same flat (`config.retention.ms`), for jobs that go by attribute. A cluster as a whole has
a row of kind `cluster`, with its labels. What could not be read is a row of kind `unread`: its
identity is the kind, or `*` for everything, and it says why. An object that the cluster would not
show is a row of kind `hidden`. What stands in a topic and who uses it is a row of kind `use`, a
consumer group one of kind `group`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import document, from_document, stored_document
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity
from kplan.model.snapshot import Broker, Live, Reading, Snapshot

FORMAT = 1
"""Of the rows; it goes up when a reader of older rows would misread newer ones."""

OBJECTS = (
    "cluster string, kind string, identity string, uid string, value string, "
    "attributes map<string,string>"
)
"""The schema of the rows, as Spark writes it."""

CLUSTER = "cluster"
UNREAD = "unread"
HIDDEN = "hidden"
USE = "use"
GROUP = "group"
NO_OBJECTS = (CLUSTER, UNREAD, HIDDEN, USE, GROUP)
KINDS_READ = "kinds"
"""The attribute of a cluster that lists, as JSON, the kinds that were read in full: of any other
kind nothing is known, also not that there is none."""
ASKED = "asked"
"""The attribute of a cluster that lists, as JSON by kind, what was asked for by name and is not
there. What is not listed here, nor found, may also be hidden from lists."""
EVERYTHING = "*"


class Row(NamedTuple):
    """One object of one cluster."""

    cluster: str
    kind: str
    identity: str
    uid: str = ""
    value: str | None = None
    attributes: Mapping[str, str] = {}


def snapshot_rows(name: str, snapshot: Snapshot, about: Mapping[str, str]) -> Iterator[Row]:
    """Write a snapshot as rows; `about` goes into the cluster's own."""
    facts = {
        "cluster_id": snapshot.cluster_id,
        "principal": snapshot.principal,
        "version": snapshot.version,
        "taken_at": snapshot.taken_at,
        "brokers": json.dumps([[b.id, b.host, b.port, b.rack] for b in snapshot.brokers]),
        KINDS_READ: _json(sorted(snapshot.readings)),
        **about,
    }
    yield Row(name, CLUSTER, snapshot.cluster_id, attributes=facts)
    for kind, reading in sorted(snapshot.readings.items()):
        for identity in sorted(reading.objects):
            live = reading.objects[identity]
            yield _row(name, kind, (identity, live.uid), live.value)
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


def value_row(cluster: str, kind: ResourceKind, value: object) -> Row:
    """Write one object that is not there yet, but will be."""
    return _row(cluster, kind.name, (str(kind.identify(value)), ""), value)


def _row(cluster: str, kind: str, known_as: tuple[str, str], value: object) -> Row:
    found = document(value) | stored_document(value)
    return Row(cluster, kind, *known_as, _json(found), dict(flat(found)))


def unread_cluster(name: str, reason: str, about: Mapping[str, str]) -> tuple[Row, ...]:
    """Write down a cluster of which nothing could be read."""
    return (
        Row(name, CLUSTER, "", attributes=about),
        Row(name, UNREAD, EVERYTHING, attributes={"reason": reason}),
    )


def snapshot_of(rows: Iterable[Row]) -> Snapshot | str:
    """Read back what `snapshot_rows` wrote of one cluster; for an unread one say why."""
    kinds: Mapping[str, ResourceKind] = {each.name: each for each in KINDS}
    objects: dict[str, dict[Identity, Live]] = {name: {} for name in kinds}
    hidden: dict[str, dict[Identity, Refusal]] = {name: {} for name in kinds}
    unread: dict[str, str] = {}
    facts: Mapping[str, str] = {}
    for row in rows:
        if row.kind == CLUSTER:
            facts = row.attributes
        elif row.kind == UNREAD:
            unread[row.identity] = row.attributes["reason"]
        elif row.kind == HIDDEN:
            told = row.attributes
            why = Refusal(told["error"], int(told["code"]), told["message"])
            hidden[told["kind"]][Identity(row.identity)] = why
        elif row.kind in kinds and row.value is not None:
            value = from_document(kinds[row.kind].schema, json.loads(row.value))
            objects[row.kind][Identity(row.identity)] = Live(value, row.uid)
    if EVERYTHING in unread:
        return unread[EVERYTHING]
    return Snapshot(
        facts.get("cluster_id", ""),
        tuple(Broker(*each) for each in json.loads(facts.get("brokers", "[]"))),
        {
            name: Reading(objects[name], hidden[name])
            for name in json.loads(facts.get(KINDS_READ, "[]"))
            if name in kinds
        },
        unread,
        facts.get("taken_at", ""),
        facts.get("principal", ""),
        facts.get("version", ""),
    )


def flat(found: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """List attributes by dotted name; lists are JSON, what is not set is left out."""
    for name in sorted(found):
        value = found[name]
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, str):
            yield f"{prefix}{name}", value
        elif value is not None:
            yield f"{prefix}{name}", _json(value)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
