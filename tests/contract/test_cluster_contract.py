"""One suite for every implementation of the `Cluster` port: in memory, over the wire, routed.

What holds here holds for Apache Kafka, which makes tests on the cluster in memory worth something.
"""

from collections import Counter
from dataclasses import replace

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import NewTopic, TopicPreview
from kplan.cluster.topic import effective_configs
from kplan.model.errors import Refusal, UnreachableError
from tests.brokers import Has
from tests.capability import (
    COMPRESSION_LEVELS,
    ERROR_CODES,
    KRAFT,
    NEWEST_CONFIGS,
    NO_DOWN_CONVERSION,
    RECORD_LIMIT,
    TIERED_STORAGE,
)
from tests.contract.clusters import (
    acl,
    alike,
    described,
    errors,
    is_ready,
    listed,
    made,
    own_config,
    soon,
)

# Who answers.


def test_the_cluster_tells_its_id_its_brokers_and_who_we_are(cluster: Cluster) -> None:
    """K4o-02, K117-01, S03."""
    found = cluster.describe()
    assert len(found.cluster_id) == 22
    assert [broker.id for broker in found.brokers] == [1]
    assert found.principal == "User:ANONYMOUS"
    assert found == cluster.describe()


def test_asking_about_nothing_is_answered_with_nothing(cluster: Cluster) -> None:
    """K4-06."""
    assert cluster.topics([]) == {}
    assert cluster.topic_configs([]) == {}
    assert cluster.preview_topics([]) == {}
    assert cluster.create_topics([]) == {}
    assert cluster.create_partitions([]) == {}
    assert cluster.alter_topic_configs([]) == {}
    assert cluster.delete_topics([]) == {}
    assert cluster.create_acls([]) == {}
    assert cluster.delete_acls([]) == {}


# Topics.


def test_a_created_topic_is_there_as_it_was_asked_for(cluster: Cluster, prefix: str) -> None:
    """K4-15, K4-26."""
    name = f"{prefix}orders"
    made(cluster, NewTopic(name, 3, 1, config={"retention.ms": "1000", "segment.ms": "2000"}))
    found = described(cluster, name)
    assert found == replace(found, name=name, assignment=((1,), (1,), (1,)), is_internal=False)
    assert len(found.topic_id) == 22
    soon(lambda: own_config(cluster, name) == {"retention.ms": "1000", "segment.ms": "2000"})
    assert cluster.topics()[name] == found
    assert cluster.topics([name], broker=1) == {name: found}
    assert cluster.topic_configs([name], broker=1) == cluster.topic_configs([name])


