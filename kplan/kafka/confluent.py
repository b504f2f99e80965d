"""The confluent driver: writes to topics and their configs, through librdkafka."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Protocol, TypeVar, cast

from confluent_kafka import KafkaError, KafkaException  # noqa: TID253 - imported lazily itself
from confluent_kafka.admin import (  # type: ignore[attr-defined] # noqa: TID253 - re-exported
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from confluent_kafka.cimpl import NewPartitions as Growth  # noqa: TID253
from confluent_kafka.cimpl import NewTopic as Creation  # noqa: TID253

from kplan.cluster.errors import (
    CLIENT_DISCONNECTED,
    CLIENT_INVALID,
    CLIENT_NOT_SENT,
    CLIENT_TIMED_OUT,
    client_refusal,
    refusal,
)
from kplan.cluster.protocol import INT16_MAX, INT32_MAX
from kplan.cluster.request import Assignment, ConfigAlteration, ItemResult, NewPartitions, NewTopic
from kplan.kafka.settings.connection import MAX_TIMEOUT_S, Timeouts
from kplan.kafka.token import TokenCache
from kplan.kafka.transaction import LOGGER
from kplan.kafka.wire.messages import broker_refusal
from kplan.model.errors import ClusterError, Refusal, RefusalOrigin

_REQUESTS = logging.getLogger("kplan.request")

_MAX_STRING_BYTES = INT16_MAX
"""The longest string of the protocol; librdkafka sends a longer one as null, or breaks off."""


def duplicate_refusals(names: Iterable[str]) -> dict[str, Refusal]:
    """Refuse duplicate names: confluent-kafka crashes on them (SIGSEGV)."""
    return {
        name: _broker_like_refusal(42, "Duplicate topic name.")
        for name, count in Counter(names).items()
        if count > 1
    }


def topic_refusal(spec: NewTopic) -> Refusal | None:
    """Refuse a topic that cannot be sent as it is."""
    if fault := _string_fault((spec.name, *spec.config.keys(), *spec.config.values())):
        return client_refusal(CLIENT_INVALID, fault)
    if spec.assignment is not None:
        return _assignment_conflict(spec) or _assignment_refusal(spec.assignment)
    if spec.replication_factor is not None and spec.replication_factor < 1:
        return _broker_like_refusal(
            38, "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if spec.partitions is not None and spec.partitions < 1:
        return _broker_like_refusal(
            37, "Number of partitions was set to an invalid non-positive value."
        )
    return None


def partitions_refusal(spec: NewPartitions) -> Refusal | None:
    """Refuse growth that cannot be sent as it is."""
    if fault := _string_fault((spec.name,)):
        return client_refusal(CLIENT_INVALID, fault)
    if spec.total < 1:
        return _broker_like_refusal(37, f"{spec.total} partitions would not be an increase.")
    return None if spec.assignment is None else _assignment_refusal(spec.assignment)


def alteration_refusal(spec: ConfigAlteration) -> Refusal | None:
    """Refuse an alteration that cannot be sent as it is."""
    if fault := _string_fault((spec.name, *spec.set.keys(), *spec.set.values(), *spec.delete)):
        return client_refusal(CLIENT_INVALID, fault)
    if not spec.name:
        return _broker_like_refusal(42, "Default topic resources are not allowed.")
    if spec.set.keys() & set(spec.delete) or len(set(spec.delete)) < len(spec.delete):
        return _broker_like_refusal(42, "Error due to duplicate config keys")
    if "" in spec.set or "" in spec.delete:
        return _broker_like_refusal(40, "Unknown topic config name: ")
    return None


def _string_fault(texts: Sequence[object]) -> str:
    """Find values that are not protocol strings; confluent-kafka sends None as the word "None"."""
    for text in texts:
        if not isinstance(text, str):
            return f"{text!r} is not a string."
        if "\0" in text:  # the name would end there
            return "A string holds a NUL character."
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            return "A string holds half of a surrogate pair."
        if size > _MAX_STRING_BYTES:
            return f"A string has {size} bytes; the protocol takes at most {_MAX_STRING_BYTES}."
    return ""


def _assignment_conflict(spec: NewTopic) -> Refusal | None:
    both = "A manual partition assignment was specified, but {} was not set to -1."
    if spec.replication_factor is not None:
        return _broker_like_refusal(42, both.format("replication factor"))
    if spec.partitions is not None:
        return _broker_like_refusal(42, both.format("numPartitions"))
    return None


def _assignment_refusal(assignment: Assignment) -> Refusal | None:
    if not assignment:
        return client_refusal(CLIENT_INVALID, "The assignment has no partition.")
    if not all(assignment):
        return _broker_like_refusal(
            39, "The manual partition assignment includes an empty replica list."
        )
    unknown_id = next((id_ for id_ in _broker_ids(assignment) if not 0 <= id_ <= INT32_MAX), None)
    if unknown_id is None:
        return None
    return _broker_like_refusal(
        39,
        f"The manual partition assignment includes broker {unknown_id}, "
        "but no such broker is registered.",
    )


def _broker_ids(assignment: Assignment) -> Iterable[int]:
    return (id_ for replicas in assignment for id_ in replicas)


def _broker_like_refusal(code: int, message: str) -> Refusal:
    found = refusal(code, message)
    return Refusal(found.error, found.code, found.message, origin=RefusalOrigin.CLIENT)


GRACE_S = 10.0
"""How much longer to wait for an answer than the broker itself does, so that its answer wins."""

MIN_TIMEOUT_S = 0.001
"""librdkafka counts in milliseconds, and takes 0 for success without an answer (P2)."""

_POLL_S = 0.2

_REFRESH = {"topic.metadata.refresh.interval.ms": "1000"}
"""For some seconds brokers name one that has died as the controller, and librdkafka waits for it
until it asks again: by default after five minutes, and never twice within ten seconds.
"""


class _NamedItem(Protocol):
    @property
    def name(self) -> str: ...


Spec = TypeVar("Spec", bound=_NamedItem)
Native = TypeVar("Native", Creation, Growth, ConfigResource)
Futures = Mapping[str, "Future[object]"]


class ConfluentCluster:
    """The part of the `Cluster` port that confluent-kafka serves: see `kafka/cluster.py`.

    Items are checked before a call and codes are kplan's own: `reference/kafka-admin.md` shows what
    confluent-kafka makes of duplicates, missing values and timeouts of zero. May be used from
    several threads.
    """

    def __init__(
        self, settings: Mapping[str, str], timeouts: Timeouts, tokens: TokenCache | None = None
    ) -> None:
        """Make the client, which connects on its own; with tokens where it logs in by them.

        Raises:
            ClusterError: librdkafka does not take one of the settings.

        """
        try:
            bearer = {"oauth_cb": _token_callback(tokens, timeouts)} if tokens else {}
            self._admin: AdminClient | None = AdminClient(
                {**_REFRESH, **settings, **bearer},  # type: ignore[dict-item] # it takes functions too
                logger=LOGGER,
            )
        except KafkaException as failure:
            raise ClusterError(
                f"librdkafka does not take the settings: {_kafka_error(failure).str()}.",
                hint='Check the config of provider "kafka", or the properties file.',
            ) from failure
        operation_s = min(max(timeouts.request_s, MIN_TIMEOUT_S), MAX_TIMEOUT_S - GRACE_S)
        self._request_s = operation_s + GRACE_S
        self._timeouts = {"operation_timeout": operation_s, "request_timeout": self._request_s}

    def prepare_writes(self) -> None:
        """Connect, so that the first write need not wait for it."""
        if (admin := self._admin) is not None:
            with suppress(KafkaException):
                admin.describe_cluster(request_timeout=self._request_s)

    def create_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, ItemResult]:
        """Create topics."""
        return self._write(
            "CreateTopics",
            specs,
            topic_refusal,
            _native_topic,
            lambda admin, found: admin.create_topics(found, **self._timeouts),
        )

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Grow topics."""
        return self._write(
            "CreatePartitions",
            specs,
            partitions_refusal,
            _native_partitions,
            lambda admin, found: admin.create_partitions(
                found, validate_only=validate_only, **self._timeouts
            ),
        )

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Set and reset single config keys of topics."""
        return self._write(
            "IncrementalAlterConfigs",
            specs,
            alteration_refusal,
            _native_resource,
            lambda admin, found: {
                resource.name: future
                for resource, future in admin.incremental_alter_configs(
                    found, validate_only=validate_only, request_timeout=self._request_s
                ).items()
            },
        )

    def close(self) -> None:
        """Free sockets and threads, once no call is under way any more."""
        self._admin = None  # librdkafka closes with the last reference

    def _write(
        self,
        api: str,
        specs: Sequence[Spec],
        fault: Callable[[Spec], Refusal | None],
        native: Callable[[Spec], Native],
        send: Callable[[AdminClient, list[Native]], Futures],
    ) -> dict[str, ItemResult]:
        """Send all valid items in one request."""
        results: dict[str, ItemResult] = {
            spec.name: found for spec in specs if (found := fault(spec)) is not None
        }
        results |= duplicate_refusals(spec.name for spec in specs)
        fine = {spec.name: native(spec) for spec in specs if spec.name not in results}
        admin = self._admin
        if admin is None:
            closed = client_refusal(CLIENT_NOT_SENT, "Nothing was sent: we have closed.")
            return results | dict.fromkeys(fine, closed)
        begun = time.monotonic()
        results |= _send_items(admin, fine, send)
        errors = Counter(each.error for each in results.values() if each is not None)
        _REQUESTS.debug(
            "%s by librdkafka: %d items, %.1f ms, %s",
            api, len(fine), (time.monotonic() - begun) * 1000,
            ", ".join(f"{count} x {name}" for name, count in errors.items()) or "no error",
        )  # fmt: skip
        return results


def _token_callback(tokens: TokenCache, timeouts: Timeouts) -> Callable[[str], tuple[object, ...]]:
    """Hand a token to librdkafka whenever it wants one (KIP-255)."""

    def bearer(_: str) -> tuple[object, ...]:
        token = tokens.get_token(timeouts.connect_s)
        name = token.principal.removeprefix("User:")
        return token.text, token.expires_at_s, name, dict(token.extensions)

    return bearer


def _send_items(
    admin: AdminClient,
    items: Mapping[str, Native],
    send: Callable[[AdminClient, list[Native]], Futures],
) -> dict[str, ItemResult]:
    """Send items and wait; a call that the client refuses is halved until the refused one is alone.

    A client-side refusal means that nothing of the call was sent.
    """
    if not items:
        return {}
    try:
        futures = send(admin, list(items.values()))
    except (ValueError, TypeError) as failure:
        if len(items) == 1:
            return dict.fromkeys(items, client_refusal(CLIENT_INVALID, str(failure)))
        names = list(items)
        halves = names[: len(names) // 2], names[len(names) // 2 :]
        first, second = ({name: items[name] for name in half} for half in halves)
        return _send_items(admin, first, send) | _send_items(admin, second, send)
    _wait_for(admin, futures.values())
    return {name: _item_result(future) for name, future in futures.items()}


def _wait_for(admin: AdminClient, futures: Collection["Future[object]"]) -> None:
    """Wait for all; polling hands librdkafka's log lines to our logger."""
    pending: Collection[Future[object]] = futures
    while pending:
        pending = wait(pending, timeout=_POLL_S).not_done
        admin.poll(0)


