"""One suite for every implementation of the `Cluster` port: in memory, over the wire, routed.

What holds here holds for Apache Kafka, which makes tests on the cluster in memory worth something.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from kplan.cluster.acl_requests import OPERATIONS, RESOURCE_TYPES
from kplan.cluster.port import Cluster
from kplan.cluster.specs import (
    AclBinding,
    ConfigAlteration,
    ConfigSource,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.topic_configs import effective
from kplan.model.errors import Unreachable, Unread
from kplan.model.refusal import Refusal

Lacking = Callable[..., Cluster]

VISIBLE_S = 30.0


def errors(answers: Mapping[str, object]) -> dict[str, str]:
    """Name what became of each item: Kafka's error, or "ok"."""
    return {
        name: each.error if isinstance(each, Refusal) else "ok" for name, each in answers.items()
    }


def soon(holds: Callable[[], bool]) -> None:
    """Wait until a broker shows what was acknowledged (trap 2)."""
    end = time.monotonic() + VISIBLE_S
    while not holds():
        assert time.monotonic() < end, "not visible in time"
        time.sleep(0.05)


def made(cluster: Cluster, *specs: NewTopic) -> None:
    """Create topics and wait until they can be used."""
    assert set(errors(cluster.create_topics(specs)).values()) == {"ok"}
    names = [spec.name for spec in specs]
    soon(lambda: all(_is_ready(each) for each in cluster.topics(names).values()))


def _is_ready(found: TopicDescription | Refusal) -> bool:
    return isinstance(found, TopicDescription) and found.leaderless == 0


def described(cluster: Cluster, name: str) -> TopicDescription:
    found = cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found


def own_config(cluster: Cluster, name: str) -> dict[str, str | None]:
    found = cluster.topic_configs([name])[name]
    assert not isinstance(found, Refusal)
    return {key: each.value for key, each in found.items() if each.source is ConfigSource.TOPIC}


def listed(cluster: Cluster, prefix: str) -> list[str]:
    return sorted(name for name in cluster.topics() if name.startswith(prefix))


# Who answers.


def test_the_cluster_tells_its_id_its_brokers_and_who_we_are(cluster: Cluster) -> None:
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
    cluster: Cluster, prefix: str
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
    answers = cluster.create_topics([spec for spec, _ in batch])
    assert errors(answers) == {spec.name: wanted for spec, wanted in batch}
    assert len(answers) == 23
    good = {spec.name for spec, wanted in batch if wanted == "ok"}
    there = sorted(good | {f"{prefix}there", f"{prefix}dot.ted"})
    soon(lambda: listed(cluster, prefix) == there)


def test_names_that_collide_within_one_request_are_both_created(
    cluster: Cluster, prefix: str
) -> None:
    """Kafka holds new names only against those that exist."""
    made(cluster, NewTopic(f"{prefix}a.b"), NewTopic(f"{prefix}a_b"))


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


def test_too_many_partitions_in_one_request_fail_it_whole(cluster: Cluster, prefix: str) -> None:
    specs = [NewTopic(f"{prefix}big", 10_001, 1), NewTopic(f"{prefix}small", 1, 1)]
    answers = cluster.create_topics(specs)
    assert {each.message if each else "" for each in answers.values()} == {
        "Excessively large number of partitions per request."
    }


def test_a_preview_tells_what_would_be_and_leaves_no_trace(cluster: Cluster, prefix: str) -> None:
    """K4-19, K4-27, K117-11."""
    name, bad = f"{prefix}orders", f"{prefix}bad/"
    previews = cluster.preview_topics(
        [NewTopic(name, config={"segment.ms": "2000"}), NewTopic(bad, 1, 1)]
    )
    found = previews[name]
    assert isinstance(found, TopicPreview)
    assert (found.partitions, found.replication_factor) == (1, 1)
    assert errors(previews) == {name: "ok", bad: "INVALID_TOPIC_EXCEPTION"}
    assert found.config == effective({"segment.ms": "2000"}, {})
    assert listed(cluster, prefix) == []
    assert errors(cluster.topics([name])) == {name: "UNKNOWN_TOPIC_OR_PARTITION"}


def test_every_config_of_a_topic_is_read_with_its_source(cluster: Cluster, prefix: str) -> None:
    """KIP-226; holds the table of defaults against the broker."""
    name = f"{prefix}orders"
    made(cluster, NewTopic(name, config={"cleanup.policy": "compact,delete"}))
    wanted = effective({"cleanup.policy": "compact,delete"}, {})
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


