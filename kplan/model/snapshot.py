"""What was read from the cluster."""

from collections.abc import Mapping
from dataclasses import field

from kplan.model.dataclass import dataclass
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object as the cluster holds it.

    `uid` is Kafka's own id of this very incarnation (the topic id, KIP-516), else "".
    """

    value: object
    uid: str = ""


@dataclass(frozen=True, slots=True)
class KindSnapshot:
    """All objects of one kind, as far as the cluster shows them to us.

    `hidden` holds declared objects that the cluster would not show, with its answer; they are not
    absent (K4-34, K117-15).
    """

    objects: Mapping[Identity, LiveObject]
    hidden: Mapping[Identity, Refusal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker as the cluster registers it. `rack` is "" where none is set."""

    id: int
    host: str
    port: int
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster at one moment.

    A kind that could not be read in full stands in `unread` with the reason and never in
    `readings`: nothing is planned from it. `taken_at` is ISO 8601 in UTC, given by the caller.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    readings: Mapping[str, KindSnapshot]
    unread: Mapping[str, str] = field(default_factory=dict)
    taken_at: str = ""
    principal: str = ""
    version: str = ""

    def live_object(self, kind: str, identity: Identity) -> LiveObject | None:
        """Return the object, or None where a kind that was read in full does not hold it."""
        return self.readings[kind].objects.get(identity)
