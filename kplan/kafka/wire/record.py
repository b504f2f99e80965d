"""Records: Fetch, ListOffsets and DeleteRecords; a compacted topic as a table."""

import struct
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy

from kafka.errors import KafkaError, UnsupportedCodecError  # noqa: TID253
from kafka.record import MemoryRecords  # noqa: TID253

from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire import messages as apis
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Api, MalformedResponse, Message, broker_refusal, define_api
from kplan.kafka.wire.metadata import PartitionLeaders, find_leaders
from kplan.kafka.wire.transport import Deadline, RequestTimeout
from kplan.model.errors import ClusterError, Refusal, StateError, UnreachableError

# Leaf modules, imported by what reads a state from the cluster.


# Version 4 leaves out what was not committed; version 13 asks by topic id.
FETCH = define_api("Fetch", 1, range(4, 13), "consumer.fetch")
LIST_OFFSETS = define_api("ListOffsets", 2, range(2, 10), "consumer.offsets")

RECORD_APIS = (FETCH, LIST_OFFSETS)
"""Every API that reading of records takes."""

Record = tuple[bytes, bytes | None]
"""A key and its value; None says that the key is gone."""

_MIN_MAGIC = 2


class UnreadableRecords(Exception):  # noqa: N818 - the records, not us
    """Records are compressed in a way that cannot be read here, or of a format before KIP-98."""


def committed_batches(
    data: bytes | None, aborted: Sequence[Message]
) -> Iterator[tuple[int, list[Record]]]:
    """Give, batch by batch, the offset that follows and the records that count.

    `aborted` lists the aborted transactions that the answer touches, as the broker told them. A
    last batch that was cut off by the limit of the answer is left for the next.

    Raises:
        UnreadableRecords: the records cannot be read.
        MalformedResponse: they are damaged.

    """
    waiting = sorted(aborted, key=lambda each: -int(each.first_offset))
    open_: set[int] = set()
    try:
        for batch in MemoryRecords(data or b""):
            if batch.magic < _MIN_MAGIC:
                raise UnreadableRecords("they are of a format before Kafka 0.11")
            while waiting and waiting[-1].first_offset <= batch.last_offset:
                open_.add(waiting.pop().producer_id)
            yield batch.next_offset, _committed_records(batch, open_)
    except UnsupportedCodecError as failure:
        raise UnreadableRecords(
            "they are compressed in a way that kplan does not read"
        ) from failure
    except (KafkaError, ValueError, IndexError, struct.error) as failure:
        raise MalformedResponse(f"records that make no sense: {failure}") from failure


def _committed_records(batch: Message, aborted: set[int]) -> list[Record]:
    """Return the records of a batch; a marker ends the transaction of its producer."""
    if batch.is_control_batch:
        aborted.discard(batch.producer_id)
        return []
    if batch.is_transactional and batch.producer_id in aborted:
        return []
    return [(each.key, each.value) for each in batch if each.key is not None]


_RETRY_PAUSE_S = 0.05
_PAGE_BYTES = 16 * 1024 * 1024
_READ_COMMITTED = 1
_EARLIEST = -2

_OUT_OF_RANGE = 1
_UNKNOWN_TOPIC = 3
# The leader moves, is being chosen, or has just come up: a moment later it answers.
_RETRIABLE_CODES = frozenset({5, 6, 7, 9, 13, 56, 74, 75, 76, 78, 100, 103})


_OPEN_TRANSACTION = "a transaction of another writer is open; one of a killed run ends within 40 s"


class _RetryLater(Exception):  # noqa: N818 - an answer, not a fault
    """To be asked again in a moment; says why."""


