"""Topics between a cluster and a plan: read, aligned, sent, validated, seen."""

from collections.abc import Mapping, Sequence

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.store import BrokerDefaults
from kplan.cluster.request import ConfigAlteration, ItemResult, NewTopic, TopicDescription, TopicRef
from kplan.kinds.topic import ALTER_CONFIG, CREATE, DELETE, GROW, TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.errors import Refusal, UnreadableError
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot, LiveObject
from tests.values import address, identity, topic

KIND = TopicKind()
ORDERS = Identity("orders")


def change(before: Topic | None, after: Topic | None, uid: str = "") -> Change:
    action = Action.CREATE if before is None else Action.DELETE if after is None else Action.UPDATE
    value = after or before
    assert value is not None
    return Change(
        address("kafka_topic.a"), KIND.name, identity(value), action, before, after, uid=uid
    )


def holding(*specs: NewTopic) -> MemoryCluster:
    cluster = MemoryCluster(defaults=BrokerDefaults(topic_configs={"retention.ms": "5"}))
    cluster.seed(specs)
    return cluster


def uid(cluster: MemoryCluster, name: str = "orders") -> str:
    found = cluster.connect_as().topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found.topic_id


# Reading.


def test_a_topic_is_read_with_its_layout_its_own_configs_and_its_id() -> None:
    """Law 5: broker defaults are not the topic's."""
    cluster = holding(NewTopic("orders", 2, 2, config={"segment.ms": "7"}))
    reading = KIND.read(cluster, [ORDERS])
    value = Topic("orders", 2, 2, ((1, 2), (2, 3)), {"segment.ms": "7"})
    assert reading == KindSnapshot({ORDERS: LiveObject(value, uid(cluster))})


def test_topics_of_kplan_itself_are_no_objects_even_if_somebody_wants_them() -> None:
    """A state that claims to own one cannot have it deleted: it is not there."""
    cluster = holding(NewTopic("orders"), NewTopic("__kplan_state", config={"segment.ms": "7"}))
    reading = KIND.read(cluster, [ORDERS, Identity("__kplan_state"), Identity("__kplan_other")])
    assert reading.objects.keys() == {"orders"}
    assert reading.hidden == {}
    assert all("__kplan_state" not in call.items for call in cluster.calls)


def test_a_plan_of_many_topics_takes_two_requests() -> None:
    """K4-03; configs are read only where they are of use."""
    cluster = holding(*(NewTopic(f"t{each}") for each in range(50)), NewTopic("unmanaged"))
    wanted = [Identity(f"t{each}") for each in range(50)]
    assert len(KIND.read(cluster, wanted).objects) == 51
    assert [(call.method, call.count) for call in cluster.calls] == [
        ("topics", 0),
        ("topic_configs", 50),
    ]


def test_a_wanted_topic_that_the_list_hides_is_asked_for_by_name() -> None:
    """K4-34, K117-15: hidden is not absent."""
    cluster = holding(NewTopic("orders"))
    cluster.hide_topic("orders")
    reading = KIND.read(cluster, [ORDERS, Identity("absent")])
    assert reading.objects == {}
    assert {name: each.error for name, each in reading.hidden.items()} == {
        "orders": "TOPIC_AUTHORIZATION_FAILED"
    }


def test_a_topic_whose_configs_may_not_be_read_is_hidden() -> None:
    cluster = holding(NewTopic("orders"), NewTopic("bills"))
    cluster.deny_operation("DESCRIBE_CONFIGS", "TOPIC", "orders")
    reading = KIND.read(cluster, [ORDERS, Identity("bills")])
    assert list(reading.objects) == ["bills"]
    (told,) = reading.hidden.values()
    assert told.message.startswith("The cluster shows topic orders, but not its configs. Principal")
    assert "needs DESCRIBE_CONFIGS on TOPIC orders." in told.message
    assert told.hint == "Grant DESCRIBE_CONFIGS on it to the principal kplan runs as."


def test_a_topic_deleted_between_list_and_describe_is_absent() -> None:
    cluster = holding(NewTopic("orders"), NewTopic("bills"))
    other = cluster.connect_as()
    cluster.run_before("topic_configs", lambda: other.delete_topics([TopicRef("orders")]))
    reading = KIND.read(cluster, [ORDERS, Identity("bills")])
    assert list(reading.objects) == ["bills"]
    assert reading.hidden == {}


