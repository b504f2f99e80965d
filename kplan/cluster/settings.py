"""Quotas, credentials, delegation tokens, features, and configs of brokers and groups."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum, StrEnum

from kplan.cluster.releases import first_release
from kplan.cluster.request import ConfigEntry
from kplan.cluster.topic import ConfigDefinition, ConfigType
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Whom a quota is for (KIP-546, KIP-612): a user, a client id, both at once, or an address.

    None leaves a part out; "" is its default, which means all without a quota of their own.
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        """Write the parts that exist, in one order."""
        parts = (("user", self.user), ("client-id", self.client_id), ("ip", self.ip))
        return ", ".join(
            f"{name} {part or '<default>'}" for name, part in parts if part is not None
        )


@dataclass(frozen=True, slots=True)
class QuotaAlteration:
    """Quotas of an entity to set, in the unit of each key, and quotas to remove."""

    entity: QuotaEntity
    set: Mapping[str, float] = field(default_factory=dict)
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class ScramUser:
    """A user's credential for one mechanism, `SCRAM-SHA-256` or `SCRAM-SHA-512` (KIP-554)."""

    user: str
    mechanism: str

    def __str__(self) -> str:
        """Write both."""
        return f"{self.user} {self.mechanism}"


@dataclass(frozen=True, slots=True)
class ScramAlteration:
    """A credential to set, or with a password of None to delete."""

    name: ScramUser
    iterations: int = 0
    password: str | None = field(default=None, repr=False)


class ConfigScope(IntEnum):
    """What configs may belong to beside topics (Kafka: ConfigResource.Type)."""

    BROKER = 4
    LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True, order=True)
class ConfigResource:
    """A broker by its id, a group or a metrics subscription by its name.

    The loggers of a node have its id. The broker "" means all brokers: what it is set to is the
    default of the cluster.
    """

    scope: ConfigScope
    name: str

    def __str__(self) -> str:
        """Write scope and name."""
        return f"{self.scope.name} {self.name or '<default>'}"


DURATION_KEYS: Mapping[str, Mapping[str, int]] = {
    "retention.ms": {
        "log.retention.ms": 1,
        "log.retention.minutes": 60_000,
        "log.retention.hours": 3_600_000,
    },
    "segment.ms": {"log.roll.ms": 1, "log.roll.hours": 3_600_000},
    "segment.jitter.ms": {"log.roll.jitter.ms": 1, "log.roll.jitter.hours": 3_600_000},
}
"""Configs of brokers that a key of topics falls back to, the first that is set, in milliseconds.

Kafka lists none of them among the synonyms of the key while it is set at the topic (4.3).
"""


@dataclass(frozen=True, slots=True)
class ConfigDetail:
    """One effective config value with Kafka's facts about its key (KIP-226, KIP-569).

    A read-only key can be set in the file of the broker only. `type` is None for one that this
    version of kplan does not know.
    """

    entry: ConfigEntry
    is_read_only: bool = False
    type: ConfigType | None = None


@dataclass(frozen=True, slots=True)
class ConfigResourceAlteration:
    """Keys to set and keys to reset (IncrementalAlterConfigs, KIP-339); values may be secret."""

    resource: ConfigResource
    set: Mapping[str, str] = field(default_factory=dict, repr=False)
    delete: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeVersions:
    """What one node offers (ApiVersions, KIP-97, KIP-584): inclusive ranges by name.

    `supported` are levels of features that the node could run, `finalized` those that the whole
    cluster runs. `release` is the newest release whose metadata the node knows, "" if unknown.
    """

    apis: Mapping[str, tuple[int, int]]
    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    release: str = ""


