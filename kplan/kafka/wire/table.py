"""A topic of one partition as a table: the newest committed value of every key."""

import time
from collections.abc import Mapping
from contextlib import closing

from kplan.kafka.settings import ConnectionSettings, Endpoint
from kplan.kafka.wire import batches, messages, topic_id
from kplan.kafka.wire.api import Api, Message
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline, TimedOut
from kplan.kafka.wire.verdict import refused
from kplan.model.errors import ClusterError, StateError, Unreachable
from kplan.model.refusal import Refusal

_PAUSE_S = 0.05
_PAGE_BYTES = 16 * 1024 * 1024
_READ_COMMITTED = 1
_EARLIEST = -2

_OUT_OF_RANGE = 1
_UNKNOWN_TOPIC = 3
# The leader moves, is being chosen, or has just come up: a moment later it answers.
_SOON = frozenset({5, 6, 7, 9, 13, 56, 74, 75, 76, 78, 100, 103})


_OPEN = "a transaction of another writer is open; one of a killed run ends within 40 s"


class _Later(Exception):  # noqa: N818 - an answer, not a fault
    """To be asked again in a moment; says why."""


class Table:
    """Reads a topic from where it stopped the last time. For one thread at a time."""

    def __init__(self, settings: ConnectionSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self._topic_id: str | None = None
        self._is_made = False
        self._next = 0
        self._end: int | None = None
        self._values: dict[bytes, bytes] = {}

    def made(self) -> None:
        """Take note that the topic was made: a broker that does not know it yet soon will."""
        self._is_made = True

    def read(self, *, waits: bool) -> Mapping[bytes, bytes] | None:
        """Give the table, None where there is no such topic.

        With `waits` all that was acknowledged before the call is in it: a transaction that is open
        is waited for, as its end decides what follows it. Without, that is left out.

        Raises:
            Unreachable, AuthError: nobody can be asked.
            StateError: the topic cannot be read as it is, or not by us.
            ClusterError: it did not come to rest in time.

        """
        deadline = Deadline.after(self._settings.timeouts.request_s)
        self._end = None
        with closing(Gateway(self._settings)) as gateway:
            while self._end is None or self._next < self._end:
                try:
                    page = self._page(gateway)
                except _Later as later:
                    self._pause(deadline, str(later))
                    continue
                if page is None:
                    return None
                if self._end is None:
                    self._end = page.high_watermark if waits else page.last_stable_offset
                if not self._take(page) and self._next < self._end:
                    self._pause(deadline, _OPEN)
        return dict(self._values)

    def _page(self, gateway: Gateway) -> Message | None:
        """Ask the leader for what follows; None where there is no topic."""
        leader = self._leader(gateway)
        if leader is None:
            return None
        page = self._partition(gateway, leader, batches.FETCH, _fetch(self._topic, self._next))
        if page.error_code != _OUT_OF_RANGE:
            return page
        request = _list_offsets(self._topic)
        first = self._partition(gateway, leader, batches.LIST_OFFSETS, request)
        self._start(first.offset)
        raise _Later("records were deleted from it")

    def _take(self, page: Message) -> bool:
        """Take the records of a page; False where there are none."""
        before = self._next
        try:
            for follows, records in batches.committed(
                page.records, page.aborted_transactions or ()
            ):
                self._next = follows
                for key, value in records:
                    if value is None:
                        self._values.pop(key, None)
                    else:
                        self._values[key] = value
        except (batches.Unreadable, messages.Garbled) as failure:
            raise StateError(
                f"The records of the topic {self._topic} cannot be read: {failure}.",
                "Its config compression.type is to be producer.",
            ) from failure
        return self._next > before

    def _leader(self, gateway: Gateway) -> Endpoint | None:
        """Find who leads the partition; a topic that was made anew is read from its start."""
        wanted = messages.METADATA.request.MetadataRequestTopic(
            topic_id=topic_id.NO_ID, name=self._topic
        )
        request = messages.METADATA.request(topics=[wanted], allow_auto_topic_creation=False)
        answer = self._asked(gateway, messages.METADATA, request)
        (found,) = answer.topics
        if found.error_code == _UNKNOWN_TOPIC and self._topic_id is None and not self._is_made:
            return None
        self._check(found.error_code)
        self._notice(found)
        leader = found.partitions[0].leader_id
        brokers = {each.node_id: Endpoint(each.host, each.port) for each in answer.brokers}
        if leader not in brokers:
            raise _Later("it has no leader")
        return brokers[leader]

    def _notice(self, found: Message) -> None:
        if len(found.partitions) != 1:
            raise StateError(
                f"The topic {self._topic} has {len(found.partitions)} partitions; a state is kept "
                "in a topic of one.",
                "Name a topic that does not exist, and kplan creates it.",
            )
        if self._topic_id != topic_id.text(found.topic_id):
            self._topic_id = topic_id.text(found.topic_id)
            self._start(0)

    def _start(self, offset: int) -> None:
        self._next = offset
        self._end = None
        self._values = {}

    def _partition(self, gateway: Gateway, leader: Endpoint, api: Api, request: Message) -> Message:
        """Ask the leader about the partition."""
        answer = self._asked(gateway, api, request, leader)
        topics = answer.responses if api is batches.FETCH else answer.topics
        if not topics:
            raise _Later("the broker did not answer for it")
        (partition,) = topics[0].partitions
        if partition.error_code != _OUT_OF_RANGE:
            self._check(partition.error_code)
        return partition

    def _asked(
        self, gateway: Gateway, api: Api, request: Message, at: Endpoint | None = None
    ) -> Message:
        try:
            return gateway.ask(api, request, at=at)
        except Unreachable as failure:
            if self._topic_id is None:
                raise
            raise _Later(failure.detail) from failure  # it was there a moment ago

    def _check(self, code: int) -> None:
        if code in _SOON or (code == _UNKNOWN_TOPIC and self._is_made):
            raise _Later(f"{refused(code, None)}")
        if code:
            raise self._refusal(refused(code, None))

    def _refusal(self, found: Refusal) -> StateError:
        who = self._settings.principal or "This user"
        if found.error == "TOPIC_AUTHORIZATION_FAILED":
            return StateError(
                f"{who} may not read the topic {self._topic}, where the state is kept.",
                f"Grant {who} READ on it, and WRITE to change the state.",
            )
        return StateError(f"The topic {self._topic}, where the state is kept: {found}")

    def _pause(self, deadline: Deadline, why: str) -> None:
        try:
            time.sleep(min(_PAUSE_S, deadline.left_s()))
        except TimedOut:
            raise ClusterError(
                f"The topic {self._topic} cannot be read to its end: {why.rstrip('.')}."
            ) from None


def _fetch(topic: str, offset: int) -> Message:
    part = batches.FETCH.request.FetchTopic
    partition = part.FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=_PAGE_BYTES
    )
    return batches.FETCH.request(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_PAGE_BYTES,
        isolation_level=_READ_COMMITTED,
        topics=[part(topic=topic, partitions=[partition])],
    )


def _list_offsets(topic: str) -> Message:
    part = batches.LIST_OFFSETS.request.ListOffsetsTopic
    partition = part.ListOffsetsPartition(partition_index=0, timestamp=_EARLIEST)
    return batches.LIST_OFFSETS.request(
        isolation_level=_READ_COMMITTED, topics=[part(name=topic, partitions=[partition])]
    )
