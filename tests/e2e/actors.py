"""Users of a sandbox, with Kafka's real clients in their hands."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from kplan.kafka.transaction import librdkafka_settings
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import settings_of

WITHIN_S = 20.0
REFUSALS = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
GROUPLESS = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED})
"""What librdkafka hears when no group is used: it looks for a coordinator all the same."""
PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""What became of the records of a transaction that failed; its commit tells why."""

Properties = Mapping[str, str]
R = TypeVar("R")


def password(sandbox: Sandbox, user: str) -> str:
    """Give the password of a user of a sandbox."""
    jaas = sandbox.client_properties(user)["sasl.jaas.config"]
    return jaas.partition('password="')[2].partition('"')[0]


class Refused(Exception):  # noqa: N818 - what a broker does to a user
    """A broker did not let the user."""


class Actor:
    """One user. Every method connects anew, as an application that starts."""

    def __init__(self, sandbox: Sandbox, user: str) -> None:
        self._settings = librdkafka_settings(settings_of(sandbox, user))
        del self._settings["socket.timeout.ms"]  # longer than a transaction may be

    def write(self, *topics: str, properties: Properties | None = None) -> None:
        """Write a record to each topic."""
        with _heard():
            self._send(self._producer(properties or {}), topics)

    def transact(self, name: str, *topics: str) -> None:
        """Write a record to each topic in a transaction."""
        with _heard():
            producer = self._transactional(name, {})
            producer.begin_transaction()
            self._send(producer, topics)
            producer.commit_transaction(WITHIN_S)

    def read(self, *topics: str, properties: Properties) -> None:
        """Read a record of each topic in a consumer group, and commit."""
        with _heard(), self._consumer(properties) as consumer:
            consumer.subscribe(list(topics))
            for _ in _records(consumer, topics):
                pass
            consumer.commit(asynchronous=False)

    def move(
        self, source: str, name: str, *targets: str, properties: Properties, more: Properties
    ) -> None:
        """Read a record, write others, and commit what was read, all in one transaction."""
        with _heard(), self._consumer(properties) as consumer:
            consumer.subscribe([source])
            producer = self._transactional(name, more)
            for _ in _records(consumer, [source]):
                producer.begin_transaction()
                self._send(producer, targets)
                group = consumer.consumer_group_metadata()
                offsets = consumer.position(consumer.assignment())
                producer.send_offsets_to_transaction(offsets, group, WITHIN_S)
                producer.commit_transaction(WITHIN_S)

    def scan(self, *topics: str) -> None:
        """Read a record of each topic, as one who needs no group."""
        with _heard(), self._consumer({"group.id": "none"}) as consumer:
            consumer.assign([each for topic in topics for each in _partitions(consumer, topic)])
            for _ in _records(consumer, topics, REFUSALS - GROUPLESS):
                pass

    def administer(self, ask: Callable[[AdminClient], "Mapping[R, Future[object]]"]) -> None:
        """Ask for something that administrators do, and wait for every answer."""
        with _heard():
            admin = AdminClient({**self._settings}, logger=_SILENT)
            for future in ask(admin).values():
                future.result(WITHIN_S)

    def _producer(self, properties: Properties) -> Producer:
        return Producer({**self._settings, **properties}, logger=_SILENT)

    def _transactional(self, name: str, properties: Properties) -> Producer:
        producer = self._producer({**properties, "transactional.id": name})
        producer.init_transactions(WITHIN_S)
        return producer

    def _send(self, producer: Producer, topics: Iterable[str]) -> None:
        failures: list[KafkaError] = []

        def told(failure: KafkaError | None, _: Message) -> None:
            failures.extend([failure] if failure and failure.code() not in PURGED else [])

        for topic in topics:
            producer.produce(topic, b"value", b"key", on_delivery=told)
        assert producer.flush(WITHIN_S) == 0
        if failures:
            raise KafkaException(failures[0])

    @contextmanager
    def _consumer(self, properties: Properties) -> Iterator[Consumer]:
        own = {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
        with closing(Consumer({**self._settings, **own, **properties}, logger=_SILENT)) as made:
            yield made


@contextmanager
def _heard() -> Iterator[None]:
    """Tell a refusal from what else may go wrong."""
    try:
        yield
    except KafkaException as failure:
        error: KafkaError = failure.args[0]
        if error.code() in REFUSALS:
            raise Refused(error.name()) from failure
        raise


def _partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    found = consumer.list_topics(topic, WITHIN_S).topics[topic]
    if found.error:
        raise KafkaException(found.error)
    return [TopicPartition(topic, each, OFFSET_BEGINNING) for each in found.partitions]


def _records(
    consumer: Consumer, topics: Collection[str], refusals: Collection[int] = REFUSALS
) -> Iterator[Message]:
    """Yield records until there was one of each topic; other errors than refusals pass."""
    missing = set(topics)
    deadline = time.monotonic() + WITHIN_S
    error = None
    while missing:
        assert time.monotonic() < deadline, f"nothing was read of {missing}: {error}"
        message = consumer.poll(0.2)
        if message is None:
            continue
        if error := message.error():
            if error.code() in refusals:
                raise KafkaException(error)
            continue
        missing.discard(str(message.topic()))
        yield message


_SILENT = logging.getLogger("tests.e2e.actors")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
