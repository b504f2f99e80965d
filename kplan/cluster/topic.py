"""Kafka's rules for topics: legal names, known configs, default replica placement."""

import base64
import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from itertools import count, zip_longest
from typing import assert_never

from kplan.cluster.protocol import INT16_MAX, INT32_MAX, INT64_MAX
from kplan.cluster.request import Assignment, ConfigEntry, ConfigSource
from kplan.model.dataclass import dataclass
from kplan.model.state import Broker

MAX_TOPIC_NAME_LENGTH = 249
KPLAN_PREFIX = "__kplan_"
"""How the names of the topics begin in which kplan keeps things of its own."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_fault(name: str) -> str:
    """Return the problem of a topic name, "" if it is valid (Kafka: Topic.validate)."""
    if not name:
        return "it is empty"
    if name in {".", ".."}:
        return f'it is "{name}"'
    if len(name) > MAX_TOPIC_NAME_LENGTH:
        return f"it has {len(name)} characters; at most {MAX_TOPIC_NAME_LENGTH} are allowed"
    if _LEGAL_NAME.fullmatch(name) is None:
        bad = sorted({character for character in name if not _LEGAL_NAME.fullmatch(character)})
        shown = " ".join(repr(character) for character in bad)
        return f"it contains {shown}; only letters, digits, '.', '_' and '-' are allowed"
    return ""


def name_collision_key(name: str) -> str:
    """Return the form in which two topic names may not be equal: '.' and '_' share metric names."""
    return name.replace(".", "_")


def is_internal_topic(name: str) -> bool:
    """Whether the name is one that Kafka or its tools keep for themselves."""
    return name.startswith("__")


def is_own(name: str) -> bool:
    """Whether kplan keeps things of its own in the topic: nothing that it plans is about it."""
    return name.startswith(KPLAN_PREFIX)


_DAY_MS = 86_400_000
_INTEGER = re.compile(r"[+-]?[0-9]+")
_REPLICA_PATTERN = r"\*|[0-9]+:[0-9]+"


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
class ConfigDefinition:
    """One key. Bounds are inclusive; `choices` are the values allowed, () is any.

    `pattern` is what each value of a list must match, "" is any.
    """

    name: str
    type: ConfigType
    default: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    source: ConfigSource = ConfigSource.DEFAULT


def _int(
    name: str, default: int, at_least: int | None = 0, at_most: int | None = None
) -> ConfigDefinition:
    return ConfigDefinition(name, ConfigType.INT, str(default), at_least, at_most)


def _long(name: str, default: int, at_least: int | None = 0) -> ConfigDefinition:
    return ConfigDefinition(name, ConfigType.LONG, str(default), at_least)


def _bool(name: str) -> ConfigDefinition:
    return ConfigDefinition(name, ConfigType.BOOLEAN, "false")


def _string(name: str, default: str, *choices: str) -> ConfigDefinition:
    return ConfigDefinition(name, ConfigType.STRING, default, choices=choices)


def _replicas(name: str) -> ConfigDefinition:
    return ConfigDefinition(name, ConfigType.LIST, "", pattern=_REPLICA_PATTERN)


_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

TOPIC_CONFIGS: Mapping[str, ConfigDefinition] = {
    each.name: each
    for each in (
        ConfigDefinition(
            "cleanup.policy", ConfigType.LIST, "delete", choices=("compact", "delete")
        ),
        ConfigDefinition(
            "compression.gzip.level", ConfigType.INT, "-1", choices=("-1", *"123456789")
        ),
        _int("compression.lz4.level", 9, 1, 17),
        _string("compression.type", "producer", *_CODECS),
        _int("compression.zstd.level", 3, -131_072, 22),
        _long("delete.retention.ms", _DAY_MS),
        _long("file.delete.delay.ms", 60_000),
        _long("flush.messages", INT64_MAX, 1),
        _long("flush.ms", INT64_MAX),
        _replicas("follower.replication.throttled.replicas"),
        _int("index.interval.bytes", 4096),
        _replicas("leader.replication.throttled.replicas"),
        _long("local.retention.bytes", -2, -2),
        _long("local.retention.ms", -2, -2),
        _long("max.compaction.lag.ms", INT64_MAX, 1),
        _int("max.message.bytes", 1_048_588),
        _long("message.timestamp.after.max.ms", 3_600_000),
        _long("message.timestamp.before.max.ms", INT64_MAX),
        _string("message.timestamp.type", "CreateTime", "CreateTime", "LogAppendTime"),
        ConfigDefinition("min.cleanable.dirty.ratio", ConfigType.DOUBLE, "0.5", 0, 1),
        _long("min.compaction.lag.ms", 0),
        # A new cluster sets this one for all brokers, as it keeps eligible leaders (KIP-966).
        replace(_int("min.insync.replicas", 1, 1), source=ConfigSource.DYNAMIC_DEFAULT_BROKER),
        _bool("preallocate"),
        _bool("remote.log.copy.disable"),
        _bool("remote.log.delete.on.disable"),
        _bool("remote.storage.enable"),
        _long("retention.bytes", -1, None),
        _long("retention.ms", 7 * _DAY_MS, -1),
        _int("segment.bytes", 1_073_741_824, 1_048_576),
        _int("segment.index.bytes", 10_485_760, 4),
        _long("segment.jitter.ms", 0),
        _long("segment.ms", 7 * _DAY_MS, 1),
        _bool("unclean.leader.election.enable"),
    )
}
"""Every topic config that Kafka 4.1 to 4.3 shows, sorted by name (DescribeConfigs, measured)."""


_REMOVED_CONFIGS: Mapping[str, ConfigDefinition] = {
    each.name: each
    for each in (
        _bool("message.downconversion.enable"),
        _string("message.format.version", ""),
        _long("message.timestamp.difference.max.ms", INT64_MAX),
    )
}
"""Topic configs that ended with Kafka 4.0 (KIP-724)."""

_OLD_BOUNDS = {"segment.bytes": _int("segment.bytes", 1_073_741_824, 14)}
"""What brokers before 4.0 take (KIP-1030)."""

FIRST_VERSIONS: Mapping[str, tuple[int, int]] = {
    "compression.gzip.level": (3, 8),
    "compression.lz4.level": (3, 8),
    "compression.zstd.level": (3, 8),
    "local.retention.bytes": (3, 6),
    "local.retention.ms": (3, 6),
    "message.timestamp.after.max.ms": (3, 6),
    "message.timestamp.before.max.ms": (3, 6),
    "remote.log.copy.disable": (3, 9),
    "remote.log.delete.on.disable": (3, 9),
    "remote.storage.enable": (3, 6),
}
"""Since when brokers know a topic config (KIP-390, KIP-405, KIP-937, KIP-950)."""

_END_OF_OLD_CONFIGS = (4, 0)


def topic_value_fault(key: str, value: str, version: tuple[int, int] | None = None) -> str:
    """Say why no broker of the version takes a topic config, "" where it does.

    Without a version it says what none of Kafka 2.8 to 4.3 takes. A key that Apache Kafka never had
    is a vendor's, and has no fault.
    """
    is_old = version is None or version < _END_OF_OLD_CONFIGS
    if key in _REMOVED_CONFIGS:
        return value_fault(_REMOVED_CONFIGS[key], value) if is_old else "it ended with Kafka 4.0"
    if key not in TOPIC_CONFIGS:
        return ""
    if version is not None and version < (first := FIRST_VERSIONS.get(key, version)):
        return f"it came with Kafka {first[0]}.{first[1]}"
    row = _OLD_BOUNDS.get(key, TOPIC_CONFIGS[key]) if is_old else TOPIC_CONFIGS[key]
    return value_fault(row, value)


def config_fault(config: Mapping[str, str]) -> str:
    """Return the problem that a broker reports for a topic's configs, "" if there is none.

    Only the first fault is reported, as Kafka does.
    """
    for key, value in config.items():
        if key not in TOPIC_CONFIGS:
            return f"Unknown topic config name: {key}"
        if fault := value_fault(TOPIC_CONFIGS[key], value):
            return f"Invalid value {value} for configuration {key}: {fault}"
    return _compaction_lag_fault(config) or _tiered_storage_fault(config)


def effective_configs(
    config: Mapping[str, str], broker_values: Mapping[str, str]
) -> Mapping[str, ConfigEntry]:
    """Return every effective config of a topic with these overrides, with its source."""
    static = {
        key: ConfigEntry(value, ConfigSource.STATIC_BROKER) for key, value in broker_values.items()
    }
    own = {
        key: ConfigEntry(value, ConfigSource.TOPIC)
        for key, value in canonical_topic_config(config).items()
    }
    return _DEFAULTS | static | own


_DEFAULTS = {key: ConfigEntry(row.default, row.source) for key, row in TOPIC_CONFIGS.items()}


def value_fault(row: ConfigDefinition, value: str) -> str:
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


def canonical_value(config_type: ConfigType, value: str) -> str:
    """Write a value as DescribeConfigs does: `0.50` as `0.5`, `delete, compact` without the space.

    Kafka takes other spellings, too, and parses them (ConfigDef.parseType, convertToString). What
    is not of the type is unchanged.
    """
    text = value.strip()
    match config_type:
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG | ConfigType.DOUBLE:
            found = _parse_number(config_type, text)
            if found is None or not math.isfinite(found):
                return value
            return _java_double(found) if config_type is ConfigType.DOUBLE else str(found)
        case ConfigType.BOOLEAN:
            return text.lower() if text.lower() in {"true", "false"} else value
        case ConfigType.LIST:
            return ",".join(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
        case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD:
            return text
        case _:
            assert_never(config_type)


def _java_double(number: float) -> str:
    """Write a number as Java's Double.toString: below 0.001 and from 10 million by exponent."""
    if number == 0 or _LEAST_PLAIN <= abs(number) < _FIRST_WITH_EXPONENT:
        return repr(float(number))
    sign, digits, exponent = Decimal(repr(float(number))).normalize().as_tuple()
    first, *more = map(str, digits)
    power = int(exponent) + len(digits) - 1
    return f"{'-' * sign}{first}.{''.join(more) or '0'}E{power}"