def test_configs_are_judged_value_by_value(cluster: Cluster, prefix: str) -> None:
    """K4-30: one request, one verdict each."""
    values = [*GOOD_VALUES, *BAD_VALUES]
    specs = {
        f"{prefix}{number}": NewTopic(f"{prefix}{number}", 1, 1, config={key: value})
        for number, (key, value) in enumerate(values)
    }
    previews = errors(cluster.preview_topics([*specs.values()]))
    judged = {value: previews[name] for name, value in zip(specs, values, strict=True)}
    wanted = {value: "INVALID_CONFIG" if value in BAD_VALUES else "ok" for value in values}
    assert judged == wanted


def test_topics_grow_and_only_grow(cluster: Cluster, prefix: str) -> None:
    """K4-57, KIP-195."""
    names = {each: f"{prefix}{each}" for each in ("more", "given", "same", "less", "short", "odd")}
    made(cluster, *(NewTopic(name, 2, 1) for name in names.values()))
    specs = [
        NewPartitions(names["more"], 4),
        NewPartitions(names["given"], 3, ((1,),)),
        NewPartitions(names["same"], 2),
        NewPartitions(names["less"], 1),
        NewPartitions(names["short"], 4, ((1,),)),
        NewPartitions(names["odd"], 3, ((9,),)),
        NewPartitions(f"{prefix}absent", 3),
    ]
    wanted = {
        names["more"]: "ok",
        names["given"]: "ok",
        names["same"]: "INVALID_PARTITIONS",
        names["less"]: "INVALID_PARTITIONS",
        names["short"]: "INVALID_REPLICA_ASSIGNMENT",
        names["odd"]: "INVALID_REPLICA_ASSIGNMENT",
        f"{prefix}absent": "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert errors(cluster.create_partitions(specs, validate_only=True)) == wanted
    assert len(described(cluster, names["more"]).assignment) == 2, "validated only"
    assert errors(cluster.create_partitions(specs)) == wanted
    soon(lambda: described(cluster, names["more"]).assignment == ((1,),) * 4)
    soon(lambda: described(cluster, names["given"]).assignment == ((1,),) * 3)


def test_configs_are_set_and_reset_key_by_key(cluster: Cluster, prefix: str) -> None:
    """K4o-05, KIP-339; resetting a key that is unknown or not set is a success."""
    names = {each: f"{prefix}{each}" for each in ("set", "reset", "none", "key", "value", "both")}
    config = {"retention.ms": "1000", "flush.ms": "5"}
    made(cluster, *(NewTopic(name, 1, 1, config=config) for name in names.values()))
    specs = [
        ConfigAlteration(names["set"], {"segment.ms": "7", "flush.ms": "6"}),
        ConfigAlteration(names["reset"], {"segment.ms": "7"}, ("flush.ms",)),
        ConfigAlteration(names["none"], delete=("no.such.key", "segment.ms")),
        ConfigAlteration(names["key"], {"no.such.key": "1"}),
        ConfigAlteration(names["value"], {"segment.ms": "x"}),
        ConfigAlteration(names["both"], {"segment.ms": "7"}, ("segment.ms",)),
        ConfigAlteration(f"{prefix}absent", {"segment.ms": "7"}),
        ConfigAlteration(f"{prefix}sl/ash", {"segment.ms": "7"}),
    ]
    wanted = {
        names["set"]: "ok",
        names["reset"]: "ok",
        names["none"]: "ok",
        names["key"]: "INVALID_CONFIG",
        names["value"]: "INVALID_CONFIG",
        names["both"]: "INVALID_REQUEST",
        f"{prefix}absent": "UNKNOWN_TOPIC_OR_PARTITION",
        f"{prefix}sl/ash": "INVALID_TOPIC_EXCEPTION",
    }
    soon(lambda: own_config(cluster, names["set"]) == config)
    assert errors(cluster.alter_topic_configs(specs, validate_only=True)) == wanted
    assert own_config(cluster, names["set"]) == config, "validated only"
    assert errors(cluster.alter_topic_configs(specs)) == wanted
    soon(lambda: own_config(cluster, names["set"]) == config | {"segment.ms": "7", "flush.ms": "6"})
    soon(lambda: own_config(cluster, names["reset"]) == {"retention.ms": "1000", "segment.ms": "7"})
    for each in ("none", "key", "value", "both"):
        assert own_config(cluster, names[each]) == config


def test_a_name_given_twice_is_refused_for_that_name_alone(cluster: Cluster, prefix: str) -> None:
    """K4-04, trap 6, P1."""
    one, two = f"{prefix}one", f"{prefix}two"
    wanted = {one: "INVALID_REQUEST", two: "ok"}
    made(cluster, NewTopic(one, 1, 1), NewTopic(two, 1, 1))
    grow = [NewPartitions(one, 2), NewPartitions(two, 2), NewPartitions(one, 3)]
    assert errors(cluster.create_partitions(grow)) == wanted
    alter = [ConfigAlteration(each, {"segment.ms": "7"}) for each in (one, two, one)]
    assert errors(cluster.alter_topic_configs(alter)) == wanted
    assert errors(cluster.delete_topics([TopicRef(one), TopicRef(two), TopicRef(one)])) == wanted
    soon(lambda: listed(cluster, prefix) == [one])
    assert len(described(cluster, one).assignment) == 1


def test_topics_are_deleted_by_id_or_by_name(cluster: Cluster, prefix: str) -> None:
    """K4-31, K4-32, K4-36."""
    names = [f"{prefix}{each}" for each in ("by-id", "by-name", "stays")]
    made(cluster, *(NewTopic(name, 1, 1) for name in names))
    ids = {name: described(cluster, name).topic_id for name in names}
    answers = cluster.delete_topics(
        [
            TopicRef(names[0], ids[names[0]]),
            TopicRef(names[1]),
            TopicRef(f"{prefix}absent"),
            TopicRef(names[2], "AAAAAAAAQACAAAAAAAAAAA"),
        ]
    )
    assert errors(answers) == {
        names[0]: "ok",
        names[1]: "ok",
        f"{prefix}absent": "UNKNOWN_TOPIC_OR_PARTITION",
        names[2]: "UNKNOWN_TOPIC_ID",
    }
    soon(lambda: listed(cluster, prefix) == [names[2]])


def test_a_re_created_topic_is_not_deleted_by_the_id_of_its_forerunner(
    cluster: Cluster, prefix: str
) -> None:
    """K4-36: a stale plan cannot delete it."""
    name = f"{prefix}orders"
    made(cluster, NewTopic(name, 1, 1))
    old = described(cluster, name).topic_id
    assert errors(cluster.delete_topics([TopicRef(name, old)])) == {name: "ok"}
    soon(lambda: errors(cluster.topics([name])) == {name: "UNKNOWN_TOPIC_OR_PARTITION"})
    made(cluster, NewTopic(name, 1, 1))
    assert described(cluster, name).topic_id != old
    assert errors(cluster.delete_topics([TopicRef(name, old)])) == {name: "UNKNOWN_TOPIC_ID"}
    assert described(cluster, name).topic_id != old


def test_unknown_and_impossible_names_are_told_apart(cluster: Cluster, prefix: str) -> None:
    names = [f"{prefix}absent", f"{prefix}sl/ash"]
    wanted = dict(
        zip(names, ("UNKNOWN_TOPIC_OR_PARTITION", "INVALID_TOPIC_EXCEPTION"), strict=True)
    )
    assert errors(cluster.topics(names)) == wanted
    assert errors(cluster.topic_configs(names)) == wanted
    assert listed(cluster, prefix) == [], "asking creates nothing (K4-38)"


def test_many_threads_may_ask_and_write_at_once(cluster: Cluster, prefix: str) -> None:
    """K117-05."""

    def work(number: int) -> set[str]:
        name = f"{prefix}{number}"
        made(cluster, NewTopic(name, 1, 1))
        altered = cluster.alter_topic_configs([ConfigAlteration(name, {"segment.ms": "7"})])
        deleted = cluster.delete_topics([TopicRef(name, described(cluster, name).topic_id)])
        return {*errors(altered).values(), *errors(deleted).values()}

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(work, range(32)))
    assert set().union(*results) == {"ok"}


