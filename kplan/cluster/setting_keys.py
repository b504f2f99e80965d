"""Keys of the configs of brokers, groups, loggers and metrics subscriptions, and their types."""

from collections.abc import Mapping

from kplan.cluster.settings import ConfigScope
from kplan.cluster.topic import ConfigDefinition, ConfigType
from kplan.model.dataclass import dataclass


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

_UNBOUNDED: Mapping[ConfigType, tuple[str, ...]] = {
    ConfigType.BOOLEAN: (
        "follower.fetch.last.tiered.offset.enable",
        "log.message.downconversion.enable",
        "log.preallocate",
        "transaction.partition.verification.enable",
        "unclean.leader.election.enable",
    ),
    ConfigType.DOUBLE: (
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.min.cleanable.ratio",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
    ),
    ConfigType.LIST: (
        "config.providers",
        "cordoned.log.dirs",
        "listeners",
        "log.cleanup.policy",
        "metric.reporters",
        "sasl.enabled.mechanisms",
        "sasl.kerberos.principal.to.local.rules",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
    ),
    ConfigType.LONG: (
        "log.cleaner.dedupe.buffer.size",
        "log.flush.interval.ms",
        "log.message.timestamp.difference.max.ms",
        "log.retention.bytes",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
    ),
}
BROKER_CONFIG_TYPES: Mapping[str, ConfigType] = {
    **{each.definition.name: each.definition.type for each in _BROKER_CONFIGS},
    **dict.fromkeys(BROKER_CONFIG_BOUNDS, ConfigType.LONG),
    **{key: kind for kind, keys in _UNBOUNDED.items() for key in keys},
}
"""How values of dynamic configs of brokers are written; LONG stands for any whole number."""


_GROUP_CONFIGS = (
    _define("consumer.assignment.interval.ms", ConfigType.INT, "1000"),
    _define("consumer.heartbeat.interval.ms", ConfigType.INT, "5000", 1),
    _define("consumer.session.timeout.ms", ConfigType.INT, "45000", 1),
    _define("share.assignment.interval.ms", ConfigType.INT, "1000"),
    _define("share.delivery.count.limit", ConfigType.INT, "5"),
    _define("share.heartbeat.interval.ms", ConfigType.INT, "5000", 1),
    _define("share.partition.max.record.locks", ConfigType.INT, "2000"),
    _define("share.record.lock.duration.ms", ConfigType.INT, "30000", 1000),
    _define("share.renew.acknowledge.enable", ConfigType.BOOLEAN, "true"),
    _define("share.session.timeout.ms", ConfigType.INT, "45000", 1),
    _define("streams.assignment.interval.ms", ConfigType.INT, "1000"),
    _define("streams.heartbeat.interval.ms", ConfigType.INT, "5000"),
    _define("streams.initial.rebalance.delay.ms", ConfigType.INT, "3000"),
    _define("streams.num.standby.replicas", ConfigType.INT, "0"),
    _define("streams.session.timeout.ms", ConfigType.INT, "45000"),
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
