"""A transactional writer of records (KIP-98). Loads librdkafka: import it in functions only."""

import contextlib
from collections.abc import Mapping
from typing import cast

from confluent_kafka import (  # noqa: TID253 - see above
    KafkaError,
    KafkaException,
    Message,
    Producer,
)

from kplan.cluster.records import UncertainWriteError
from kplan.kafka.librdkafka import LOGGER
from kplan.model.errors import ClusterError, StateError

TRANSACTION_TIMEOUT_S = 30
"""How long a transaction may be open: as long, and ten seconds, one of a killed run is in the way.

The broker looks every ten seconds for those whose time is over.
"""

_REQUEST_TIMEOUT_S = 10
_DELIVERY_TIMEOUT_S = 20
_ABORT_TIMEOUT_S = 5.0

_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
_MISSING_RIGHTS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "WRITE and DESCRIBE on the topic {topic}",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE on the transactional id {id}",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "IDEMPOTENT_WRITE on the cluster",
}


class TransactionalWriter:
    """The one writer of a transactional id; a later one shuts it out for good."""

    def __init__(self, settings: Mapping[str, str], transactional_id: str, topic: str) -> None:
        """Make the producer.

        Raises:
            ClusterError: librdkafka does not take one of the settings.

        """
        self._id = transactional_id
        self._topic = topic
        self._delivery_errors: list[KafkaError] = []
        ours = {
            "acks": "all",
            "compression.type": "none",  # what is large is compressed already
            "enable.idempotence": "true",
            "linger.ms": "0",
            "message.timeout.ms": str(_DELIVERY_TIMEOUT_S * 1000),
            "socket.timeout.ms": str(_REQUEST_TIMEOUT_S * 1000),
            "transaction.timeout.ms": str(TRANSACTION_TIMEOUT_S * 1000),
            "transactional.id": transactional_id,
        }
        try:
            self._producer = Producer({**settings, **ours}, logger=LOGGER)
        except KafkaException as failure:
            raise ClusterError(
                f"librdkafka does not take the settings: {_kafka_error(failure).str()}.",
                hint='Check the config of provider "kafka", or the properties file.',
            ) from failure

    def init_transactions(self, timeout_s: float) -> None:
        """Shut out every writer from before, and end what it left open.

        Raises:
            StateError: a right is missing.
            ClusterError: the cluster has no transactions to offer, or not in time.

        """
        try:
            self._producer.init_transactions(timeout_s)
        except KafkaException as failure:
            error = _kafka_error(failure)
            self._raise_permanent(error)
            raise ClusterError(
                f"No transaction could be had for {self._id}: {error.str()}.",
                "The brokers need their topic __transaction_state: with fewer than three of them "
                "set transaction.state.log.replication.factor.",
            ) from failure

    def write(self, records: Mapping[bytes, bytes | None]) -> None:
        """Write all of the records, or none.

        Raises:
            Unsettled: it must be looked up which of the two. This writer is of no more use.
            StateError: a right is missing, or the topic does not take records of this size.

        """
        self._delivery_errors = []
        try:
            self._producer.begin_transaction()
            for key, value in records.items():
                self._producer.produce(
                    self._topic, value, key, partition=0, on_delivery=self._on_delivery
                )
            self._producer.commit_transaction(TRANSACTION_TIMEOUT_S)
        except (KafkaException, BufferError) as failure:
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(_ABORT_TIMEOUT_S)
            errors = [*self._delivery_errors, *_kafka_errors(failure)]
            for error in errors:
                self._raise_permanent(error)
            raise UncertainWriteError(errors[0].str() if errors else str(failure)) from failure

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        del message
        if error is not None:
            self._delivery_errors.append(error)

    def _raise_permanent(self, error: KafkaError) -> None:
        """Report what no second try can mend."""
        if error.code() in _MISSING_RIGHTS:
            right = _MISSING_RIGHTS[error.code()].format(topic=self._topic, id=self._id)
            raise StateError(
                f"The state may not be written: {right} is missing ({error.name()}).",
                f"Grant {right}; to plan without writing anything: -lock=false",
            )
        if error.code() in _TOO_LARGE:
            raise StateError(
                f"The topic {self._topic} does not take records as large as kplan writes them.",
                "Set its max.message.bytes to 1048588 or more.",
            )


def _kafka_errors(failure: Exception) -> list[KafkaError]:
    return [_kafka_error(failure)] if isinstance(failure, KafkaException) else []


def _kafka_error(failure: KafkaException) -> KafkaError:
    return cast("KafkaError", failure.args[0])