_LEAST_PLAIN, _FIRST_WITH_EXPONENT = 1e-3, 1e7


def canonical_config(
    config: Mapping[str, str], find_type: Callable[[str], ConfigType | None]
) -> Mapping[str, str]:
    """Write configs as DescribeConfigs does; those without a type are unchanged."""
    return {
        key: value if (known := find_type(key)) is None else canonical_value(known, value)
        for key, value in config.items()
    }


def canonical_topic_config(config: Mapping[str, str]) -> Mapping[str, str]:
    """Write a topic's configs as DescribeConfigs does; those of vendors are unchanged."""
    return canonical_config(config, _TYPES.get)


_TYPES = {each.name: each.type for each in (*TOPIC_CONFIGS.values(), *_REMOVED_CONFIGS.values())}


def _number_fault(row: ConfigDefinition, text: str) -> str:
    found = _parse_number(row.type, text)
    if found is None:
        return f"Not a number of type {row.type}"
    if row.minimum is not None and found < row.minimum:
        return f"Value must be at least {row.minimum}"
    if row.maximum is not None and found > row.maximum:
        return f"Value must be no more than {row.maximum}"
    return _words_fault(row, [str(found)])


def _parse_number(config_type: ConfigType, text: str) -> float | None:
    try:
        if config_type is ConfigType.DOUBLE:
            return float(text)
        found = int(text) if _INTEGER.fullmatch(text) else None
    except ValueError:
        return None
    limit = _MAX_INTEGERS[config_type]
    return found if found is not None and -limit - 1 <= found <= limit else None