def test_a_batch_of_good_and_bad_topics_is_answered_item_by_item(
    cluster: Cluster, prefix: str, has: Has
) -> None:
    """K4-25: 24 instructions for 23 names; no error stops a neighbour."""
    made(cluster, NewTopic(f"{prefix}there"), NewTopic(f"{prefix}dot.ted"))
    batch: list[tuple[NewTopic, str]] = [
        (NewTopic(f"{prefix}plain", 1, 1), "ok"),
        (NewTopic(f"{prefix}three", 3, 1), "ok"),
        (NewTopic(f"{prefix}defaults"), "ok"),
        (NewTopic(f"{prefix}config", 1, 1, config={"cleanup.policy": "compact"}), "ok"),
        (NewTopic(f"{prefix}assigned", assignment=((1,), (1,))), "ok"),
        (NewTopic(f"{prefix}there", 1, 1), "TOPIC_ALREADY_EXISTS"),
        (NewTopic(f"{prefix}dot_ted", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(f"{prefix}sl/ash", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(f"{prefix}umläut", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(prefix + "x" * 249, 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("..", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(f"{prefix}none", 0, 1), "INVALID_PARTITIONS"),
        (NewTopic(f"{prefix}negative", -5, 1), "INVALID_PARTITIONS"),
        (NewTopic(f"{prefix}norf", 1, 0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(f"{prefix}rf9", 1, 9), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(f"{prefix}stranger", assignment=((9,),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic(f"{prefix}twins", assignment=((1, 1),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic(f"{prefix}hole", assignment=((1,), ())), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic(f"{prefix}empty", assignment=()), "CLIENT_INVALID"),
        (NewTopic(f"{prefix}badkey", 1, 1, config={"no.such.key": "1"}), "INVALID_CONFIG"),
        (NewTopic(f"{prefix}badvalue", 1, 1, config={"segment.ms": "x"}), "INVALID_CONFIG"),
        (NewTopic(f"{prefix}both", 2, assignment=((1,),)), "INVALID_REQUEST"),
        (NewTopic(f"{prefix}twice", 1, 1), "INVALID_REQUEST"),
        (NewTopic(f"{prefix}twice", 2, 1), "INVALID_REQUEST"),
    ]
    if not has(KRAFT):  # with ZooKeeper a replica on an unknown broker is waited for
        batch = [each for each in batch if each[0].name != f"{prefix}stranger"]
    answers = cluster.create_topics([spec for spec, _ in batch])
    wanted = {spec.name: wanted for spec, wanted in batch}
    assert alike(errors(answers), wanted, exact=has(ERROR_CODES))
    assert len(answers) == len(batch) - 1
    good = {spec.name for spec, wanted in batch if wanted == "ok"}
    there = sorted(good | {f"{prefix}there", f"{prefix}dot.ted"})
    soon(lambda: listed(cluster, prefix) == there)


@pytest.mark.needs(KRAFT)
def test_names_that_collide_within_one_request_are_both_created(
    cluster: Cluster, prefix: str
) -> None:
    """Kafka holds new names only against those that exist."""
    made(cluster, NewTopic(f"{prefix}a.b"), NewTopic(f"{prefix}a_b"))


@pytest.mark.needs(RECORD_LIMIT)
@pytest.mark.parametrize("extra", [0, 1])
def test_five_thousand_topics_are_the_most_in_one_request(
    cluster: Cluster, prefix: str, extra: int
) -> None:
    """Trap 4: 10,000 records, told as a violated policy."""
    specs = [NewTopic(f"{prefix}{each}", 1, 1) for each in range(5_000 + extra)]
    texts = Counter(
        each.message if isinstance(each, Refusal) else "ok"
        for each in cluster.preview_topics(specs).values()
    )
    too_large = "Unable to perform excessively large batch operation."
    assert texts == ({too_large: 5_001} if extra else {"ok": 5_000})
    if extra:
        refused = cluster.create_topics(specs)
        assert Counter(each.code if each else 0 for each in refused.values()) == {44: 5_001}
        assert listed(cluster, prefix) == []


@pytest.mark.needs(RECORD_LIMIT)
def test_too_many_partitions_in_one_request_fail_it_whole(cluster: Cluster, prefix: str) -> None:
    specs = [NewTopic(f"{prefix}big", 10_001, 1), NewTopic(f"{prefix}small", 1, 1)]
    answers = cluster.create_topics(specs)
    texts = {each.message if each else "" for each in answers.values()}
    assert len(texts) == 1
    assert texts < {
        "Excessively large number of partitions per request.",
        "Unable to perform excessively large batch operation.",  # Kafka 3.6
    }


def test_a_preview_tells_what_would_be_and_leaves_no_trace(
    cluster: Cluster, prefix: str, has: Has
) -> None:
    """K4-19, K4-27, K117-11."""
    name, bad = f"{prefix}orders", f"{prefix}bad/"
    previews = cluster.preview_topics(
        [NewTopic(name, config={"segment.ms": "2000"}), NewTopic(bad, 1, 1)]
    )
    found = previews[name]
    assert isinstance(found, TopicPreview)
    assert (found.partitions, found.replication_factor) == (1, 1)
    assert errors(previews) == {name: "ok", bad: "INVALID_TOPIC_EXCEPTION"}
    wanted = effective_configs({"segment.ms": "2000"}, {})
    assert found.config == wanted if has(NEWEST_CONFIGS) else found.config.items() & wanted.items()
    assert listed(cluster, prefix) == []
    assert errors(cluster.topics([name])) == {name: "UNKNOWN_TOPIC_OR_PARTITION"}


@pytest.mark.needs(NEWEST_CONFIGS)
def test_every_config_of_a_topic_is_read_with_its_source(cluster: Cluster, prefix: str) -> None:
    """KIP-226; holds the table of defaults against the broker."""
    name = f"{prefix}orders"
    made(cluster, NewTopic(name, config={"cleanup.policy": "compact,delete"}))
    wanted = effective_configs({"cleanup.policy": "compact,delete"}, {})
    soon(lambda: cluster.topic_configs([name])[name] == wanted)


GOOD_VALUES = (
    ("retention.ms", "-1"),
    ("retention.ms", " 5 "),
    ("cleanup.policy", "compact, delete"),
    ("cleanup.policy", ""),
    ("preallocate", "TRUE"),
    ("compression.gzip.level", "9"),
    ("min.cleanable.dirty.ratio", "0.25"),
    ("leader.replication.throttled.replicas", "0:1,1:2"),
    ("follower.replication.throttled.replicas", "*"),
    ("max.message.bytes", "0"),
)
BAD_VALUES = (
    ("retention.ms", "abc"),
    ("retention.ms", ""),
    ("retention.ms", "-5"),
    ("retention.ms", "1_000"),
    ("max.message.bytes", "99999999999"),
    ("segment.bytes", "5"),
    ("compression.zstd.level", "99"),
    ("compression.gzip.level", "0"),
    ("compression.type", "foo"),
    ("cleanup.policy", "delete,foo"),
    ("preallocate", "maybe"),
    ("min.cleanable.dirty.ratio", "2"),
    ("min.cleanable.dirty.ratio", "x"),
    ("leader.replication.throttled.replicas", "foo"),
    ("remote.storage.enable", "true"),
    ("message.downconversion.enable", "true"),
)


def test_configs_are_judged_value_by_value(cluster: Cluster, prefix: str, has: Has) -> None:
    """K4-30: one request, one verdict each."""
    newer = [] if has(COMPRESSION_LEVELS) else [("compression.gzip.level", "9")]
    newer += [] if has(TIERED_STORAGE) else [("remote.storage.enable", "true")]
    newer += [] if has(NO_DOWN_CONVERSION) else [("message.downconversion.enable", "true")]
    values = [each for each in (*GOOD_VALUES, *BAD_VALUES) if each not in newer]
    specs = {
        f"{prefix}{number}": NewTopic(f"{prefix}{number}", 1, 1, config={key: value})
        for number, (key, value) in enumerate(values)
    }
    previews = errors(cluster.preview_topics([*specs.values()]))
    judged = {value: previews[name] for name, value in zip(specs, values, strict=True)}
    wanted = {value: "INVALID_CONFIG" if value in BAD_VALUES else "ok" for value in values}
    assert judged == wanted


# Several brokers.


def test_replicas_stand_on_three_brokers_and_each_of_them_serves_the_topic(
    wide: Cluster, prefix: str
) -> None:
    """K117-16, K117-23, K4-07, K4-20, K4-53: acknowledged is not visible: every broker is asked."""
    brokers = wide.describe().brokers
    assert len({broker.rack for broker in brokers}) == 3
    spread, given = f"{prefix}spread", f"{prefix}given"
    assert errors(
        wide.create_topics(
            [
                NewTopic(spread, 6, 3, config={"min.insync.replicas": "2"}),
                NewTopic(given, assignment=((3, 1), (1, 2))),
            ]
        )
    ) == {spread: "ok", given: "ok"}
    for broker in brokers:
        soon(lambda id_=broker.id: _all_ready(wide, (spread, given), id_))  # type: ignore[misc]
    found = described(wide, spread)
    assert all(sorted(replicas) == [1, 2, 3] for replicas in found.assignment)
    leaders = Counter(replicas[0] for replicas in found.assignment)
    assert leaders == {1: 2, 2: 2, 3: 2}, "leaders are spread evenly"
    assert described(wide, given).assignment == ((3, 1), (1, 2))
    binding = acl(prefix)
    assert wide.create_acls([binding]) == {binding: None}
    for broker in brokers:
        soon(lambda id_=broker.id: binding in wide.acls(broker=id_))  # type: ignore[misc]


def _all_ready(cluster: Cluster, names: tuple[str, ...], broker: int) -> bool:
    return all(is_ready(each) for each in cluster.topics(names, broker=broker).values())


def test_a_broker_that_does_not_exist_does_not_answer(wide: Cluster) -> None:
    with pytest.raises(UnreachableError):
        wide.topics([], broker=9)
    with pytest.raises(UnreachableError):
        wide.acls(broker=9)