class Downgrade(StrEnum):
    """Whether and how a feature may be downgraded (KIP-584, KIP-778)."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """A feature to bring to a level; 0 turns it off."""

    name: str
    level: int
    downgrade: Downgrade = Downgrade.NONE


@dataclass(frozen=True, slots=True)
class MissingApi:
    """An API that a method of the port takes and the cluster does not offer so.

    Ranges of versions are inclusive; `offered` is None where there is none at all. `reason` says
    why where it is not for the versions.
    """

    api: str
    needed: tuple[int, int]
    offered: tuple[int, int] | None
    reason: str = ""

    def __str__(self) -> str:
        """Return the required and the supported versions."""
        if self.reason:
            return self.reason
        offers = (
            "offers none" if self.offered is None else f"offers {_version_range(*self.offered)}"
        )
        needs = f"kplan needs {self.api} in {_version_range(*self.needed)}; the cluster {offers}"
        since = first_release(self.api).rstrip(".")
        is_older = self.offered is None or self.offered[1] < self.needed[0]
        return f"{needs}. {since}" if since and is_older else needs


def _version_range(oldest: int, newest: int) -> str:
    return f"version {oldest}" if oldest == newest else f"versions {oldest} to {newest}"


QUOTA_KEYS: Mapping[str, Mapping[str, bool]] = {
    "user": {
        "producer_byte_rate": True,
        "consumer_byte_rate": True,
        "request_percentage": False,
        "controller_mutation_rate": False,
    },
    "ip": {"connection_creation_rate": True},
}
"""Quota keys of users and client ids, and of addresses; True takes whole numbers only."""

SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "transaction.version": (0, 2),
}
"""Levels of features that a broker of Kafka 4.3 can run."""

DEFAULT_FEATURE_LEVELS: Mapping[str, int] = {
    "group.version": 1,
    "metadata.version": 29,
    "transaction.version": 2,
}
"""Levels that the cluster in memory begins with."""


@dataclass(frozen=True, slots=True)
class ResourceConfigDefinition:
    """One key; a read-only one can be set in a broker's file only."""

    definition: ConfigDefinition
    is_read_only: bool = False

    @property
    def is_sensitive(self) -> bool:
        """Whether Kafka never returns the value."""
        return self.definition.type is ConfigType.PASSWORD


def _define(
    name: str,
    config_type: ConfigType,
    default: str,
    at_least: float | None = None,
    *,
    fixed: bool = False,
) -> ResourceConfigDefinition:
    return ResourceConfigDefinition(
        ConfigDefinition(name, config_type, default, at_least), is_read_only=fixed
    )


_BROKER_CONFIGS = (
    _define("background.threads", ConfigType.INT, "10", 1),
    _define("follower.replication.throttled.rate", ConfigType.LONG, "9223372036854775807", 0),
    _define("leader.replication.throttled.rate", ConfigType.LONG, "9223372036854775807", 0),
    _define("log.cleaner.threads", ConfigType.INT, "1", 0),
    _define("log.dirs", ConfigType.STRING, "/tmp/kafka-logs", fixed=True),  # noqa: S108 - Kafka's default
    _define("log.retention.ms", ConfigType.LONG, "604800000", -1),
    _define("max.connections", ConfigType.INT, "2147483647", 0),
    _define("message.max.bytes", ConfigType.INT, "1048588", 0),
    _define("min.insync.replicas", ConfigType.INT, "1", 1),
    _define("node.id", ConfigType.INT, "1", 0, fixed=True),
    _define("ssl.keystore.password", ConfigType.PASSWORD, ""),
)
_AT_LEAST: Mapping[int, tuple[str, ...]] = {
    -2: ("log.local.retention.bytes", "log.local.retention.ms"),
    0: (
        "group.consumer.assignment.interval.ms",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "log.cleaner.backoff.ms",
        "log.cleaner.delete.retention.ms",
        "log.cleaner.io.buffer.size",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleaner.threads",
        "log.index.interval.bytes",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.segment.delete.delay.ms",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "message.max.bytes",
    ),
    1: (
        "background.threads",
        "log.cleaner.max.compaction.lag.ms",
        "log.flush.interval.messages",
        "min.insync.replicas",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "producer.id.expiration.ms",
        "remote.fetch.max.wait.ms",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.fetch.max.bytes.per.second",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
    ),
    4: ("log.index.size.max.bytes",),
    14: ("log.segment.bytes",),  # 1 MiB since Kafka 4.0
    524_288: (
        "group.coordinator.cached.buffer.max.bytes",
        "share.coordinator.cached.buffer.max.bytes",
    ),
}
BROKER_CONFIG_BOUNDS: Mapping[str, tuple[float, float | None]] = {
    **{key: (least, None) for least, keys in _AT_LEAST.items() for key in keys},
    "compression.gzip.level": (-1, 9),
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131_072, 22),
    "log.cleaner.min.cleanable.ratio": (0, 1),
}
"""Inclusive bounds of the dynamic configs of brokers (Kafka 4.3: AbstractKafkaConfig.CONFIG_DEF).

A controller stores any value, and brokers ignore one that is out of bounds (K919-06).
"""

