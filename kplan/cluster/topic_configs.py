"""The topic configs of Apache Kafka 4 with type, default and bounds (Kafka: LogConfig)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from kplan.cluster.specs import ConfigEntry, ConfigSource

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1
_DAY_MS = 86_400_000
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REPLICA = r"\*|[0-9]+:[0-9]+"


class ConfigType(StrEnum):
    """Types as DescribeConfigs names them (KIP-569)."""

    BOOLEAN = "BOOLEAN"
    CLASS = "CLASS"
    DOUBLE = "DOUBLE"
    INT = "INT"
    LIST = "LIST"
    LONG = "LONG"
    PASSWORD = "PASSWORD"  # noqa: S105 - a type
    SHORT = "SHORT"
    STRING = "STRING"


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One key. Bounds are inclusive; `choices` are the values allowed, () is any.

    `pattern` is what each value of a list must match, "" is any.
    """

    name: str
    type: ConfigType
    default: str
    at_least: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    source: ConfigSource = ConfigSource.DEFAULT


def _int(
    name: str, default: int, at_least: int | None = 0, at_most: int | None = None
) -> TopicConfig:
    return TopicConfig(name, ConfigType.INT, str(default), at_least, at_most)


def _long(name: str, default: int, at_least: int | None = 0) -> TopicConfig:
    return TopicConfig(name, ConfigType.LONG, str(default), at_least)


def _flag(name: str) -> TopicConfig:
    return TopicConfig(name, ConfigType.BOOLEAN, "false")


def _word(name: str, default: str, *choices: str) -> TopicConfig:
    return TopicConfig(name, ConfigType.STRING, default, choices=choices)


def _replicas(name: str) -> TopicConfig:
    return TopicConfig(name, ConfigType.LIST, "", pattern=_REPLICA)


_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

TOPIC_CONFIGS: Mapping[str, TopicConfig] = {
    each.name: each
    for each in (
        TopicConfig("cleanup.policy", ConfigType.LIST, "delete", choices=("compact", "delete")),
        TopicConfig("compression.gzip.level", ConfigType.INT, "-1", choices=("-1", *"123456789")),
        _int("compression.lz4.level", 9, 1, 17),
        _word("compression.type", "producer", *_CODECS),
        _int("compression.zstd.level", 3, -131_072, 22),
        _long("delete.retention.ms", _DAY_MS),
        _long("file.delete.delay.ms", 60_000),
        _long("flush.messages", _LONG_MAX, 1),
        _long("flush.ms", _LONG_MAX),
        _replicas("follower.replication.throttled.replicas"),
        _int("index.interval.bytes", 4096),
        _replicas("leader.replication.throttled.replicas"),
        _long("local.retention.bytes", -2, -2),
        _long("local.retention.ms", -2, -2),
        _long("max.compaction.lag.ms", _LONG_MAX, 1),
        _int("max.message.bytes", 1_048_588),
        _long("message.timestamp.after.max.ms", 3_600_000),
        _long("message.timestamp.before.max.ms", _LONG_MAX),
        _word("message.timestamp.type", "CreateTime", "CreateTime", "LogAppendTime"),
        TopicConfig("min.cleanable.dirty.ratio", ConfigType.DOUBLE, "0.5", 0, 1),
        _long("min.compaction.lag.ms", 0),
        # A new cluster sets this one for all brokers, as it keeps eligible leaders (KIP-966).
        replace(_int("min.insync.replicas", 1, 1), source=ConfigSource.DYNAMIC_DEFAULT_BROKER),
        _flag("preallocate"),
        _flag("remote.log.copy.disable"),
        _flag("remote.log.delete.on.disable"),
        _flag("remote.storage.enable"),
        _long("retention.bytes", -1, None),
        _long("retention.ms", 7 * _DAY_MS, -1),
        _int("segment.bytes", 1_073_741_824, 1_048_576),
        _int("segment.index.bytes", 10_485_760, 4),
        _long("segment.jitter.ms", 0),
        _long("segment.ms", 7 * _DAY_MS, 1),
        _flag("unclean.leader.election.enable"),
    )
}
"""Every topic config that Kafka 4.1 to 4.3 shows, sorted by name (DescribeConfigs, measured)."""


