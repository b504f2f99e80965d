"""A topic as a table: what counts of its records, and when there is nothing to be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from kplan.kafka.settings.connection import Timeouts, seconds
from kplan.kafka.wire import messages, record
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.record import TopicTable
from kplan.model.errors import ClusterError, StateError, UnreachableError
from tests.unit.kafka.wire.fake_broker import Act, FakeBroker, fake_broker, settings_for
from tests.unit.kafka.wire.record_batches import batch, marker

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
OTHER_ID = UUID("ffeeddcc-4455-6677-8899-aabbccddeeff")


@contextmanager
def reading(timeout_s: float = 30) -> Iterator[tuple[FakeBroker, TopicTable]]:
    patient = Timeouts(seconds(timeout_s), seconds(timeout_s))
    with fake_broker() as broker:
        broker.on(messages.METADATA, lambda _: metadata(broker))
        yield broker, TopicTable(settings_for(broker.endpoint, timeouts=patient), "t")


def metadata(
    broker: FakeBroker,
    error: int = 0,
    *,
    partitions: int = 1,
    topic_id: UUID = ID,
    leader: int = 1,
) -> Message:
    answer = messages.METADATA.response
    topic = answer.MetadataResponseTopic
    parts = [
        topic.MetadataResponsePartition(
            partition_index=number, leader_id=leader, replica_nodes=[1], isr_nodes=[1]
        )
        for number in range(partitions)
    ]
    node = answer.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=broker.port, rack=None)
    found = topic(error_code=error, name="t", topic_id=topic_id, partitions=[] if error else parts)
    return answer(brokers=[node], cluster_id="fake", controller_id=1, topics=[found])


def fetched(
    *data: bytes,
    error: int = 0,
    end: int = 0,
    stable: int | None = None,
    aborted: tuple[tuple[int, int], ...] = (),
) -> Message:
    answer = record.FETCH.response
    topic = answer.FetchableTopicResponse
    partition = topic.PartitionData(
        partition_index=0,
        error_code=error,
        high_watermark=end,
        last_stable_offset=end if stable is None else stable,
        aborted_transactions=[
            topic.PartitionData.AbortedTransaction(producer_id=producer, first_offset=first)
            for producer, first in aborted
        ],
        records=b"".join(data),
    )
    return answer(responses=[topic(topic="t", partitions=[partition])])


def earliest(offset: int) -> Message:
    answer = record.LIST_OFFSETS.response
    topic = answer.ListOffsetsTopicResponse
    found = topic.ListOffsetsPartitionResponse(partition_index=0, offset=offset)
    return answer(topics=[topic(name="t", partitions=[found])])


def test_the_newest_value_of_each_key_counts_and_none_removes_it() -> None:
    with reading() as (broker, table):
        first = batch(0, {"a": "1", "b": "2"})
        broker.on(record.FETCH, fetched(first, batch(2, {"a": "3", "b": None}), end=4))
        assert table.read(waits=True) == {b"a": b"3"}
        request = broker.requests[-1]
    assert request.isolation_level == 1


def test_what_was_not_committed_does_not_count() -> None:
    """Markers end transactions; another transaction of the same producer may follow."""
    data = (
        batch(0, {"a": "old"}, producer=7),
        marker(1, 7, is_commit=True),
        batch(2, {"a": "lost"}, producer=7),
        batch(3, {"b": "kept"}, producer=8),
        marker(4, 7, is_commit=False),
        batch(5, {"c": "new"}, producer=7),
        marker(6, 7, is_commit=True),
        marker(7, 8, is_commit=True),
    )
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(*data, end=8, aborted=((7, 2),)))
        assert table.read(waits=True) == {b"a": b"old", b"b": b"kept", b"c": b"new"}


def test_reading_goes_on_where_it_stopped_also_in_the_middle_of_an_answer() -> None:
    whole, cut = batch(0, {"a": "1"}), batch(1, {"b": "2"})
    with reading() as (broker, table):
        broker.on(
            record.FETCH,
            fetched(whole, cut[:-5], end=2),
            fetched(cut, end=2),
            fetched(end=2),
            fetched(batch(2, {"a": "3"}), end=3),
        )
        assert table.read(waits=True) == {b"a": b"1", b"b": b"2"}
        assert table.read(waits=True) == {b"a": b"1", b"b": b"2"}
        assert table.read(waits=True) == {b"a": b"3", b"b": b"2"}
        offsets = [
            each.topics[0].partitions[0].fetch_offset
            for each in broker.requests
            if each.name == "FetchRequest"
        ]
    assert offsets == [0, 1, 2, 2]


def test_an_open_transaction_is_waited_for_unless_a_glance_is_enough() -> None:
    """What follows it may be committed already, and counts only once its end is known."""
    before, open_ = batch(0, {"a": "1"}), batch(1, {"b": "2"}, producer=7)
    after = (marker(2, 7, is_commit=True), batch(3, {"c": "3"}))
    with reading() as (broker, table):
        waiting = fetched(before, end=4, stable=1)
        broker.on(
            record.FETCH,
            waiting,
            fetched(end=4, stable=1),
            fetched(end=4, stable=1),
            fetched(open_, *after, end=4),
        )
        assert table.read(waits=False) == {b"a": b"1"}
        assert table.read(waits=True) == {b"a": b"1", b"b": b"2", b"c": b"3"}


def test_a_transaction_that_does_not_end_is_told_in_time() -> None:
    with reading(timeout_s=1) as (broker, table):
        broker.on(record.FETCH, fetched(end=4, stable=0))
        with pytest.raises(ClusterError, match="a transaction of another writer is open"):
            table.read(waits=True)


def test_a_topic_that_is_not_there_is_told_apart_from_one_that_is_hidden() -> None:
    with reading() as (broker, table):
        broker.on(messages.METADATA, metadata(broker, error=3))
        assert table.read(waits=True) is None
        broker.on(messages.METADATA, metadata(broker, error=29))
        with pytest.raises(StateError, match="User:ANONYMOUS may not read the topic t") as told:
            table.read(waits=True)
    assert "READ" in told.value.hint


def test_a_topic_that_was_just_made_is_waited_for() -> None:
    """Metadata takes its time to reach a broker (P10)."""
    with reading() as (broker, table):
        broker.on(
            messages.METADATA,
            metadata(broker, error=3),
            metadata(broker, error=5),
            metadata(broker, leader=-1),
            metadata(broker),
        )
        broker.on(record.FETCH, fetched(error=3), fetched(end=0))
        table.mark_created()
        assert table.read(waits=True) == {}


def test_a_topic_that_disappears_is_an_error_and_never_no_records() -> None:
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(end=0))
        assert table.read(waits=True) == {}
        broker.on(messages.METADATA, metadata(broker, error=3))
        with pytest.raises(StateError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            table.read(waits=True)


def test_a_topic_that_was_made_anew_is_read_from_its_start() -> None:
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(batch(0, {"a": "1"}), end=1))
        assert table.read(waits=True) == {b"a": b"1"}
        broker.on(messages.METADATA, metadata(broker, topic_id=OTHER_ID))
        broker.on(record.FETCH, fetched(batch(0, {"b": "2"}), end=1))
        assert table.read(waits=True) == {b"b": b"2"}


def test_a_topic_that_is_made_anew_while_it_is_read_ends_where_the_new_one_does() -> None:
    with reading() as (broker, table):
        broker.on(
            record.FETCH,
            fetched(batch(0, {"a": "1"}), end=900),
            fetched(batch(0, {"b": "2"}), end=1),
        )
        broker.on(messages.METADATA, metadata(broker), metadata(broker, topic_id=OTHER_ID))
        assert table.read(waits=True) == {b"b": b"2"}


def test_a_topic_whose_first_records_were_deleted_is_read_from_those_that_are_left() -> None:
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(error=1), fetched(batch(5, {"a": "1"}), end=6))
        broker.on(record.LIST_OFFSETS, earliest(5))
        assert table.read(waits=True) == {b"a": b"1"}


def test_a_leader_that_moves_or_falls_silent_is_asked_again_once_it_was_there() -> None:
    with reading() as (broker, table):
        broker.on(
            record.FETCH,
            fetched(end=0),
            fetched(error=6),
            Act.CLOSE,
            Act.CLOSE,
            Act.CLOSE,
            fetched(batch(0, {"a": "1"}), end=1),
        )
        assert table.read(waits=True) == {}
        assert table.read(waits=True) == {b"a": b"1"}


def test_a_broker_that_never_answered_is_told_at_once() -> None:
    with fake_broker() as broker:
        endpoint = broker.endpoint
    with pytest.raises(UnreachableError, match="nothing listens"):
        TopicTable(settings_for(endpoint), "t").read(waits=True)


def test_a_topic_of_several_partitions_is_refused() -> None:
    with reading() as (broker, table):
        broker.on(messages.METADATA, metadata(broker, partitions=3))
        with pytest.raises(StateError, match="3 partitions"):
            table.read(waits=True)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (batch(0, {"a": "1"}, magic=1), "before Kafka 0.11"),
        (batch(0, {"a": "1" * 100})[:60] + b"\xff" * 120, "no sense"),
    ],
)
def test_records_that_cannot_be_read_are_an_error(data: bytes, why: str) -> None:
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(data, end=9))
        with pytest.raises(StateError, match=why):
            table.read(waits=True)


def test_a_compression_that_is_not_at_hand_is_told_with_the_way_out() -> None:
    squeezed = bytearray(batch(0, {"a": "1" * 100}))
    squeezed[22] |= 2  # snappy
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(bytes(squeezed), end=1))
        with pytest.raises(StateError, match="compressed") as told:
            table.read(waits=True)
    assert "compression.type" in told.value.hint


def test_gzip_is_read() -> None:
    with reading() as (broker, table):
        broker.on(record.FETCH, fetched(batch(0, {"a": "1" * 1000}, compression=1), end=1))
        assert table.read(waits=True) == {b"a": b"1" * 1000}