BROKER_CONFIG_TYPES: Mapping[str, ConfigType] = {
    **{each.definition.name: each.definition.type for each in _BROKER_CONFIGS},
    **dict.fromkeys(BROKER_CONFIG_BOUNDS, ConfigType.LONG),
    "log.cleaner.io.buffer.load.factor": ConfigType.DOUBLE,
    "log.cleaner.io.max.bytes.per.second": ConfigType.DOUBLE,
    "log.cleaner.min.cleanable.ratio": ConfigType.DOUBLE,
    "log.cleanup.policy": ConfigType.LIST,
    "log.preallocate": ConfigType.BOOLEAN,
    "log.retention.bytes": ConfigType.LONG,
    "unclean.leader.election.enable": ConfigType.BOOLEAN,
}
"""How values of dynamic configs of brokers are written; LONG stands for any whole number."""


_GROUP_CONFIGS = (
    _define("consumer.heartbeat.interval.ms", ConfigType.INT, "5000", 1),
    _define("consumer.session.timeout.ms", ConfigType.INT, "45000", 1),
    _define("share.heartbeat.interval.ms", ConfigType.INT, "5000", 1),
    _define("share.record.lock.duration.ms", ConfigType.INT, "30000", 1000),
    _define("share.session.timeout.ms", ConfigType.INT, "45000", 1),
)
LOG_LEVELS = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
"""Levels of loggers (Kafka: LogLevelConfig)."""
ROOT_LOGGER = "root"
"""The logger that all others inherit from: no node resets it."""
_LOGGERS = tuple(
    ResourceConfigDefinition(ConfigDefinition(name, ConfigType.STRING, "INFO", choices=LOG_LEVELS))
    for name in ("kafka.authorizer.logger", "kafka.request.logger", "root", "state.change.logger")
)
_CLIENT_METRICS_CONFIGS = (
    _define("interval.ms", ConfigType.INT, "300000", 100),
    _define("match", ConfigType.LIST, ""),
    _define("metrics", ConfigType.LIST, ""),
)
_CONFIGS_BY_SCOPE: Mapping[ConfigScope, Mapping[str, ResourceConfigDefinition]] = {
    scope: {each.definition.name: each for each in rows}
    for scope, rows in (
        (ConfigScope.BROKER, _BROKER_CONFIGS),
        (ConfigScope.LOGGER, _LOGGERS),
        (ConfigScope.GROUP, _GROUP_CONFIGS),
        (ConfigScope.CLIENT_METRICS, _CLIENT_METRICS_CONFIGS),
    )
}


def known_configs(scope: ConfigScope) -> Mapping[str, ResourceConfigDefinition]:
    """Return the keys of a scope by name."""
    return _CONFIGS_BY_SCOPE[scope]


BROKER_DEFAULT_MS = -1
"""Stands for what the brokers have as default."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token to be made. `owner` and `renewers` are principals, as `User:app`.

    "" as owner is whoever asks. `lifetime_ms` bounds how far the token can ever be renewed.
    """

    owner: str = ""
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = BROKER_DEFAULT_MS


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. Times are milliseconds since 1970; it cannot be renewed past `max_ms`.

    `requester` made it, "" where brokers do not return it (before Kafka 3.3). `hmac` is the secret:
    with the id as the name, base 64 of it is the password of a login by SCRAM.
    """

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int
    hmac: bytes = field(repr=False)