class TopicTable:
    """Reads a topic from where it stopped the last time. For one thread at a time."""

    def __init__(self, settings: ConnectionSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self._topic_id: str | None = None
        self._is_created = False
        self._next = 0
        self._end: int | None = None
        self._values: dict[bytes, bytes] = {}

    def copy(self) -> "TopicTable":
        """Return one that goes on from here, for another thread."""
        found: TopicTable = copy(self)
        found._values = dict(self._values)
        return found

    def mark_created(self) -> None:
        """Take note that the topic was made: a broker that does not know it yet soon will."""
        self._is_created = True

    def read(self, *, waits: bool) -> Mapping[bytes, bytes] | None:
        """Return the table, None where there is no such topic.

        With `waits` all that was acknowledged before the call is in it: a transaction that is open
        is waited for, as its end decides what follows it. Without, that is left out.

        Raises:
            UnreachableError, AuthError: no one can be asked.
            StateError: the topic cannot be read as it is, or not by us.
            ClusterError: it did not come to rest in time.

        """
        deadline = Deadline.after(self._settings.timeouts.request_s)
        self._end = None
        with closing(Gateway(self._settings)) as gateway:
            while self._end is None or self._next < self._end:
                try:
                    page = self._fetch_page(gateway)
                except _RetryLater as later:
                    self._pause(deadline, str(later))
                    continue
                if page is None:
                    return None
                if self._end is None:
                    self._end = page.high_watermark if waits else page.last_stable_offset
                if not self._apply_page(page) and self._next < self._end:
                    self._pause(deadline, _OPEN_TRANSACTION)
        return dict(self._values)

    def _fetch_page(self, gateway: Gateway) -> Message | None:
        """Query the leader for the next offset; None if the topic does not exist."""
        leader = self._find_leader(gateway)
        if leader is None:
            return None
        page = self._ask_partition(gateway, leader, FETCH, _fetch_request(self._topic, self._next))
        if page.error_code != _OUT_OF_RANGE:
            return page
        request = _list_offsets_request(self._topic)
        first = self._ask_partition(gateway, leader, LIST_OFFSETS, request)
        self._reset(first.offset)
        raise _RetryLater("records were deleted from it")

    def _apply_page(self, page: Message) -> bool:
        """Take the records of a page; False where there are none."""
        before = self._next
        try:
            for follows, records in committed_batches(
                page.records, page.aborted_transactions or ()
            ):
                self._next = follows
                for key, value in records:
                    if value is None:
                        self._values.pop(key, None)
                    else:
                        self._values[key] = value
        except (UnreadableRecords, messages.MalformedResponse) as failure:
            raise StateError(
                f"The records of the topic {self._topic} cannot be read: {failure}.",
                "Its config compression.type is to be producer.",
            ) from failure
        return self._next > before

    def _find_leader(self, gateway: Gateway) -> Endpoint | None:
        """Find who leads the partition; a topic that was made again is read from its start."""
        wanted = messages.METADATA.request.MetadataRequestTopic(
            topic_id=messages.ZERO_UUID, name=self._topic
        )
        request = messages.METADATA.request(topics=[wanted], allow_auto_topic_creation=False)
        answer = self._ask(gateway, messages.METADATA, request)
        (found,) = answer.topics
        if found.error_code == _UNKNOWN_TOPIC and self._topic_id is None and not self._is_created:
            return None
        self._check_code(found.error_code)
        self._check_topic(found)
        leader = found.partitions[0].leader_id
        brokers = {each.node_id: Endpoint(each.host, each.port) for each in answer.brokers}
        if leader not in brokers:
            raise _RetryLater("it has no leader")
        return brokers[leader]

    def _check_topic(self, message: Message) -> None:
        if len(message.partitions) != 1:
            raise StateError(
                f"The topic {self._topic} has {len(message.partitions)} partitions; a state "
                "topic must have one.",
                "Name a topic that does not exist, and kplan creates it.",
            )
        if self._topic_id != messages.format_uuid(message.topic_id):
            self._topic_id = messages.format_uuid(message.topic_id)
            self._reset(0)

    def _reset(self, offset: int) -> None:
        self._next = offset
        self._end = None
        self._values = {}

    def _ask_partition(
        self, gateway: Gateway, leader: Endpoint, api: Api, request: Message
    ) -> Message:
        """Ask the leader about the partition."""
        answer = self._ask(gateway, api, request, leader)
        topics = answer.responses if api is FETCH else answer.topics
        if not topics:
            raise _RetryLater("the broker did not answer for it")
        (partition,) = topics[0].partitions
        if partition.error_code != _OUT_OF_RANGE:
            self._check_code(partition.error_code)
        return partition

    def _ask(
        self, gateway: Gateway, api: Api, request: Message, at: Endpoint | None = None
    ) -> Message:
        try:
            return gateway.ask(api, request, at=at)
        except UnreachableError as failure:
            if self._topic_id is None:
                raise
            raise _RetryLater(failure.detail) from failure  # it was there a moment ago

    def _check_code(self, code: int) -> None:
        if code in _RETRIABLE_CODES or (code == _UNKNOWN_TOPIC and self._is_created):
            raise _RetryLater(f"{broker_refusal(code, None)}")
        if code:
            raise self._state_error(broker_refusal(code, None))

    def _state_error(self, refusal: Refusal) -> StateError:
        who = self._settings.principal or "This user"
        if refusal.error == "TOPIC_AUTHORIZATION_FAILED":
            return StateError(
                f"{who} may not read the topic {self._topic}, which stores the state.",
                f"Grant {who} READ on it, and WRITE to change the state.",
            )
        return StateError(f"The topic {self._topic}, which stores the state: {refusal}")

    def _pause(self, deadline: Deadline, why: str) -> None:
        try:
            time.sleep(min(_RETRY_PAUSE_S, deadline.remaining_s()))
        except RequestTimeout:
            raise ClusterError(
                f"The topic {self._topic} cannot be read to its end: {why.rstrip('.')}."
            ) from None


def _fetch_request(topic: str, offset: int) -> Message:
    part = FETCH.request.FetchTopic
    partition = part.FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=_PAGE_BYTES
    )
    return FETCH.request(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_PAGE_BYTES,
        isolation_level=_READ_COMMITTED,
        topics=[part(topic=topic, partitions=[partition])],
    )