def _item_result(future: "Future[object]") -> ItemResult:
    failure = future.exception()  # raising it would tie the client into its own traceback
    if failure is None:
        return None
    if not isinstance(failure, KafkaException):
        raise failure
    return _refusal(_kafka_error(failure))


def _refusal(error: KafkaError) -> Refusal:
    """Translate librdkafka's error; its own name and its word on retrying are of no use."""
    code, text = error.code(), error.str()
    if code >= KafkaError.UNKNOWN:
        has_own_words = text != KafkaError(code).str()
        return broker_refusal(code, text if has_own_words else None)
    if code in _UNSENT_CODES:
        return client_refusal(CLIENT_INVALID, text)
    if any(each in text for each in _UNSENT_STATES):
        return client_refusal(CLIENT_NOT_SENT, f"Nothing was sent: {text}.")
    is_timeout = code in {KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE}  # noqa: SLF001 - public names
    return client_refusal(CLIENT_TIMED_OUT if is_timeout else CLIENT_DISCONNECTED, text)


_UNSENT_CODES = frozenset(
    (KafkaError._INVALID_ARG, KafkaError._CONFLICT, KafkaError._UNSUPPORTED_FEATURE)  # noqa: SLF001
)


_UNSENT_STATES = ("waiting for controller", "waiting for broker")
"""How librdkafka names the states of a request before it is sent; its codes do not tell them."""