# Several brokers.


def test_replicas_stand_on_three_brokers_and_each_of_them_serves_the_topic(
    wide: Cluster, prefix: str
) -> None:
    """K4-07, K4-20, K4-53: acknowledged is not visible, so every broker is asked."""
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
    return all(_is_ready(each) for each in cluster.topics(names, broker=broker).values())


def test_a_broker_that_does_not_exist_does_not_answer(wide: Cluster) -> None:
    with pytest.raises(Unreachable):
        wide.topics([], broker=9)
    with pytest.raises(Unreachable):
        wide.acls(broker=9)


# ACLs.


def acl(prefix: str, **given: str) -> AclBinding:
    parts = {
        "resource_type": "TOPIC",
        "resource_name": f"{prefix}orders",
        "pattern_type": "LITERAL",
        "principal": f"User:{prefix}app",
        "host": "*",
        "operation": "READ",
        "permission": "ALLOW",
    }
    return AclBinding(**{**parts, **given})


def own_acls(cluster: Cluster, prefix: str) -> set[AclBinding]:
    return {each for each in cluster.acls() if each.principal == f"User:{prefix}app"}


def test_acls_of_every_sort_are_added_listed_and_deleted(cluster: Cluster, prefix: str) -> None:
    """K4-42, K4-44, K4-46, P4."""
    every = [
        acl(
            prefix,
            resource_type=resource_type,
            resource_name="kafka-cluster" if resource_type == "CLUSTER" else f"{prefix}x",
            operation=operation,
            pattern_type=("LITERAL", "PREFIXED")[len(operation) % 2],
            permission=("ALLOW", "DENY")[len(resource_type) % 2],
            host=("*", "10.0.0.1")[len(operation) % 2],
        )
        for resource_type in sorted(RESOURCE_TYPES)
        for operation in sorted(OPERATIONS)
    ]
    assert own_acls(cluster, prefix) == set()
    assert cluster.create_acls(every) == dict.fromkeys(every)
    soon(lambda: own_acls(cluster, prefix) == set(every))
    assert cluster.acls(broker=1) == cluster.acls()
    gone, stay = every[::2], every[1::2]
    assert cluster.delete_acls(gone) == dict.fromkeys(gone)
    soon(lambda: own_acls(cluster, prefix) == set(stay))


