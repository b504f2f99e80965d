"""Requests to a cluster about topics and ACLs, and their responses, in Kafka's words."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.state import Broker

Assignment = tuple[tuple[int, ...], ...]
"""Replicas per partition, in order of partition; the first replica is the preferred leader."""


@dataclass(frozen=True, slots=True)
class ControllerAccess:
    """Controllers that are asked with the brokers left out (KIP-919).

    `controllers` are all that are registered, whether they run or not; `active` is the id of the
    one that decides. Changes are refused unless `is_allowed`. `supported_changes`
    says in words what controllers can be asked to change.
    """

    controllers: tuple[Broker, ...]
    active: int
    is_allowed: bool = False
    supported_changes: str = ""


PLAINTEXT = "PLAINTEXT"
"""Kafka's name for a connection without TLS and without a login."""


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """Who answers. `principal` is how the cluster sees us, "" where that cannot be known.

    `fenced` brokers are registered, but down or not yet up (KIP-1073, Kafka 4.0); older clusters
    do not tell. Where controllers are asked directly, nothing is known of brokers. `platform` is
    that of `cluster/platform.py`, "" where none is known. `security_protocol` is that of the
    connection, by Kafka's name.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    principal: str = ""
    version: str = ""
    controller_access: ControllerAccess | None = None
    fenced: tuple[Broker, ...] = ()
    platform: str = ""
    security_protocol: str = PLAINTEXT

    @property
    def nodes(self) -> tuple[Broker, ...]:
        """The live brokers, or the controllers in their place."""
        return (
            self.brokers if self.controller_access is None else self.controller_access.controllers
        )

    @property
    def verifying_node_ids(self) -> tuple[int, ...]:
        """Ids of the nodes that must show a change: all live brokers.

        Of controllers it is the active one: others may be down, and follow when they are back.
        """
        if self.controller_access is None:
            return tuple(each.id for each in self.brokers)
        return (self.controller_access.active,)


@dataclass(frozen=True, slots=True)
class AuthorizedOperations:
    """The authorized operations by name. None, and a missing topic: not returned."""

    cluster: frozenset[str] | None = None
    topics: Mapping[str, frozenset[str]] = field(default_factory=dict)


NO_LEADER = -1
"""What brokers name as the leader of a partition that has none."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic as brokers serve it. `leaderless` counts partitions without a leader.

    `leaders` (or NO_LEADER), `in_sync` and `offline` replicas are in order of partition,
    as `assignment` is.
    """

    name: str
    topic_id: str
    assignment: Assignment
    is_internal: bool = False
    leaderless: int = 0
    leaders: tuple[int, ...] = ()
    in_sync: Assignment = ()
    offline: Assignment = ()

    @property
    def under_replicated(self) -> int:
        """Count the partitions with fewer in-sync replicas than replicas."""
        pairs = zip(self.assignment, self.in_sync, strict=False)
        return sum(1 for replicas, in_sync in pairs if len(in_sync) < len(replicas))


class ConfigSource(StrEnum):
    """The source of a config value (KIP-226); only TOPIC is the topic's own."""

    TOPIC = "topic"
    GROUP = "group"
    CLIENT_METRICS = "client metrics"
    DYNAMIC_BROKER = "dynamic broker"
    DYNAMIC_DEFAULT_BROKER = "dynamic default broker"
    STATIC_BROKER = "static broker"
    DEFAULT = "default"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One effective config value. A sensitive value is never sent by Kafka and is None here."""

    value: str | None
    source: ConfigSource
    is_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create.

    With `assignment` the counts follow from it and stay None; None counts mean the broker's
    defaults (KIP-464).
    """

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Assignment | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicPreview:
    """What a broker would make of a `NewTopic`; counts are None where it does not return."""

    partitions: int | None = None
    replication_factor: int | None = None
    config: Mapping[str, ConfigEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """A topic to grow to `total` partitions; `assignment` has the replicas of the new ones."""

    name: str
    total: int
    assignment: Assignment | None = None


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """Keys to set and keys to reset to the broker's default (IncrementalAlterConfigs, KIP-339)."""

    name: str
    set: Mapping[str, str] = field(default_factory=dict)
    delete: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicRef:
    """A topic to delete. With a topic id only that very incarnation is deleted (KIP-516)."""

    name: str
    topic_id: str = ""


@dataclass(frozen=True, slots=True, order=True)
class AclBinding:
    """An ACL in the words of the protocol: `TOPIC`, `LITERAL`, `READ`, `ALLOW` (KIP-140, 290)."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str

    def covers(self, other: "AclBinding") -> bool:
        """Whether it says all that another one says to its principal: the same, or more of it."""
        is_wider = self.pattern_type == "PREFIXED" and other.resource_name.startswith(
            self.resource_name
        )
        is_all = self.pattern_type == "LITERAL" and self.resource_name == "*"
        same = (self.pattern_type, self.resource_name) == (other.pattern_type, other.resource_name)
        return (
            self.permission == other.permission
            and self.resource_type == other.resource_type
            and self.principal in {other.principal, "User:*"}
            and self.host in {other.host, "*"}
            and self.operation in {other.operation, "ALL"}
            and (same or is_wider or is_all)
        )


ItemResult = Refusal | None
"""None: executed. A missing entry in a mapping of results: no answer came, outcome unknown."""