def _kafka_error(failure: KafkaException) -> KafkaError:
    return cast("KafkaError", failure.args[0])


def _native_topic(spec: NewTopic) -> Creation:
    config = dict(spec.config)
    if spec.assignment is not None:
        replicas = [list(each) for each in spec.assignment]
        return Creation(spec.name, len(replicas), replica_assignment=replicas, config=config)
    return Creation(
        spec.name,
        -1 if spec.partitions is None else spec.partitions,
        -1 if spec.replication_factor is None else spec.replication_factor,
        config=config,
    )


def _native_partitions(spec: NewPartitions) -> Growth:
    if spec.assignment is None:
        return Growth(spec.name, spec.total)
    replicas = [list(each) for each in spec.assignment]
    return Growth(spec.name, spec.total, replica_assignment=replicas)


def _native_resource(spec: ConfigAlteration) -> ConfigResource:
    changes = [(key, value, AlterConfigOpType.SET) for key, value in sorted(spec.set.items())]
    resets = [(key, None, AlterConfigOpType.DELETE) for key in sorted(spec.delete)]
    return ConfigResource(
        ConfigResource.Type.TOPIC,
        spec.name,
        incremental_configs=[
            ConfigEntry(key, value, incremental_operation=operation)
            for key, value, operation in [*changes, *resets]
        ],
    )
