"""Keys of quotas, groups and metrics subscriptions, and a few of brokers, as Kafka 4 has them.

The keys of brokers are those that differ in kind: a cluster in memory knows no others.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kplan.cluster.setting_specs import ConfigScope
from kplan.cluster.topic_configs import ConfigType, TopicConfig

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

FEATURES: Mapping[str, tuple[int, int]] = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "transaction.version": (0, 2),
}
"""Levels of features that a broker of Kafka 4.3 can run."""

FINALIZED: Mapping[str, int] = {
    "group.version": 1,
    "metadata.version": 29,
    "transaction.version": 2,
}
"""Levels that the cluster in memory begins with."""


@dataclass(frozen=True, slots=True)
class ResourceConfig:
    """One key; a read-only one can be set in a broker's file only."""

    row: TopicConfig
    is_read_only: bool = False

    @property
    def is_sensitive(self) -> bool:
        """Whether Kafka never tells the value."""
        return self.row.type is ConfigType.PASSWORD


def _key(
    name: str, sort: ConfigType, default: str, at_least: float | None = None, *, fixed: bool = False
) -> ResourceConfig:
    return ResourceConfig(TopicConfig(name, sort, default, at_least), is_read_only=fixed)


_BROKER = (
    _key("background.threads", ConfigType.INT, "10", 1),
    _key("leader.replication.throttled.rate", ConfigType.LONG, "9223372036854775807", 0),
    _key("log.cleaner.threads", ConfigType.INT, "1", 0),
    _key("log.dirs", ConfigType.STRING, "/tmp/kafka-logs", fixed=True),  # noqa: S108 - Kafka's default
    _key("log.retention.ms", ConfigType.LONG, "604800000", -1),
    _key("max.connections", ConfigType.INT, "2147483647", 0),
    _key("message.max.bytes", ConfigType.INT, "1048588", 0),
    _key("min.insync.replicas", ConfigType.INT, "1", 1),
    _key("node.id", ConfigType.INT, "1", 0, fixed=True),
    _key("ssl.keystore.password", ConfigType.PASSWORD, ""),
)
_GROUP = (
    _key("consumer.heartbeat.interval.ms", ConfigType.INT, "5000", 1),
    _key("consumer.session.timeout.ms", ConfigType.INT, "45000", 1),
    _key("share.heartbeat.interval.ms", ConfigType.INT, "5000", 1),
    _key("share.record.lock.duration.ms", ConfigType.INT, "30000", 1000),
    _key("share.session.timeout.ms", ConfigType.INT, "45000", 1),
)
_CLIENT_METRICS = (
    _key("interval.ms", ConfigType.INT, "300000", 100),
    _key("match", ConfigType.LIST, ""),
    _key("metrics", ConfigType.LIST, ""),
)
_KEYS: Mapping[ConfigScope, Mapping[str, ResourceConfig]] = {
    scope: {each.row.name: each for each in rows}
    for scope, rows in (
        (ConfigScope.BROKER, _BROKER),
        (ConfigScope.GROUP, _GROUP),
        (ConfigScope.CLIENT_METRICS, _CLIENT_METRICS),
    )
}


def keys_of(scope: ConfigScope) -> Mapping[str, ResourceConfig]:
    """Give the keys of a scope by name."""
    return _KEYS[scope]
