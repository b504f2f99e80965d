"""The truth about a cluster, read by another client than kplan: confluent-kafka."""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

RETENTION = "retention.ms"
_TIMEOUT_S = 30.0
_ANY = AclBindingFilter(
    ResourceType.ANY,
    None,  # type: ignore[arg-type] # any
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type] # any
    None,  # type: ignore[arg-type] # any
    AclOperation.ANY,
    AclPermissionType.ANY,
)
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class LiveTopic:
    """A topic as brokers show it; `replicas` by partition, sorted."""

    topic_id: str
    replicas: tuple[tuple[int, ...], ...]
    retention: str | None

    @property
    def shape(self) -> tuple[int, frozenset[int], str | None]:
        """Give partitions, replication factors and retention."""
        return len(self.replicas), frozenset(len(each) for each in self.replicas), self.retention


@dataclass(frozen=True, slots=True)
class Truth:
    """What is on the cluster: topics by name, and ACLs as (principal, operation, topic)."""

    topics: Mapping[str, LiveTopic]
    acls: frozenset[tuple[str, str, str]]


class Observer:
    """Reads and meddles with the topics of one prefix."""

    def __init__(self, servers: str, prefix: str) -> None:
        self._servers = servers
        self._prefix = prefix
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def read(self) -> Truth:
        """Read all there is, again until two readings in a row are the same: brokers catch up."""
        last: Truth | None = None
        until = time.monotonic() + 90
        while time.monotonic() < until:
            try:
                found = self._read()
            except KafkaException:
                found = None
            if found is not None and found == last:
                return found
            last = found
            time.sleep(0.7)
        raise AssertionError("the cluster does not come to rest")

    def _read(self) -> Truth:
        listed = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        names = sorted(name for name in listed if name.startswith(self._prefix))
        topics: dict[str, LiveTopic] = {}
        if names:
            futures = self._admin.describe_topics(
                TopicCollection(names), request_timeout=_TIMEOUT_S
            )
            resources = {name: ConfigResource(ConfigResource.Type.TOPIC, name) for name in names}
            configs = self._admin.describe_configs(
                list(resources.values()), request_timeout=_TIMEOUT_S
            )
            by_name = {resource.name: future for resource, future in configs.items()}
            for name in names:
                described = futures[name].result()
                entry = by_name[name].result()[RETENTION]
                own = entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
                topics[name] = LiveTopic(
                    str(described.topic_id),
                    tuple(
                        tuple(sorted(node.id for node in each.replicas))
                        for each in sorted(described.partitions, key=lambda each: each.id)
                    ),
                    entry.value if own else None,
                )
        bound = self._admin.describe_acls(_ANY, request_timeout=_TIMEOUT_S).result()
        return Truth(
            topics,
            frozenset(
                (each.principal, each.operation.name, each.name)
                for each in bound
                if each.name.startswith(self._prefix)
            ),
        )

    def delete(self, names: Collection[str]) -> None:
        """Delete topics behind kplan's back."""
        self._settle(self._admin.delete_topics(list(names), operation_timeout=_TIMEOUT_S))

    def create(self, name: str, partitions: int, factor: int) -> None:
        """Create a topic behind kplan's back."""
        topic = NewTopic(name, partitions, factor, config={RETENTION: "7777777"})
        self._settle(self._admin.create_topics([topic], operation_timeout=_TIMEOUT_S))

    def alter(self, name: str, retention: str) -> None:
        """Change the retention of a topic behind kplan's back."""
        resource = ConfigResource(
            ConfigResource.Type.TOPIC,
            name,
            incremental_configs=[
                ConfigEntry(RETENTION, retention, incremental_operation=AlterConfigOpType.SET)
            ],
        )
        self._settle(self._admin.incremental_alter_configs([resource]))

    def produce(self, name: str, count: int) -> list[int]:
        """Write records, and give the end offset of each partition."""
        producer = Producer({"bootstrap.servers": self._servers, "log_level": 0})
        for number in range(count):
            producer.produce(name, str(number))
        producer.flush(60)
        found = self._admin.list_topics(timeout=_TIMEOUT_S).topics  # by name would create it
        return self._watermarks(name, len(found[name].partitions), 1)

    def low_watermarks(self, name: str, partitions: int) -> list[int]:
        """Give the first offset of each partition."""
        return self._watermarks(name, partitions, 0)

    def _watermarks(self, name: str, partitions: int, which: int) -> list[int]:
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": "observer"})
        try:
            keys = [TopicPartition(name, each) for each in range(partitions)]
            return [
                consumer.get_watermark_offsets(each, timeout=_TIMEOUT_S)[which] for each in keys
            ]
        finally:
            consumer.close()

    @staticmethod
    def _settle(futures: Mapping[Any, "Future[Any]"]) -> None:
        for each in futures.values():
            try:
                each.result()
            except KafkaException:
                continue  # kplan was quicker; the next reading shows what is so


def soon(read: Callable[[], AnswerT], within_s: float = 60.0) -> AnswerT:
    """Ask until the client gets an answer."""
    until = time.monotonic() + within_s
    while True:
        try:
            return read()
        except KafkaException:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
