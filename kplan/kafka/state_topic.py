"""State in a compacted topic: written in transactions, read only when they are committed."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from kplan.cluster.request import NewTopic
from kplan.cluster.topology import CURRENT_STATE, FIRST_OF_JOURNAL, StateTopic, UncertainWriteError
from kplan.kafka.settings.connection import ConnectionSettings
from kplan.kafka.transaction import librdkafka_settings
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.record import TopicTable
from kplan.model.errors import Refusal, StateError

if TYPE_CHECKING:
    from kplan.kafka.transaction import TransactionalWriter

_REPLICATION_FACTOR = 3
_INIT_TIMEOUT_RANGE_S = 10.0, 60.0


class KafkaRecords:
    """The records of one state in a topic that other states may share.

    A writer claims them by starting a producer of the transactional id `kplan-state-KEY`, which
    shuts out the one before it, and then reads to the end of the topic; so nothing that it has not
    seen can be written before its own write (KIP-98). For one thread at a time.
    """

    def __init__(self, settings: ConnectionSettings, state_topic: StateTopic) -> None:
        self.state_topic = state_topic
        self._settings = settings
        self._table = TopicTable(settings, state_topic.topic)
        self._writer: TransactionalWriter | None = None
        self._is_topic_checked = False
        self._prefix = f"{state_topic.key}/"

    @property
    def location(self) -> str:
        """The topic and the key."""
        return str(self.state_topic)

    @property
    def transactional_id(self) -> str:
        """The name by which writers of this state shut each other out."""
        return f"kplan-state-{self.state_topic.key}"

    @property
    def key(self) -> str:
        """The key of this state."""
        return self.state_topic.key

    def list_keys(self) -> tuple[str, ...]:
        """List the keys of the states in the topic."""
        table = self._table.read(waits=True) or {}
        ends = f"/{CURRENT_STATE}", f"/{FIRST_OF_JOURNAL}"
        names = [each.decode("utf-8", "replace") for each in table]
        found = {name.removesuffix(end) for name in names for end in ends if name.endswith(end)}
        return tuple(sorted(found))

    def beside(self, key: str) -> "KafkaRecords":
        """Return another state of the topic, of which nothing is read again."""
        found = KafkaRecords(self._settings, replace(self.state_topic, key=key))
        found._table = self._table.copy()  # a heartbeat may read in ours meanwhile
        return found

    def peek(self) -> Mapping[str, bytes] | None:
        """Return the committed records, up to the first open transaction."""
        return self._own_records(self._table.read(waits=False))

    def read(self) -> Mapping[str, bytes] | None:
        """Return all that was written before the call."""
        return self._own_records(self._table.read(waits=True))

    def claim(self) -> Mapping[str, bytes]:
        """Shut out every other writer, make the topic where there is none, and read."""
        from kplan.kafka.transaction import TransactionalWriter  # noqa: PLC0415 - loads librdkafka

        self.close()
        self._ensure_topic()
        settings = librdkafka_settings(self._settings)
        writer = TransactionalWriter(settings, self.transactional_id, self.state_topic.topic)
        least_s, most_s = _INIT_TIMEOUT_RANGE_S
        writer.init_transactions(min(max(self._settings.timeouts.request_s, least_s), most_s))
        self._writer = writer
        found = self.read()
        if found is None:
            raise StateError(f"The topic {self.state_topic.topic} was deleted a moment ago.")
        return found

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put and remove records in one transaction; raises UncertainWriteError."""
        if self._writer is None:
            raise UncertainWriteError("nothing is claimed")
        try:
            self._writer.write(
                {f"{self._prefix}{name}".encode(): each for name, each in changes.items()}
            )
        except UncertainWriteError:
            self.close()
            raise

    def without_retries(self) -> AbstractContextManager[None]:
        """Change nothing: every call has the time of the connection."""
        return nullcontext()

    def close(self) -> None:
        """Let go of the producer, which ends its threads."""
        self._writer = None

    def _own_records(self, table: Mapping[bytes, bytes] | None) -> Mapping[str, bytes] | None:
        if table is None:
            return None
        named = ((key.decode("utf-8", "replace"), value) for key, value in table.items())
        return {
            name.removeprefix(self._prefix): value
            for name, value in named
            if name.startswith(self._prefix)
        }

    def _ensure_topic(self) -> None:
        """Create the topic if it is missing, and check once that it retains records."""
        if self._is_topic_checked:
            return
        with closing(WireCluster(self._settings)) as cluster:
            if self.peek() is None:
                self._create_topic(cluster)
                self._table.mark_created()
            else:
                self._check_topic(cluster)
        self._is_topic_checked = True

    def _create_topic(self, cluster: WireCluster) -> None:
        name = self.state_topic.topic
        copies = self.state_topic.replication_factor or min(
            _REPLICATION_FACTOR, len(cluster.describe().brokers)
        )
        spec = NewTopic(name, 1, copies, config=_topic_config(copies))
        refused = cluster.create_topics([spec]).get(name)
        if refused is not None and refused.error != "TOPIC_ALREADY_EXISTS":
            raise StateError(
                f"The topic {name}, which stores the state, cannot be created: {refused}",
                f"Have it created with 1 partition, {copies} replicas and cleanup.policy=compact.",
            )

    def _check_topic(self, cluster: WireCluster) -> None:
        """Refuse a topic with retention: by default the state would be lost after a week."""
        name = self.state_topic.topic
        found = cluster.topic_configs([name]).get(name)
        if found is None or isinstance(found, Refusal):
            raise StateError(
                f"The topic {name}, which stores the state, cannot be checked: "
                f"{found or 'no answer'}",
                f"Grant {self._settings.principal or 'this user'} DESCRIBE_CONFIGS on it.",
            )
        policy = found["cleanup.policy"].value
        if policy != "compact":
            raise StateError(
                f"The topic {name} would forget the state: its cleanup.policy is {policy}.",
                "Set it to compact.",
            )


def _topic_config(copies: int) -> Mapping[str, str]:
    """Keep every key, on most replicas, without waiting for long before old values are dropped."""
    return {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "max.message.bytes": "1048588",
        "min.cleanable.dirty.ratio": "0.1",
        "min.insync.replicas": str(max(1, copies - 1)),
        "segment.bytes": str(16 * 1024 * 1024),
        "segment.ms": str(24 * 3600 * 1000),
        "unclean.leader.election.enable": "false",
    }
