"""Deleting records over connections that break: each leader is asked once, and never believed."""

from contextlib import closing

import pytest

from kplan.kafka.wire import messages
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import DELETE_RECORDS, Message
from kplan.model.errors import Refusal
from tests.unit.kafka.wire.fake_broker import Act, FakeBroker, fake_broker, settings_for

BOTH = {("a", 0): 5, ("a", 1): 7}


def leads(broker: FakeBroker, other: FakeBroker) -> Message:
    """Answer Metadata: the first broker leads partition 0 of the topic, the other partition 1."""
    answer = messages.METADATA.response
    part = answer.MetadataResponseTopic
    return answer(
        cluster_id="fake",
        brokers=[
            answer.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=each.port)
            for number, each in ((1, broker), (2, other))
        ],
        topics=[
            part(
                name="a",
                error_code=0,
                partitions=[
                    part.MetadataResponsePartition(partition_index=at, leader_id=leader)
                    for at, leader in ((0, 1), (1, 2), (2, -1))
                ],
            ),
            part(name="hidden", error_code=29, partitions=[]),
        ],
    )


def deleted(request: Message) -> Message:
    """Answer DeleteRecords: all that was asked for is gone."""
    answer = DELETE_RECORDS.response
    topic, part = answer.DeleteRecordsTopicResult, answer.DeleteRecordsTopicResult
    return answer(
        topics=[
            topic(
                name=each.name,
                partitions=[
                    part.DeleteRecordsPartitionResult(
                        partition_index=row.partition_index, low_watermark=row.offset, error_code=0
                    )
                    for row in each.partitions
                ],
            )
            for each in request.topics
        ]
    )


def told(found: int | Refusal) -> int | str:
    return found.error if isinstance(found, Refusal) else found


def test_each_leader_is_asked_about_its_own() -> None:
    """K201-20; issue 7, item 8."""
    with fake_broker() as one, fake_broker() as two:
        one.on(messages.METADATA, lambda _: leads(one, two))
        for each in (one, two):
            each.on(DELETE_RECORDS, deleted)
        with closing(WireCluster(settings_for(one.endpoint))) as cluster:
            found = cluster.delete_records(BOTH)
        assert found == BOTH
        assert (one.count(DELETE_RECORDS), two.count(DELETE_RECORDS)) == (1, 1)


@pytest.mark.parametrize(
    ("act", "error"),
    [(Act.CLOSE, "CLIENT_DISCONNECTED"), (Act.STAY_SILENT, "CLIENT_TIMED_OUT")],
)
def test_a_leader_without_an_answer_leaves_its_partitions_in_doubt(act: Act, error: str) -> None:
    with fake_broker() as one, fake_broker() as two:
        one.on(messages.METADATA, lambda _: leads(one, two))
        one.on(DELETE_RECORDS, deleted)
        two.on(DELETE_RECORDS, act)
        with closing(WireCluster(settings_for(one.endpoint))) as cluster:
            found = cluster.delete_records(BOTH)
        assert {key: told(each) for key, each in found.items()} == {("a", 0): 5, ("a", 1): error}
        assert two.count(DELETE_RECORDS) == 1, "it is never asked a second time"


def test_what_nobody_can_be_asked_for_says_why() -> None:
    with fake_broker() as one, fake_broker() as two:
        one.on(messages.METADATA, lambda _: leads(one, two))
        with closing(WireCluster(settings_for(one.endpoint))) as cluster:
            found = cluster.delete_records({("a", 2): 1, ("a", 9): 1, ("hidden", 0): 1})
    assert {key: told(each) for key, each in found.items()} == {
        ("a", 2): "LEADER_NOT_AVAILABLE",
        ("a", 9): "UNKNOWN_TOPIC_OR_PARTITION",
        ("hidden", 0): "TOPIC_AUTHORIZATION_FAILED",
    }
    denied = found["hidden", 0]
    assert isinstance(denied, Refusal)
    assert "needs DELETE on TOPIC hidden" in denied.message


def test_where_nobody_answers_nothing_was_sent() -> None:
    with fake_broker() as broker:
        endpoint = broker.endpoint
    with closing(WireCluster(settings_for(endpoint))) as cluster:
        found = cluster.delete_records({("a", 0): 1})["a", 0]
    assert isinstance(found, Refusal)
    assert found.error == "CLIENT_DISCONNECTED"
    assert found.message.startswith("Nothing was sent. ")