_MAX_INTEGERS = {ConfigType.SHORT: INT16_MAX, ConfigType.INT: INT32_MAX, ConfigType.LONG: INT64_MAX}


def _words_fault(row: ConfigDefinition, words: list[str]) -> str:
    if row.choices and not set(words) <= set(row.choices):
        return f"String must be one of: {', '.join(row.choices)}"
    if row.pattern and not all(re.fullmatch(row.pattern, word) for word in words):
        return f"{row.name} must be the literal '*' or a list of [partitionId]:[brokerId]"
    return ""


def _tiered_storage_fault(config: Mapping[str, str]) -> str:
    if config.get("remote.storage.enable", "false").casefold() == "false":
        return ""
    return (
        "Tiered Storage functionality is disabled in the broker. "
        "Topic cannot be configured with remote log storage."
    )


def _compaction_lag_fault(config: Mapping[str, str]) -> str:
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


def place_replicas(
    brokers: tuple[Broker, ...], partitions: int, replication_factor: int, first: int = 0
) -> Assignment:
    """Deal replicas over racks and brokers in turn; `first` is the number of the first partition.

    Each partition starts one broker further on, so that leaders spread evenly.
    """
    ring = _alternate_racks(brokers)
    return tuple(
        tuple(ring[(partition + step) % len(ring)] for step in range(replication_factor))
        for partition in range(first, first + partitions)
    )


def topic_id(cluster_id: str, number: int) -> str:
    """Make the id of the numbered topic: 22 characters, as Kafka prints its UUIDs (KIP-516)."""
    texts = (_encode_uuid(f"{cluster_id}/{number}/{attempt}") for attempt in count())
    return next(text for text in texts if not text.startswith("-"))  # no id reads as an option


def _encode_uuid(seed: str) -> str:
    digest = hashlib.sha256(seed.encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _alternate_racks(brokers: tuple[Broker, ...]) -> tuple[int, ...]:
    racks: dict[str, list[int]] = {}
    for broker in sorted(brokers, key=lambda each: (each.rack, each.id)):
        racks.setdefault(broker.rack, []).append(broker.id)
    turns = zip_longest(*racks.values())
    return tuple(each for turn in turns for each in turn if each is not None)
