"""Pitfalls of confluent-kafka (`reference/kafka-admin.md` 11), met by kplan's real cluster.

Each of them was reproduced with the bare client before it was written down there.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from kplan.cluster.errors import Handling, handling
from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, ConfigAlteration, NewTopic
from kplan.kafka.cluster import KafkaCluster, open_cluster
from kplan.kafka.settings.connection import Seconds, Timeouts
from kplan.kinds.topic import ALTER_CONFIG, CREATE, TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.errors import Refusal, UnreadableError
from kplan.model.plan import Action, Change
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import cleaned, errors, settings_of

pytestmark = pytest.mark.broker

TOPICS = TopicKind()


@pytest.fixture
def kafka(broker: Sandbox, prefix: str) -> Iterator[Cluster]:
    """Open the cluster as the command does."""
    with cleaned(open_cluster(settings_of(broker, "anonymous")), prefix) as cluster:
        yield cluster


def exists_soon(cluster: Cluster, name: str) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if not isinstance(cluster.topics([name])[name], Refusal):
            return True
        time.sleep(0.05)
    return False


def change(name: str, before: Topic | None, after: Topic) -> Change:
    identity = TOPICS.identify(after)
    action = Action.UPDATE if before else Action.CREATE
    return Change(Address("kafka_topic", name), TOPICS.name, identity, action, before, after)


def test_p1_a_duplicate_name_neither_ends_the_process_nor_stops_a_neighbour(
    kafka: Cluster, prefix: str
) -> None:
    """P1: create_topics([a, a, z]) ends in SIGSEGV."""
    a, z = f"{prefix}a", f"{prefix}z"
    answers = kafka.create_topics([NewTopic(a, 1, 1), NewTopic(a, 1, 1), NewTopic(z, 1, 1)])
    assert errors(answers) == {a: "INVALID_REQUEST", z: "ok"}
    assert exists_soon(kafka, z)
    altered = [ConfigAlteration(z, {"segment.ms": "7"}), ConfigAlteration(z, {"flush.ms": "7"})]
    assert errors(kafka.alter_topic_configs(altered)) == {z: "INVALID_REQUEST"}


@pytest.mark.parametrize("request_s", [0.000_01, 0.001, 0.02])
def test_p2_a_success_is_a_success_however_short_the_timeout(
    broker: Sandbox, prefix: str, request_s: float
) -> None:
    """P2: operation_timeout=0 reports success, and the topic is never created."""
    settings = settings_of(broker, "anonymous")
    hasty = replace(settings, timeouts=Timeouts(request_s=Seconds(request_s)))
    with (
        cleaned(open_cluster(settings), prefix) as patient,
        closing(KafkaCluster(hasty)) as cluster,
    ):
        answers = cluster.create_topics([NewTopic(f"{prefix}{each}", 1, 1) for each in range(15)])
        for name, verdict in answers.items():
            if verdict is None:
                assert exists_soon(patient, name), "success was reported"
            else:
                assert handling(verdict) is Handling.IN_DOUBT


def test_p3_a_list_of_acls_that_was_refused_is_not_empty(sasl_broker: Sandbox) -> None:
    """P3: describe_acls without the right to it gives [] as a success."""
    with (
        closing(open_cluster(settings_of(sasl_broker, "bob"))) as cluster,
        pytest.raises(UnreadableError, match="DESCRIBE on CLUSTER"),
    ):
        cluster.acls()


def test_p7_a_config_without_a_value_is_not_sent_as_the_word_none(
    kafka: Cluster, prefix: str
) -> None:
    """P7: NewTopic(config={"k": None}) sends "None", an int raises TypeError for all."""
    good, none, number = (f"{prefix}{each}" for each in ("good", "none", "number"))
    answers = kafka.create_topics(
        [
            NewTopic(good, 1, 1),
            NewTopic(none, 1, 1, config={"leader.replication.throttled.replicas": None}),  # type: ignore[dict-item]
            NewTopic(number, 1, 1, config={"segment.ms": 7}),  # type: ignore[dict-item]
        ]
    )
    assert errors(answers) == {good: "ok", none: "CLIENT_INVALID", number: "CLIENT_INVALID"}
    assert exists_soon(kafka, good)
    altered = kafka.alter_topic_configs([ConfigAlteration(good, {"segment.ms": None})])  # type: ignore[dict-item]
    assert errors(altered) == {good: "CLIENT_INVALID"}


def test_a_value_of_forty_thousand_bytes_breaks_no_connection(kafka: Cluster, prefix: str) -> None:
    """It would go out as null on create, and in a frame that the broker hangs up on."""
    good, long = f"{prefix}good", f"{prefix}long"
    config = {"leader.replication.throttled.replicas": "0:1," * 10_000 + "0:1"}
    answers = kafka.create_topics([NewTopic(good, 1, 1), NewTopic(long, 1, 1, config=config)])
    assert errors(answers) == {good: "ok", long: "CLIENT_INVALID"}
    assert exists_soon(kafka, good)
    altered = kafka.alter_topic_configs([ConfigAlteration(good, config)])
    assert errors(altered) == {good: "CLIENT_INVALID"}


def test_what_the_client_would_refuse_for_all_is_refused_for_one(
    kafka: Cluster, prefix: str
) -> None:
    """Client-side validation raises for the whole call."""
    good, many, wide = (f"{prefix}{each}" for each in ("good", "many", "wide"))
    specs = [NewTopic(many, 100_001, 1), NewTopic(good, 1, 1), NewTopic(wide, 1, 10_001)]
    answers = kafka.create_topics(specs)
    assert errors(answers) == {good: "ok", many: "CLIENT_INVALID", wide: "CLIENT_INVALID"}
    assert exists_soon(kafka, good)


def test_p9_an_acl_with_a_word_of_filters_spoils_no_batch(kafka: Cluster, prefix: str) -> None:
    """P9: op ANY gives -1 for every item of the batch."""
    good = AclBinding("TOPIC", f"{prefix}a", "LITERAL", "User:a", "*", "READ", "ALLOW")
    bad = [replace(good, operation="ANY"), replace(good, pattern_type="MATCH")]
    answers = kafka.create_acls([bad[0], good, bad[1]])
    assert answers[good] is None
    assert {answer.error for answer in answers.values() if answer} == {"CLIENT_INVALID"}
    end = time.monotonic() + 10
    while good not in kafka.acls():
        assert time.monotonic() < end


def test_p10_what_was_acknowledged_is_waited_for_and_never_taken_for_absent(
    kafka: Cluster, prefix: str
) -> None:
    """P10: describing at once gives UNKNOWN_TOPIC for most items for seconds."""
    topics = [Topic(f"{prefix}{each}", 2, 1) for each in range(300)]
    creates = [change(f"t{number}", None, each) for number, each in enumerate(topics)]
    assert set(errors(TOPICS.apply(kafka, CREATE, creates)).values()) == {"ok"}
    _served(kafka, creates)
    more = [replace(each, config={"segment.ms": "7"}) for each in topics]
    pairs = zip(topics, more, strict=True)
    alters = [change(f"t{number}", *pair) for number, pair in enumerate(pairs)]
    assert set(errors(TOPICS.apply(kafka, ALTER_CONFIG, alters)).values()) == {"ok"}
    _served(kafka, alters)
    reading = TOPICS.read(kafka, [each.identity for each in alters])
    assert reading.hidden == {}
    for each in alters:
        live, wanted = TOPICS.align(reading.objects[each.identity].value, each.after)  # type: ignore[arg-type] # topics
        assert live == wanted


def _served(kafka: Cluster, changes: list[Change]) -> None:
    """Poll as apply does, until the broker serves every change."""
    (broker,) = kafka.describe().brokers
    end = time.monotonic() + 60
    waiting = changes
    while waiting:
        assert time.monotonic() < end, f"{len(waiting)} are not visible"
        done = TOPICS.find_visible(kafka, broker.id, waiting)
        waiting = [each for each in waiting if each.identity not in done]
        time.sleep(0.1)