@pytest.mark.parametrize("call", ["topics", "topic_configs"])
def test_a_wanted_topic_without_an_answer_is_never_taken_for_absent(call: str) -> None:
    """Law 2: silence is not success, nor absence."""
    cluster = holding(NewTopic("orders"), *([NewTopic("bills")] if call == "topic_configs" else []))
    wanted = [ORDERS, Identity("bills")]
    cluster.omit_items(on="bills", call=call)
    with pytest.raises(UnreadableError, match="bills"):
        KIND.read(cluster, wanted)


# Aligning.


def live(**given: object) -> Topic:
    parts: dict[str, object] = {
        "partitions": 3,
        "replication_factor": 2,
        "replica_assignment": ((1, 2), (2, 3), (3, 1)),
        "config": {"segment.ms": "7"},
    }
    return Topic("orders", **{**parts, **given})  # type: ignore[arg-type] # checked by the dataclass


@pytest.mark.parametrize(
    "desired",
    [
        Topic("orders", 3, 2, config={"segment.ms": "7"}),
        Topic("orders", config={"segment.ms": "7"}),
        Topic("orders", None, None, ((1, 2), (2, 3), (3, 1)), {"segment.ms": "7"}),
    ],
    ids=["counts", "left to the broker", "assignment"],
)
def test_what_means_the_same_is_aligned_to_the_same(desired: Topic) -> None:
    before, after = KIND.align(live(), desired)
    assert before == after


@pytest.mark.parametrize(
    "desired",
    [
        Topic("orders", 6, config={"segment.ms": "7"}),
        Topic("orders", 3, 1, config={"segment.ms": "7"}),
        Topic("orders", config={"segment.ms": "8"}),
        Topic("orders", config={"segment.ms": "7", "retention.ms": "1"}),
        Topic("orders"),
        Topic("orders", None, None, ((1, 2), (2, 3), (1, 3)), {"segment.ms": "7"}),
    ],
)
def test_what_differs_stays_different(desired: Topic) -> None:
    """Law 5: a key removed from HCL is a reset."""
    before, after = KIND.align(live(), desired)
    assert before != after


@pytest.mark.parametrize(
    ("ignored", "desired"),
    [
        ([("partitions",)], Topic("orders", 9, 2, config={"segment.ms": "7"})),
        ([("replication_factor",)], Topic("orders", 3, 9, config={"segment.ms": "7"})),
        ([("replica_assignment",)], Topic("orders", None, None, ((9,),), {"segment.ms": "7"})),
        ([("config",)], Topic("orders", config={"flush.ms": "1"})),
        ([("config", "segment.ms")], Topic("orders")),
        ([("config", "flush.ms")], Topic("orders", config={"segment.ms": "7", "flush.ms": "1"})),
        ([()], Topic("orders", 9, 9, config={"flush.ms": "1"})),
    ],
)
def test_what_is_ignored_makes_no_difference(
    ignored: list[tuple[str, ...]], desired: Topic
) -> None:
    before, after = KIND.align(live(), desired, ignored)
    assert before == after


# Sending.


def test_a_create_sends_counts_or_assignment_and_configs() -> None:
    """K117-12."""
    cluster = holding()
    values = [
        topic("a", config={"segment.ms": "7"}),
        topic("b", replica_assignment=((2, 1),)),
        Topic("c"),
    ]
    answers = KIND.apply(cluster, CREATE, [change(None, each) for each in values])
    assert answers == {"a": None, "b": None, "c": None}
    reading = KIND.read(cluster, [identity(each) for each in values])
    for each in values:
        before, after = KIND.align(reading.objects[identity(each)].value, each)  # type: ignore[arg-type] # a topic
        assert before == after


def test_a_delete_goes_by_topic_id() -> None:
    """K4-36."""
    cluster = holding(NewTopic("orders"))
    planned = change(topic(), None, uid=uid(cluster))
    cluster.connect_as().delete_topics([TopicRef("orders")])
    cluster.seed([NewTopic("orders")])
    refused = KIND.apply(cluster, DELETE, [planned])[ORDERS]
    assert refused is not None
    assert refused.error == "UNKNOWN_TOPIC_ID"
    assert list(cluster.topics()) == ["orders"]


def test_growth_sends_the_new_total_and_only_the_new_replicas() -> None:
    cluster = holding(NewTopic("orders", assignment=((1, 2), (2, 3))))
    wanted = ((1, 2), (2, 3), (3, 1))
    before = Topic("orders", 2, 2, wanted[:2])
    grown = change(before, Topic("orders", 3, 2, wanted))
    assert KIND.validate(cluster, GROW, [grown]) == {ORDERS: {}}
    assert not KIND.is_done(GROW, grown, KIND.read(cluster, [ORDERS])), "asked only"
    assert KIND.apply(cluster, GROW, [grown]) == {ORDERS: None}
    assert KIND.read(cluster, [ORDERS]).objects[ORDERS].value == Topic("orders", 3, 2, wanted)