def _list_offsets_request(topic: str) -> Message:
    part = LIST_OFFSETS.request.ListOffsetsTopic
    partition = part.ListOffsetsPartition(partition_index=0, timestamp=_EARLIEST)
    return LIST_OFFSETS.request(
        isolation_level=_READ_COMMITTED, topics=[part(name=topic, partitions=[partition])]
    )


DeletionResults = Mapping[TopicPartition, int | Refusal]

_UNKNOWN_TOPIC_OR_PARTITION, _LEADER_NOT_AVAILABLE = 3, 5


def delete_records(gateway: Gateway, before: Mapping[TopicPartition, int]) -> DeletionResults:
    """Delete the records before an offset of each partition; returns the new first offsets."""
    try:
        led = find_leaders(gateway, {name for name, _ in before})
    except UnreachableError as failure:
        lost = client_refusal(CLIENT_DISCONNECTED, f"Nothing was sent. {failure.detail}")
        return dict.fromkeys(before, lost)
    found: dict[TopicPartition, int | Refusal] = {
        key: _unsent_refusal(key, led) for key in before if not _has_leader(key, led)
    }
    for at, topics in led.by_broker.items():
        keys = {(name, number) for name, numbers in topics.items() for number in numbers}
        if mine := {key: before[key] for key in keys & before.keys()}:
            found |= _delete_at(gateway, at, mine)
    return found


def _has_leader(key: TopicPartition, led: PartitionLeaders) -> bool:
    name, number = key
    return number in led.partitions.get(name, ()) and key not in led.leaderless


def _unsent_refusal(key: TopicPartition, led: PartitionLeaders) -> Refusal:
    """Explain why no broker can be queried for a partition."""
    if key[0] in led.refusals:
        return led.refusals[key[0]]
    code = _LEADER_NOT_AVAILABLE if key in led.leaderless else _UNKNOWN_TOPIC_OR_PARTITION
    return broker_refusal(code, None)


def _delete_at(
    gateway: Gateway, at: Endpoint, before: Mapping[TopicPartition, int]
) -> DeletionResults:
    part = apis.DELETE_RECORDS.request.DeleteRecordsTopic
    topics: dict[str, list[Message]] = defaultdict(list)
    for (name, number), offset in sorted(before.items()):
        row = part.DeleteRecordsPartition(partition_index=number, offset=offset)
        topics[name].append(row)
    request = apis.DELETE_RECORDS.request(
        topics=[part(name=name, partitions=rows) for name, rows in topics.items()],
        timeout_ms=gateway.operation_timeout_ms,
    )
    answer = gateway.send(apis.DELETE_RECORDS, request, at=at)
    if isinstance(answer, Refusal):
        return dict.fromkeys(before, answer)
    return {
        (topic.name, each.partition_index): broker_refusal(each.error_code, None)
        if each.error_code
        else each.low_watermark
        for topic in answer.topics
        for each in topic.partitions
    }
