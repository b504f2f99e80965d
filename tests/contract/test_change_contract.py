"""Topics changed and deleted: the same on every implementation of the `Cluster` port."""

from concurrent.futures import ThreadPoolExecutor

from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration, NewPartitions, NewTopic, TopicRef
from tests.brokers import Has
from tests.capability import ERROR_CODES
from tests.contract.clusters import (
    alike,
    described,
    errors,
    is_ready,
    listed,
    made,
    own_config,
    soon,
)


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


def test_what_a_key_falls_back_to_is_told_with_and_without_an_override(
    cluster: Cluster, prefix: str
) -> None:
    """KIP-226; retention is in hours at the broker, and in milliseconds at the topic."""
    own, none = f"{prefix}own", f"{prefix}none"
    made(cluster, NewTopic(own, 1, 1, config={"retention.ms": "1000"}), NewTopic(none, 1, 1))
    keys = ("retention.ms", "cleanup.policy", "segment.ms", "retention.bytes")
    found = cluster.topic_config_fallbacks({own: keys, none: keys[:1], f"{prefix}absent": keys})
    assert found[own] == {
        "retention.ms": "604800000",
        "cleanup.policy": "delete",
        "segment.ms": "604800000",
        "retention.bytes": "-1",
    }
    assert found[none] == {"retention.ms": "604800000"}
    assert errors(found)[f"{prefix}absent"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_configs_are_set_and_reset_key_by_key(cluster: Cluster, prefix: str, has: Has) -> None:
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
    exact = has(ERROR_CODES)
    previewed = errors(cluster.alter_topic_configs(specs, validate_only=True))
    assert alike(previewed, wanted, exact=exact)
    assert own_config(cluster, names["set"]) == config, "validated only"
    assert alike(errors(cluster.alter_topic_configs(specs)), wanted, exact=exact)
    soon(lambda: own_config(cluster, names["set"]) == config | {"segment.ms": "7", "flush.ms": "6"})
    soon(lambda: own_config(cluster, names["reset"]) == {"retention.ms": "1000", "segment.ms": "7"})
    for each in ("none", "key", "value", "both"):
        assert own_config(cluster, names[each]) == config


def test_a_name_given_twice_is_refused_for_that_name_alone(cluster: Cluster, prefix: str) -> None:
    """K117-13, K4-04, trap 6, P1."""
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
    again = NewTopic(name, 1, 1)  # with ZooKeeper the name is free a moment later
    soon(lambda: set(errors(cluster.create_topics([again])).values()) == {"ok"})
    soon(lambda: is_ready(cluster.topics([name])[name]))
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
