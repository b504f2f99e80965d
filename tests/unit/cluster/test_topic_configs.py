"""The table of topic configs, held against what Apache Kafka 4.3 answered."""

import pytest

from kplan.cluster.request import ConfigEntry, ConfigSource
from kplan.cluster.topic import (
    TOPIC_CONFIGS,
    ConfigType,
    canonical_value,
    config_fault,
    effective_configs,
)
from kplan.kinds import topic_rules


def test_every_default_is_a_valid_value() -> None:
    assert {key: config_fault({key: row.default}) for key, row in TOPIC_CONFIGS.items()} == (
        dict.fromkeys(TOPIC_CONFIGS, "")
    )


def test_the_table_is_sorted_and_of_the_size_that_kafka_shows() -> None:
    assert list(TOPIC_CONFIGS) == sorted(TOPIC_CONFIGS)
    assert len(TOPIC_CONFIGS) == 33


def test_every_key_of_kafka_is_known_to_the_check_of_declared_topics() -> None:
    assert TOPIC_CONFIGS.keys() <= topic_rules.KNOWN_TOPIC_CONFIGS


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("retention.ms", " 5 "),
        ("retention.ms", "-1"),
        ("cleanup.policy", "compact, delete"),
        ("cleanup.policy", ""),
        ("preallocate", "TRUE"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("leader.replication.throttled.replicas", "*"),
        ("compression.gzip.level", "9"),
        ("min.cleanable.dirty.ratio", "0.25"),
        ("remote.storage.enable", "False"),
    ],
)
def test_a_good_value_passes(key: str, value: str) -> None:
    assert config_fault({key: value}) == ""


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("foo", "1", "Unknown topic config name: foo"),
        ("retention.ms", "abc", "Not a number of type LONG"),
        ("retention.ms", "", "Not a number of type LONG"),
        ("retention.ms", "1_000", "Not a number of type LONG"),
        ("retention.ms", "-5", "Value must be at least -1"),
        ("max.message.bytes", "99999999999", "Not a number of type INT"),
        ("segment.bytes", "5", "Value must be at least 1048576"),
        ("compression.zstd.level", "99", "Value must be no more than 22"),
        ("compression.gzip.level", "0", "String must be one of: -1, 1,"),
        ("compression.type", "foo", "String must be one of: uncompressed, zstd"),
        ("cleanup.policy", "delete,foo", "String must be one of: compact, delete"),
        ("preallocate", "maybe", "Expected value to be either true or false"),
        ("min.cleanable.dirty.ratio", "2", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "x", "Not a number of type DOUBLE"),
        ("leader.replication.throttled.replicas", "foo", "must be the literal '*' or a list of"),
        ("remote.storage.enable", "true", "Tiered Storage functionality is disabled"),
    ],
)
def test_a_bad_value_is_told_in_the_brokers_words(key: str, value: str, fault: str) -> None:
    assert fault in config_fault({key: value})


def test_compaction_lags_that_contradict_each_other_are_refused() -> None:
    lags = {"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "10"}
    assert "min.compaction.lag.ms (100) > max.compaction.lag.ms (10)" in config_fault(lags)


def test_only_the_first_fault_is_told() -> None:
    assert config_fault({"foo": "1", "retention.ms": "z"}) == "Unknown topic config name: foo"


def test_a_value_comes_from_the_topic_before_the_broker_before_kafka() -> None:
    found = effective_configs({"retention.ms": "1"}, {"retention.ms": "2", "segment.ms": "3"})
    assert found["retention.ms"] == ConfigEntry("1", ConfigSource.TOPIC)
    assert found["segment.ms"] == ConfigEntry("3", ConfigSource.STATIC_BROKER)
    assert found["flush.ms"] == ConfigEntry("9223372036854775807", ConfigSource.DEFAULT)
    assert found.keys() == TOPIC_CONFIGS.keys()


@pytest.mark.parametrize(
    ("config_type", "value", "returned"),
    [
        (ConfigType.DOUBLE, "0.50", "0.5"),
        (ConfigType.DOUBLE, ".5", "0.5"),
        (ConfigType.DOUBLE, "1", "1.0"),
        (ConfigType.DOUBLE, "5e-1", "0.5"),
        (ConfigType.DOUBLE, "0.001", "0.001"),
        (ConfigType.DOUBLE, "0.0001", "1.0E-4"),
        (ConfigType.DOUBLE, "0.00012", "1.2E-4"),
        (ConfigType.DOUBLE, "1000000", "1000000.0"),
        (ConfigType.DOUBLE, "20000000", "2.0E7"),
        (ConfigType.DOUBLE, "-12345678.5", "-1.23456785E7"),
        (ConfigType.DOUBLE, "0", "0.0"),
        (ConfigType.DOUBLE, "half", "half"),
        (ConfigType.DOUBLE, "inf", "inf"),
        (ConfigType.LONG, " +01000 ", "1000"),
        (ConfigType.LONG, "1.5", "1.5"),
        (ConfigType.BOOLEAN, "TRUE", "true"),
        (ConfigType.BOOLEAN, "Yes", "Yes"),
        (ConfigType.LIST, "delete, compact,delete", "delete,compact"),
        (ConfigType.LIST, "", ""),
        (ConfigType.STRING, " zstd ", "zstd"),
    ],
)
def test_a_value_is_written_as_kafka_returns_it(
    config_type: ConfigType, value: str, returned: str
) -> None:
    """DescribeConfigs of Kafka 4.3, measured; what is not of the type is unchanged."""
    assert canonical_value(config_type, value) == returned
    assert canonical_value(config_type, returned) == returned
