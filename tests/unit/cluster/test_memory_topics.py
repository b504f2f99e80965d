"""Topics on the cluster in memory: what Apache Kafka 4.3 was measured to answer."""

from collections import Counter

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import BrokerDefaults, make_brokers
from kplan.cluster.port import Cluster
from kplan.cluster.request import (
    ConfigAlteration,
    ConfigSource,
    ItemResult,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.topic import topic_id
from kplan.model.errors import Refusal


def error(verdict: object) -> str:
    """Name what became of an item: Kafka's error, or "ok"."""
    return verdict.error if isinstance(verdict, Refusal) else "ok"


def described(cluster: Cluster, name: str) -> TopicDescription:
    found = cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found


def config(cluster: Cluster, name: str) -> dict[str, str | None]:
    """Give the configs that the topic itself overrides."""
    found = cluster.topic_configs([name])[name]
    assert not isinstance(found, Refusal)
    return {key: each.value for key, each in found.items() if each.source is ConfigSource.TOPIC}


def created(spec: NewTopic, *held: NewTopic) -> ItemResult:
    cluster = MemoryCluster()
    cluster.seed(held)
    return cluster.create_topics([spec])[spec.name]


def test_the_cluster_in_memory_is_a_cluster() -> None:
    cluster: Cluster = MemoryCluster()
    assert cluster.topics() == {}
    assert cluster.acls() == frozenset()
    cluster.close()


def test_a_created_topic_is_served_with_an_id_shaped_like_kafkas() -> None:
    cluster = MemoryCluster()
    assert cluster.create_topics([NewTopic("orders", 3, 2)]) == {"orders": None}
    orders = described(cluster, "orders")
    assert len(orders.topic_id) == 22
    assert orders.assignment == ((1, 2), (2, 3), (3, 1))
    assert cluster.topics() == {"orders": orders}


def test_two_clusters_asked_the_same_hold_the_same() -> None:
    first, second = MemoryCluster(), MemoryCluster()
    for cluster in (first, second):
        cluster.seed([NewTopic("a", 4, 3), NewTopic("b")])
    assert first.topics() == second.topics()


def test_a_re_created_topic_has_another_id() -> None:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("orders")])
    old = described(cluster, "orders").topic_id
    cluster.delete_topics([TopicRef("orders")])
    cluster.seed([NewTopic("orders")])
    assert described(cluster, "orders").topic_id != old


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (NewTopic("a/b"), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(""), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("."), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("x" * 250), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("x" * 249), "ok"),
        (NewTopic("a_b"), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("orders"), "TOPIC_ALREADY_EXISTS"),
        (NewTopic("new", partitions=1, replication_factor=1), "ok"),
        (NewTopic("new", partitions=0), "INVALID_PARTITIONS"),
        (NewTopic("new", partitions=-5), "INVALID_PARTITIONS"),
        (NewTopic("new", replication_factor=0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("new", replication_factor=4), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("new", config={"foo": "1"}), "INVALID_CONFIG"),
        (NewTopic("new", config={"retention.ms": "soon"}), "INVALID_CONFIG"),
        (NewTopic("new", assignment=((1, 2), (2, 3))), "ok"),
        (NewTopic("new", assignment=((1, 9),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("new", assignment=((1, 1),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("new", assignment=((),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("new", assignment=()), "CLIENT_INVALID"),
        (NewTopic("new", assignment=((1, 2), (1,))), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("new", partitions=1, assignment=((1,),)), "INVALID_REQUEST"),
        (NewTopic("new", replication_factor=1, assignment=((1,),)), "INVALID_REQUEST"),
        (NewTopic("__cluster_metadata"), "INVALID_REQUEST"),
    ],
)
def test_a_topic_that_kafka_refuses_is_refused_with_kafkas_code(
    spec: NewTopic, wanted: str
) -> None:
    """K4-17, K4-28, K4-29, K4-30, K4-41."""
    assert error(created(spec, NewTopic("orders"), NewTopic("a.b"))) == wanted


def test_one_bad_item_stops_no_other_and_a_duplicate_is_refused_whole() -> None:
    """K4-25."""
    cluster = MemoryCluster()
    specs = [NewTopic("good"), NewTopic("bad/"), NewTopic("twice"), NewTopic("twice")]
    answers = cluster.create_topics(specs)
    assert {name: error(each) for name, each in answers.items()} == {
        "good": "ok",
        "bad/": "INVALID_TOPIC_EXCEPTION",
        "twice": "INVALID_REQUEST",
    }
    assert list(cluster.topics()) == ["good"]


def test_colliding_names_in_one_request_are_both_created() -> None:
    cluster = MemoryCluster()
    assert cluster.create_topics([NewTopic("a.b"), NewTopic("a_b")]) == {"a.b": None, "a_b": None}


def test_counts_left_out_are_the_brokers_choice() -> None:
    cluster = MemoryCluster(defaults=BrokerDefaults(partitions=6, replication_factor=3))
    cluster.seed([NewTopic("orders")])
    assert [len(each) for each in described(cluster, "orders").assignment] == [3] * 6


@pytest.mark.parametrize(
    ("specs", "wanted"),
    [
        ([NewTopic(f"t{each}") for each in range(5_000)], {"": 5_000}),
        (
            [NewTopic(f"t{each}") for each in range(5_001)],
            {"Unable to perform excessively large batch operation.": 5_001},
        ),
        (
            [NewTopic(f"t{each}", config={"retention.ms": "1"}) for each in range(3_334)],
            {"Unable to perform excessively large batch operation.": 3_334},
        ),
        (
            [NewTopic("big", 10_001), NewTopic("small")],
            {"Excessively large number of partitions per request.": 2},
        ),
    ],
    ids=["5000", "5001", "3334 with a config", "10001 partitions"],
)
def test_a_request_beyond_ten_thousand_records_is_refused_whole(
    specs: list[NewTopic], wanted: dict[str, int]
) -> None:
    """Trap 4: sum of topics, partitions and configs."""
    answers = MemoryCluster().create_topics(specs)
    assert Counter(each.message if each else "" for each in answers.values()) == wanted


def test_a_preview_tells_counts_and_configs_and_creates_nothing() -> None:
    """K4-27, K117-11."""
    defaults = BrokerDefaults(partitions=6, topic_configs={"retention.ms": "1000"})
    cluster = MemoryCluster(defaults=defaults)
    spec = NewTopic("orders", replication_factor=2, config={"segment.ms": "5"})
    preview = cluster.preview_topics([spec, NewTopic("a/b")])
    orders = preview["orders"]
    assert isinstance(orders, TopicPreview)
    assert (orders.partitions, orders.replication_factor) == (6, 2)
    assert orders.config["segment.ms"].source is ConfigSource.TOPIC
    assert orders.config["retention.ms"].value == "1000"
    assert orders.config["retention.ms"].source is ConfigSource.STATIC_BROKER
    assert orders.config["min.insync.replicas"].source is ConfigSource.DYNAMIC_DEFAULT_BROKER
    assert error(preview["a/b"]) == "INVALID_TOPIC_EXCEPTION"
    assert cluster.topics() == {}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (NewPartitions("orders", 5), "ok"),
        (NewPartitions("orders", 5, ((3, 1), (1, 2))), "ok"),
        (NewPartitions("orders", 3), "INVALID_PARTITIONS"),
        (NewPartitions("orders", 2), "INVALID_PARTITIONS"),
        (NewPartitions("orders", 5, ((3, 1),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewPartitions("orders", 4, ((3,),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewPartitions("orders", 10_003), "ok"),
        (NewPartitions("orders", 10_004), "UNKNOWN_SERVER_ERROR"),
        (NewPartitions("absent", 5), "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_a_topic_only_grows(spec: NewPartitions, wanted: str) -> None:
    """K4-57."""
    cluster = MemoryCluster()
    cluster.seed([NewTopic("orders", 3, 2)])
    before = described(cluster, "orders").assignment
    assert error(cluster.create_partitions([spec], validate_only=True)[spec.name]) == wanted
    assert described(cluster, "orders").assignment == before
    assert error(cluster.create_partitions([spec])[spec.name]) == wanted
    after = described(cluster, "orders").assignment
    assert after[:3] == before
    assert len(after) == (spec.total if wanted == "ok" else 3)
    if wanted == "ok" and spec.assignment:
        assert after[3:] == spec.assignment


def test_growth_of_one_topic_twice_in_a_request_is_refused_for_that_topic() -> None:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("a"), NewTopic("b")])
    specs = [NewPartitions("a", 2), NewPartitions("b", 2), NewPartitions("a", 3)]
    answers = cluster.create_partitions(specs)
    assert {name: error(each) for name, each in answers.items()} == {
        "a": "INVALID_REQUEST",
        "b": "ok",
    }


@pytest.mark.parametrize(
    ("spec", "wanted", "left"),
    [
        (ConfigAlteration("orders", {"segment.ms": "7"}), "ok", {"retention.ms", "segment.ms"}),
        (ConfigAlteration("orders", delete=("retention.ms",)), "ok", set()),
        (ConfigAlteration("orders", delete=("foo",)), "ok", {"retention.ms"}),
        (ConfigAlteration("orders", {"foo": "1"}), "INVALID_CONFIG", {"retention.ms"}),
        (
            ConfigAlteration("orders", {"segment.ms": "1"}, ("segment.ms",)),
            "INVALID_REQUEST",
            {"retention.ms"},
        ),
        (
            ConfigAlteration("absent", {"segment.ms": "1"}),
            "UNKNOWN_TOPIC_OR_PARTITION",
            {"retention.ms"},
        ),
        (ConfigAlteration("absent", {"foo": "1"}), "INVALID_CONFIG", {"retention.ms"}),
        (ConfigAlteration("a/b", {"foo": "1"}), "INVALID_TOPIC_EXCEPTION", {"retention.ms"}),
    ],
)
def test_configs_are_set_and_reset_key_by_key(
    spec: ConfigAlteration, wanted: str, left: set[str]
) -> None:
    """K4o-05, KIP-339."""
    cluster = MemoryCluster()
    cluster.seed([NewTopic("orders", config={"retention.ms": "1"})])
    assert error(cluster.alter_topic_configs([spec], validate_only=True)[spec.name]) == wanted
    assert config(cluster, "orders") == {"retention.ms": "1"}
    assert error(cluster.alter_topic_configs([spec])[spec.name]) == wanted
    assert config(cluster, "orders").keys() == left


def test_a_topic_named_twice_among_alterations_is_refused() -> None:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("a")])
    twice = [ConfigAlteration("a", {"segment.ms": "1"}), ConfigAlteration("a")]
    assert error(cluster.alter_topic_configs(twice)["a"]) == "INVALID_REQUEST"


def test_alterations_beyond_ten_thousand_records_are_refused_whole() -> None:
    cluster = MemoryCluster()
    names = [f"t{each}" for each in range(5_000)]
    cluster.seed([NewTopic(name) for name in names])
    cluster.seed([NewTopic("one-more")])
    both = {"segment.ms": "1", "retention.ms": "1"}
    specs = [ConfigAlteration(name, both) for name in [*names, "one-more"]]
    answers = cluster.alter_topic_configs(specs)
    assert {error(each) for each in answers.values()} == {"POLICY_VIOLATION"}
    assert config(cluster, "one-more") == {}


def test_a_topic_is_deleted_by_id_and_its_successor_is_left_alone() -> None:
    """K4-36: a stale plan cannot delete a re-created topic."""
    cluster = MemoryCluster()
    cluster.seed([NewTopic("orders")])
    old = described(cluster, "orders").topic_id
    assert cluster.delete_topics([TopicRef("orders", old)]) == {"orders": None}
    assert error(cluster.delete_topics([TopicRef("orders", old)])["orders"]) == "UNKNOWN_TOPIC_ID"
    cluster.seed([NewTopic("orders")])
    assert error(cluster.delete_topics([TopicRef("orders", old)])["orders"]) == "UNKNOWN_TOPIC_ID"
    assert list(cluster.topics()) == ["orders"]


def test_deleting_by_name_what_is_absent_or_named_twice_is_refused_for_that_name() -> None:
    """K4-32 and trap 6."""
    cluster = MemoryCluster()
    cluster.seed([NewTopic("a"), NewTopic("b")])
    refs = [TopicRef("absent"), TopicRef("a"), TopicRef("a"), TopicRef("b")]
    assert {name: error(each) for name, each in cluster.delete_topics(refs).items()} == {
        "absent": "UNKNOWN_TOPIC_OR_PARTITION",
        "a": "INVALID_REQUEST",
        "b": "ok",
    }
    assert list(cluster.topics()) == ["a"]


def test_a_delete_request_carries_out_ten_thousand_items_and_fails_the_rest() -> None:
    """Seen on Kafka 4.3: the limit strikes item by item here, as -1."""
    cluster = MemoryCluster()
    names = [f"t{each:05}" for each in range(10_002)]
    for start in range(0, len(names), 4_000):
        cluster.seed([NewTopic(name) for name in names[start : start + 4_000]])
    answers = cluster.delete_topics([TopicRef(name) for name in names])
    assert Counter(map(error, answers.values())) == {"ok": 10_000, "UNKNOWN_SERVER_ERROR": 2}
    assert list(cluster.topics()) == names[10_000:]


def test_asking_for_an_unknown_or_impossible_name_says_so() -> None:
    cluster = MemoryCluster()
    for read in (cluster.topics, cluster.topic_configs):
        answers = read(["absent", "a/b"])
        assert {name: error(each) for name, each in answers.items()} == {
            "absent": "UNKNOWN_TOPIC_OR_PARTITION",
            "a/b": "INVALID_TOPIC_EXCEPTION",
        }
    assert cluster.topics([]) == {}


def test_kafkas_own_topics_are_marked_internal() -> None:
    """K4-09."""
    cluster = MemoryCluster()
    cluster.seed([NewTopic("__consumer_offsets"), NewTopic("__mine")])
    assert described(cluster, "__consumer_offsets").is_internal
    assert not described(cluster, "__mine").is_internal


def test_no_topic_id_reads_as_an_option() -> None:
    ids = {topic_id("cluster", number) for number in range(500)}
    assert len(ids) == 500
    assert not any(each.startswith("-") for each in ids)


def test_replicas_are_spread_over_racks() -> None:
    brokers = make_brokers(4, racks=("a", "a", "b", "b"))
    cluster = MemoryCluster(brokers)
    cluster.seed([NewTopic("orders", 4, 2)])
    racks = {broker.id: broker.rack for broker in cluster.describe().brokers}
    for replicas in described(cluster, "orders").assignment:
        assert len({racks[each] for each in replicas}) == 2


def test_a_seed_that_the_cluster_refuses_is_an_error_of_the_test() -> None:
    with pytest.raises(ValueError, match="INVALID_TOPIC_EXCEPTION"):
        MemoryCluster().seed([NewTopic("a/b")])