class Recording(MemoryCluster):
    """Keeps the alterations it is sent."""

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        self.sent = (*getattr(self, "sent", ()), *specs)
        return super().alter_topic_configs(specs, validate_only=validate_only)


def test_an_alteration_sets_what_differs_and_resets_what_is_gone() -> None:
    config = {"segment.ms": "7", "flush.ms": "1", "flush.messages": "2"}
    cluster = Recording()
    cluster.seed([NewTopic("orders", config=config)])
    before = topic(config=config)
    altered = change(before, topic(config={"segment.ms": "8", "flush.ms": "1"}))
    assert KIND.validate(cluster, ALTER_CONFIG, [altered]) == {ORDERS: {}}
    assert KIND.apply(cluster, ALTER_CONFIG, [altered]) == {ORDERS: None}
    assert (
        cluster.sent == (ConfigAlteration("orders", {"segment.ms": "8"}, ("flush.messages",)),) * 2
    )
    assert KIND.is_done(ALTER_CONFIG, altered, KIND.read(cluster, [ORDERS]))


def test_a_refused_item_is_answered_by_its_name() -> None:
    cluster = holding()
    answers = KIND.apply(cluster, CREATE, [change(None, topic("a/b")), change(None, topic("ok"))])
    assert {name: each.error if each else None for name, each in answers.items()} == {
        "a/b": "INVALID_TOPIC_EXCEPTION",
        "ok": None,
    }


def test_a_create_is_validated_and_tells_what_the_broker_would_choose() -> None:
    """K4-19, K117-11."""
    cluster = MemoryCluster(defaults=BrokerDefaults(partitions=4, replication_factor=2))
    answers = KIND.validate(cluster, CREATE, [change(None, Topic("a")), change(None, topic("b/"))])
    assert answers[Identity("a")] == {("partitions",): 4, ("replication_factor",): 2}
    assert isinstance(answers[Identity("b/")], Refusal)
    assert cluster.topics() == {}


def test_a_delete_cannot_be_validated() -> None:
    cluster = holding(NewTopic("orders"))
    assert KIND.validate(cluster, DELETE, [change(topic(), None)]) == {}
    assert cluster.calls == []


@pytest.mark.parametrize(
    ("step", "what", "wanted"),
    [
        (CREATE, change(None, topic(config={"a": "1", "b": "2"})), 1 + 3 + 2),
        (CREATE, change(None, topic(replica_assignment=((1,), (2,)))), 1 + 2),
        (CREATE, change(None, Topic("a")), 1 + 1),
        (DELETE, change(topic(), None), 1),
        (GROW, change(topic(), topic(partitions=10)), 7),
        (ALTER_CONFIG, change(topic(config={"a": "1", "b": "1"}), topic(config={"a": "2"})), 2),
    ],
)
def test_records_are_counted_as_the_controller_counts_them(
    step: object, what: Change, wanted: int
) -> None:
    """Trap 4, law 7."""
    assert KIND.record_count(step, what) == wanted  # type: ignore[arg-type] # one of the steps


# Looking whether it is done.


def test_a_step_is_done_when_the_cluster_stands_where_it_leads() -> None:
    reading = KindSnapshot({ORDERS: LiveObject(live())})
    nothing = KindSnapshot({})
    hidden = KindSnapshot({}, {ORDERS: Refusal("TOPIC_AUTHORIZATION_FAILED", 29)})
    same = Topic("orders", 3, 2, config={"segment.ms": "7"})
    assert KIND.is_done(CREATE, change(None, same), reading)
    assert not KIND.is_done(CREATE, change(None, same), nothing)
    assert not KIND.is_done(CREATE, change(None, Topic("orders", 4)), reading)
    assert KIND.is_done(GROW, change(topic(partitions=1), same), reading)
    assert not KIND.is_done(GROW, change(same, Topic("orders", 4)), reading)
    assert KIND.is_done(ALTER_CONFIG, change(topic(), same), reading)
    assert not KIND.is_done(ALTER_CONFIG, change(same, Topic("orders")), reading)
    assert KIND.is_done(DELETE, change(same, None), nothing)
    assert not KIND.is_done(DELETE, change(same, None), reading)
    assert not KIND.is_done(DELETE, change(same, None), hidden), "hidden is not gone (K4-34)"


