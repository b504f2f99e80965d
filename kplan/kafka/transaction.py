"""librdkafka's connection settings and logs, and a transactional writer of records (KIP-98)."""

import contextlib
import logging
import math
from collections.abc import Mapping
from typing import cast

from confluent_kafka import (  # noqa: TID253 - see above
    KafkaError,
    KafkaException,
    Message,
    Producer,
)

from kplan.cluster.topology import UncertainWriteError
from kplan.kafka.settings.connection import (
    AwsMskIam,
    ClientCredentials,
    ConnectionSettings,
    Kerberos,
    Mechanism,
    SocketOptions,
    Tls,
)
from kplan.model.errors import ClusterError, StateError

LOGGER = logging.getLogger("kplan.kafka.transaction")
LOGGER.addHandler(logging.NullHandler())  # else its lines go to stderr


def librdkafka_settings(settings: ConnectionSettings) -> dict[str, str]:
    """Write the settings for confluent-kafka. They contain secrets: not for any log."""
    written = {
        **settings.librdkafka,
        "bootstrap.servers": ",".join(str(each) for each in settings.bootstrap_servers),
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
        "socket.connection.setup.timeout.ms": _milliseconds(
            settings.timeouts.connect_s, 1000, 3600_000
        ),
        "socket.timeout.ms": _milliseconds(settings.timeouts.request_s, 10, 300_000),
    }
    written |= _socket_options(settings.sockets)
    if settings.tls is not None:
        written |= _tls(settings.tls)
    if settings.sasl is not None:
        written |= _sasl(settings.sasl)
    return written


def _socket_options(sockets: SocketOptions) -> dict[str, str]:
    """Write the settings that differ from the system's defaults."""
    is_bounded = math.isfinite(sockets.idle_s)
    counts = {
        "connections.max.idle.ms": int(sockets.idle_s * 1000) if is_bounded else 0,
        "socket.receive.buffer.bytes": min(sockets.receive_bytes, _MAX_BUFFER_BYTES),
        "socket.send.buffer.bytes": min(sockets.send_bytes, _MAX_BUFFER_BYTES),
    }
    return {key: str(count) for key, count in counts.items() if count}


_MAX_BUFFER_BYTES = 100_000_000
"""The most that librdkafka takes."""


def _sasl(mechanism: Mechanism) -> dict[str, str]:
    """Write how to log in; tokens are handed over when librdkafka asks for one."""
    match mechanism:
        case ClientCredentials() | AwsMskIam():
            return {"sasl.mechanism": mechanism.name}
        case Kerberos():
            raise ClusterError(
                "librdkafka as confluent-kafka ships it has no Kerberos, and a state in a topic is "
                "written by it.",
                hint="Keep the state in a file or a bucket, or log in by another mechanism.",
            )
        case _:
            return {
                "sasl.mechanism": mechanism.name,
                "sasl.username": mechanism.username,
                "sasl.password": mechanism.password,
            }


def _milliseconds(span_s: float, least_ms: int, most_ms: int) -> str:
    """Write milliseconds within the range that librdkafka takes."""
    return str(min(max(int(span_s * 1000), least_ms), most_ms))


def _tls(tls: Tls) -> dict[str, str]:
    texts = {
        "ssl.ca.pem": tls.ca,
        "ssl.certificate.pem": tls.certificate,
        "ssl.key.pem": tls.key,
        "ssl.key.password": tls.key_password,
    }
    is_host_checked = tls.is_verified and tls.is_host_checked
    return {key: text for key, text in texts.items() if text} | {
        "enable.ssl.certificate.verification": str(tls.is_verified).lower(),
        "ssl.endpoint.identification.algorithm": "https" if is_host_checked else "none",
    }


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
    """The one writer of a transactional id; a later one shuts it out permanently."""

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
        """Fence earlier writers and end their open transactions.

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
                "The brokers need their topic __transaction_state, and most of its replicas: check "
                "that no broker is down (plan -lock=false needs no transaction). With fewer than "
                "three brokers set transaction.state.log.replication.factor.",
            ) from failure

    def write(self, records: Mapping[bytes, bytes | None]) -> None:
        """Write all of the records, or none.

        Raises:
            UncertainWriteError: it must be looked up which of the two. This writer is of no more
                use.
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
        """Report errors that a retry cannot fix."""
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