def config_fault(config: Mapping[str, str]) -> str:
    """Say what a broker finds wrong with a topic's configs, "" where nothing is.

    Only the first fault is told, as Kafka does.
    """
    for key, value in config.items():
        if key not in TOPIC_CONFIGS:
            return f"Unknown topic config name: {key}"
        if fault := value_fault(TOPIC_CONFIGS[key], value):
            return f"Invalid value {value} for configuration {key}: {fault}"
    return _lag_fault(config) or _tier_fault(config)


def effective(
    config: Mapping[str, str], broker_values: Mapping[str, str]
) -> Mapping[str, ConfigEntry]:
    """Give every config that a topic with these overrides runs with, and where it comes from."""
    static = {
        key: ConfigEntry(value, ConfigSource.STATIC_BROKER) for key, value in broker_values.items()
    }
    own = {key: ConfigEntry(value, ConfigSource.TOPIC) for key, value in config.items()}
    return _DEFAULTS | static | own


_DEFAULTS = {key: ConfigEntry(row.default, row.source) for key, row in TOPIC_CONFIGS.items()}


def value_fault(row: TopicConfig, value: str) -> str:
    """Say why a value does not fit its key, "" where it does."""
    text = value.strip()
    match row.type:
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG | ConfigType.DOUBLE:
            return _number_fault(row, text)
        case ConfigType.BOOLEAN:
            fine = text.casefold() in {"true", "false"}
            return "" if fine else "Expected value to be either true or false"
        case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD:
            return _words_fault(row, [text])
        case ConfigType.LIST:
            return _words_fault(row, [word.strip() for word in text.split(",") if word.strip()])
        case _:
            assert_never(row.type)


def _number_fault(row: TopicConfig, text: str) -> str:
    found = _number(row.type, text)
    if found is None:
        return f"Not a number of type {row.type}"
    if row.at_least is not None and found < row.at_least:
        return f"Value must be at least {row.at_least}"
    if row.at_most is not None and found > row.at_most:
        return f"Value must be no more than {row.at_most}"
    return _words_fault(row, [str(found)])


def _number(sort: ConfigType, text: str) -> float | None:
    try:
        if sort is ConfigType.DOUBLE:
            return float(text)
        found = int(text) if _WHOLE.fullmatch(text) else None
    except ValueError:
        return None
    limit = _LIMITS[sort]
    return found if found is not None and -limit - 1 <= found <= limit else None


_LIMITS = {ConfigType.SHORT: 2**15 - 1, ConfigType.INT: _INT_MAX, ConfigType.LONG: _LONG_MAX}


def _words_fault(row: TopicConfig, words: list[str]) -> str:
    if row.choices and not set(words) <= set(row.choices):
        return f"String must be one of: {', '.join(row.choices)}"
    if row.pattern and not all(re.fullmatch(row.pattern, word) for word in words):
        return f"{row.name} must be the literal '*' or a list of [partitionId]:[brokerId]"
    return ""


def _tier_fault(config: Mapping[str, str]) -> str:
    if config.get("remote.storage.enable", "false").casefold() == "false":
        return ""
    return (
        "Tiered Storage functionality is disabled in the broker. "
        "Topic cannot be configured with remote log storage."
    )


def _lag_fault(config: Mapping[str, str]) -> str:
    low, high = (
        int(config.get(key, TOPIC_CONFIGS[key].default))
        for key in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if low <= high:
        return ""
    return (
        "conflict topic config setting min.compaction.lag.ms "
        f"({low}) > max.compaction.lag.ms ({high})"
    )