def test_adding_a_present_acl_and_deleting_an_absent_one_succeed(
    cluster: Cluster, prefix: str
) -> None:
    read = acl(prefix)
    assert cluster.create_acls([read]) == {read: None}
    assert cluster.create_acls([read]) == {read: None}
    assert cluster.delete_acls([read]) == {read: None}
    assert cluster.delete_acls([read]) == {read: None}
    soon(lambda: own_acls(cluster, prefix) == set())


def test_a_bad_acl_fails_alone(cluster: Cluster, prefix: str) -> None:
    """Trap 3, P9: also one with a word of filters, which spoils the whole batch on the wire."""
    good = [acl(prefix), acl(prefix, operation="WRITE"), acl(prefix, host="10.0.0.0/8")]
    bad = {
        acl(prefix, principal=f"{prefix}nocolon"): "INVALID_REQUEST",
        acl(prefix, resource_name=""): "INVALID_REQUEST",
        acl(prefix, resource_type="CLUSTER"): "INVALID_REQUEST",
        acl(prefix, operation="ANY"): "CLIENT_INVALID",
        acl(prefix, pattern_type="MATCH"): "CLIENT_INVALID",
        acl(prefix, permission="ANY"): "CLIENT_INVALID",
        acl(prefix, resource_type="ANY"): "CLIENT_INVALID",
    }
    answers = cluster.create_acls([*good, *bad])
    assert {each: answer.error for each, answer in answers.items() if answer} == bad
    soon(lambda: own_acls(cluster, prefix) == set(good))
    pattern = acl(prefix, operation="ANY")
    refused = cluster.delete_acls([pattern, good[0]])
    assert refused[good[0]] is None
    assert errors({"pattern": refused[pattern]}) == {"pattern": "CLIENT_INVALID"}
    soon(lambda: own_acls(cluster, prefix) == set(good[1:]))


@pytest.mark.parametrize("kind", ["memory", pytest.param("wire", marks=pytest.mark.broker)])
def test_ten_thousand_and_one_acls_in_a_request_fail_it_whole(
    cluster: Cluster, prefix: str
) -> None:
    """Trap 4. Routed is the same request, and one keeps the broker busy for many seconds."""
    many = [acl(prefix, resource_name=f"{prefix}{each}") for each in range(10_001)]
    answers = cluster.create_acls(many)
    assert {each.message if each else "" for each in answers.values()} == {
        "Unable to perform excessively large batch operation."
    }
    assert own_acls(cluster, prefix) == set()