def test_a_new_topic_is_served_when_all_its_partitions_have_leaders() -> None:
    """K4-13, K4-53."""
    cluster = holding()
    created = change(None, topic())
    cluster.delay_reads(1, brokers=[2])
    KIND.apply(cluster, CREATE, [created])
    assert KIND.find_visible(cluster, 1, [created]) == {ORDERS: uid(cluster)}
    assert KIND.find_visible(cluster, 2, [created]) == {}
    assert KIND.find_visible(cluster, 2, [created]) == {ORDERS: uid(cluster)}
    cluster.stop_brokers(1)
    assert KIND.find_visible(cluster, 2, [created]) == {}, "a partition lost its leader"


def test_a_grown_topic_is_served_when_it_is_large_enough() -> None:
    cluster = holding(NewTopic("orders", 3))
    grown = change(topic(), topic(partitions=5))
    assert KIND.find_visible(cluster, 1, [grown]) == {}
    KIND.apply(cluster, GROW, [grown])
    assert KIND.find_visible(cluster, 1, [grown]) == {ORDERS: uid(cluster)}
    assert cluster.count("topic_configs") == 0


def test_a_grown_topic_is_served_though_an_old_partition_waits_for_its_broker() -> None:
    """Every apply during an outage waited as long as it could."""
    cluster = holding(NewTopic("orders", assignment=((1,), (2,))))
    cluster.stop_brokers(1)
    grown = change(Topic("orders", 2), Topic("orders", 3))
    KIND.apply(cluster, GROW, [grown])
    assert KIND.find_visible(cluster, 2, [grown]) == {ORDERS: uid(cluster)}
    cluster.start_brokers()
    cluster.stop_brokers(2, 3)
    assert KIND.find_visible(cluster, 1, [grown]) == {}, "the new partition has no leader"


def test_altered_configs_are_served_when_the_keys_that_were_sent_show() -> None:
    cluster = holding(NewTopic("orders", 3, config={"flush.ms": "1"}))
    altered = change(topic(config={"flush.ms": "1"}), topic(config={"segment.ms": "8"}))
    cluster.delay_reads(1)
    KIND.apply(cluster, ALTER_CONFIG, [altered])
    assert KIND.find_visible(cluster, 1, [altered]) == {ORDERS: uid(cluster)}, (
        "the second read shows it"
    )
    other = cluster.connect_as()
    other.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "9"})])
    cluster.delay_reads(0)
    assert KIND.find_visible(cluster, 1, [altered]) == {ORDERS: uid(cluster)}, (
        "a key of someone else's"
    )
    other.alter_topic_configs([ConfigAlteration("orders", {"flush.ms": "1"})])
    assert KIND.find_visible(cluster, 1, [altered]) == {}
    cluster.refuse("UNKNOWN_TOPIC_OR_PARTITION", call="topic_configs")
    assert KIND.find_visible(cluster, 1, [altered]) == {}


def test_a_deleted_topic_is_gone_when_its_id_is() -> None:
    cluster = holding(NewTopic("orders"))
    gone = change(topic(), None, uid=uid(cluster))
    by_name = change(topic(), None)
    assert KIND.find_visible(cluster, 1, [gone]) == {}
    assert KIND.find_visible(cluster, 1, [by_name]) == {}
    KIND.apply(cluster, DELETE, [gone])
    assert KIND.find_visible(cluster, 1, [gone]) == {ORDERS: ""}
    assert KIND.find_visible(cluster, 1, [by_name]) == {ORDERS: ""}
    cluster.seed([NewTopic("orders")])
    assert KIND.find_visible(cluster, 1, [gone]) == {ORDERS: uid(cluster)}, (
        "another topic by that name"
    )
    assert KIND.find_visible(cluster, 1, [by_name]) == {}
    cluster.hide_topic("orders")
    assert KIND.find_visible(cluster, 1, [gone]) == {}


def test_one_request_asks_a_broker_about_all_changes() -> None:
    cluster = holding(NewTopic("a"), NewTopic("b"))
    KIND.find_visible(cluster, 3, [change(None, topic("b")), change(None, topic("a"))])
    assert cluster.calls == [Call("topics", ("a", "b"), broker=3)]


def test_a_topic_is_named_by_its_name_and_has_one_spelling() -> None:
    assert KIND.identify(topic("a")) == "a"
    assert KIND.normalize(topic("a")) == topic("a")
    assert not KIND.is_replaceable
    assert KIND.steps(change(topic(), topic())) == ()


def test_a_topic_that_is_written_as_kafka_has_it_is_not_made_again() -> None:
    value = Topic("orders", 3, 1, config={"cleanup.policy": "compact,delete"})
    assert KIND.normalize(value) is value
    spaced = Topic("orders", 3, 1, config={"cleanup.policy": "compact, delete"})
    assert KIND.normalize(spaced) == value
