"""What is never given to confluent-kafka, and with which words it is refused."""

import pytest

from kplan.cluster.request import ConfigAlteration, NewPartitions, NewTopic
from kplan.kafka.confluent import (
    alteration_refusal,
    duplicate_refusals,
    partitions_refusal,
    topic_refusal,
)
from kplan.model.errors import Refusal, RefusalOrigin


def error(found: Refusal | None) -> str:
    assert found is None or found.origin is RefusalOrigin.CLIENT
    return found.error if found else "ok"


def test_a_name_given_twice_is_refused_and_the_others_are_not() -> None:
    """P1: a duplicate in one call ends the process."""
    found = duplicate_refusals(["a", "b", "a", "c", "a"])
    assert {name: each.error for name, each in found.items()} == {"a": "INVALID_REQUEST"}
    assert found["a"].message == "Duplicate topic name."


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (NewTopic("a"), "ok"),
        (NewTopic("a", 3, 2, config={"retention.ms": "1", "cleanup.policy": ""}), "ok"),
        (NewTopic("a", assignment=((1, 2), (2, 3))), "ok"),
        (NewTopic("a/b"), "ok"),
        (NewTopic(""), "ok"),
        (NewTopic("a\0b"), "CLIENT_INVALID"),
        (NewTopic("a\udc80"), "CLIENT_INVALID"),
        (NewTopic("a" * 32_768), "CLIENT_INVALID"),
        (NewTopic("ü" * 16_384), "CLIENT_INVALID"),
        (NewTopic("a", config={"k": None}), "CLIENT_INVALID"),  # type: ignore[dict-item]
        (NewTopic("a", config={"k": 1}), "CLIENT_INVALID"),  # type: ignore[dict-item]
        (NewTopic("a", config={"k": "1\0"}), "CLIENT_INVALID"),
        (NewTopic("a", config={"k": "1" * 32_767}), "ok"),
        (NewTopic("a", config={"k": "1" * 32_768}), "CLIENT_INVALID"),
        (NewTopic("a", 1, 1), "ok"),
        (NewTopic("a", assignment=((0, 2**31 - 1),)), "ok"),
        (NewTopic("a", partitions=0), "INVALID_PARTITIONS"),
        (NewTopic("a", partitions=-1), "INVALID_PARTITIONS"),
        (NewTopic("a", replication_factor=0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("a", partitions=1, assignment=((1,),)), "INVALID_REQUEST"),
        (NewTopic("a", replication_factor=1, assignment=((1,),)), "INVALID_REQUEST"),
        (NewTopic("a", assignment=()), "CLIENT_INVALID"),
        (NewTopic("a", assignment=((1,), ())), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("a", assignment=((-1,),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("a", assignment=((2**31,),)), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_a_topic_that_would_be_sent_as_another_one_is_refused(spec: NewTopic, wanted: str) -> None:
    """P7, and what was measured on confluent-kafka 2.16: NUL cuts, 2**31 wraps, None is a word."""
    assert error(topic_refusal(spec)) == wanted


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (NewPartitions("a", 3), "ok"),
        (NewPartitions("a", 3, ((1, 2),)), "ok"),
        (NewPartitions("a\0", 3), "CLIENT_INVALID"),
        (NewPartitions("a", 1), "ok"),
        (NewPartitions("a", 0), "INVALID_PARTITIONS"),
        (NewPartitions("a", 3, ()), "CLIENT_INVALID"),
        (NewPartitions("a", 3, ((),)), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_growth_that_cannot_be_sent_is_refused(spec: NewPartitions, wanted: str) -> None:
    assert error(partitions_refusal(spec)) == wanted


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (ConfigAlteration("a", {"k": "1"}, ("l",)), "ok"),
        (ConfigAlteration("", {"k": "1"}), "INVALID_REQUEST"),
        (ConfigAlteration("a", {"k": "1"}, ("k",)), "INVALID_REQUEST"),
        (ConfigAlteration("a", {}, ("k", "k")), "INVALID_REQUEST"),
        (ConfigAlteration("a", {"": "1"}), "INVALID_CONFIG"),
        (ConfigAlteration("a", {}, ("",)), "INVALID_CONFIG"),
        (ConfigAlteration("a", {"k": None}), "CLIENT_INVALID"),  # type: ignore[dict-item]
        (ConfigAlteration("a", {"k": "1" * 40_000}), "CLIENT_INVALID"),
    ],
)
def test_an_alteration_that_cannot_be_sent_is_refused(spec: ConfigAlteration, wanted: str) -> None:
    assert error(alteration_refusal(spec)) == wanted