# Rights, and no authorizer at all.


def test_a_topic_without_a_right_on_it_is_hidden(
    guarded: Cluster, lacking: Lacking, prefix: str
) -> None:
    """K4-34, K117-15: 29 by name, and absent from the list."""
    name = f"{prefix}secret"
    made(guarded, NewTopic(name, 1, 1))
    us = lacking(
        ("DESCRIBE", "TOPIC"),
        ("DELETE", "TOPIC"),
        ("ALTER", "TOPIC"),
        ("CREATE", "TOPIC"),
        ("DESCRIBE_CONFIGS", "TOPIC"),
        ("ALTER_CONFIGS", "TOPIC"),
    )
    denied = {name: "TOPIC_AUTHORIZATION_FAILED"}
    soon(lambda: errors(us.topic_configs([name])) == denied)
    assert errors(us.topics([name])) == denied
    assert listed(us, prefix) == []
    assert errors(us.preview_topics([NewTopic(name, 1, 1)])) == denied
    assert errors(us.create_topics([NewTopic(name, 1, 1)])) == denied
    assert errors(us.create_partitions([NewPartitions(name, 2)])) == denied
    assert errors(us.alter_topic_configs([ConfigAlteration(name, {"segment.ms": "7"})])) == denied
    assert errors(us.delete_topics([TopicRef(name)])) == denied
    by_id = TopicRef(name, described(guarded, name).topic_id)
    assert errors(us.delete_topics([by_id])) == denied
    assert own_config(guarded, name) == {}


def test_a_missing_right_stops_what_needs_it_and_nothing_else(
    guarded: Cluster, lacking: Lacking, prefix: str
) -> None:
    """K4-21, K4-27, K4-48. ALTER_CONFIGS would imply DESCRIBE_CONFIGS."""
    name, new = f"{prefix}orders", f"{prefix}new"
    made(guarded, NewTopic(name, 1, 1))
    us = lacking(
        ("DELETE", "TOPIC"),
        ("DESCRIBE_CONFIGS", "TOPIC"),
        ("ALTER_CONFIGS", "TOPIC"),
        ("ALTER", "CLUSTER"),
    )
    denied = {name: "TOPIC_AUTHORIZATION_FAILED"}
    soon(lambda: listed(us, prefix) == [name])
    soon(lambda: us.preview_topics([NewTopic(new, 1, 1)]) == {new: TopicPreview()})
    assert errors(us.topic_configs([name])) == denied
    assert errors(us.delete_topics([TopicRef(name)])) == denied
    assert errors(us.alter_topic_configs([ConfigAlteration(name, {"segment.ms": "7"})])) == denied
    assert errors(us.create_partitions([NewPartitions(name, 2)])) == {name: "ok"}
    assert us.acls() == guarded.acls()
    for write in (us.create_acls, us.delete_acls):
        (refused,) = write([acl(prefix)]).values()
        assert refused is not None
        assert refused.error == "CLUSTER_AUTHORIZATION_FAILED"
        assert "Request(" not in refused.message, "trap 14"


def test_a_list_of_acls_without_the_right_to_it_is_unread(lacking: Lacking) -> None:
    """K4-41, P3: never an empty list."""
    us = lacking(("DESCRIBE", "CLUSTER"), ("ALTER", "CLUSTER"))  # ALTER implies DESCRIBE
    with pytest.raises(Unread):
        us.acls()


def test_without_authorizer_topics_work_and_acls_do_not(
    open_cluster_without_acls: Cluster, prefix: str
) -> None:
    """K4-51."""
    cluster = open_cluster_without_acls
    with pytest.raises(Unread):
        cluster.acls()
    for write in (cluster.create_acls, cluster.delete_acls):
        (refused,) = write([acl(prefix)]).values()
        assert refused is not None
        assert (refused.error, refused.code) == ("SECURITY_DISABLED", 54)
    made(cluster, NewTopic(f"{prefix}orders", 1, 1))
    assert errors(cluster.delete_topics([TopicRef(f"{prefix}orders")])) == {f"{prefix}orders": "ok"}
