"""Requests about topics, their partitions, configs and records."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from kplan.api.admin.result import Connections, Result, check_unique, read_results, write_results
from kplan.cluster.request import (
    ConfigAlteration,
    ConfigEntry,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.usage import TopicPartition

__all__ = ["TopicRequests"]


class TopicRequests:
    """Create, delete, describe and alter topics."""

    _connections: Connections

    def create_topics(
        self, topics: Collection[NewTopic], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[None]]:
        """Create topics in one request (CreateTopics).

        Args:
            topics: The topics, each with counts or with an assignment of replicas.
            timeout: How long the request may take; None is `request.timeout.ms`.

        Returns:
            A result for each topic by its name; some may fail while others succeed.

        Raises:
            UsageError: A topic is named twice.
            UnsupportedError: The cluster lacks the API in a version that kplan needs.

        """
        names = [each.name for each in topics]
        check_unique(names)
        cluster = self._connections.within(timeout)
        return write_results(names, cluster.create_topics([*topics]) if names else {})

    def validate_topics(
        self, topics: Collection[NewTopic], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[TopicPreview]]:
        """Ask what would come of creating topics, without creating them (VALIDATE_ONLY, KIP-525).

        Args:
            topics: As for `create_topics`.
            timeout: How long the request may take.

        Returns:
            The partitions, replicas and configs that each topic would have, or its error.

        Raises:
            UsageError: A topic is named twice.

        """
        check_unique([each.name for each in topics])
        cluster = self._connections.within(timeout)
        return read_results(cluster.preview_topics([*topics]) if topics else {})

    def create_topic(self, topic: NewTopic, *, timeout: timedelta | None = None) -> None:
        """Create one topic.

        Raises:
            RefusedError: It was not created; `refusal` has Kafka's error.

        """
        self.create_topics([topic], timeout=timeout)[topic.name].get()

    def delete_topics(
        self, topics: Collection[str | TopicRef], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[None]]:
        """Delete topics in one request (DeleteTopics), each once however often it is named.

        Args:
            topics: Names; or `TopicRef`s with a topic id, which delete only that very topic and
                none that was created since (KIP-516).
            timeout: How long the request may take.

        Returns:
            A result for each topic by its name.

        Raises:
            UsageError: A name has two topic ids.

        """
        refs = {each if isinstance(each, TopicRef) else TopicRef(each): None for each in topics}
        names = [each.name for each in refs]
        check_unique(names)
        cluster = self._connections.within(timeout)
        return write_results(names, cluster.delete_topics([*refs]) if names else {})

    def delete_topic(self, name: str, *, timeout: timedelta | None = None) -> None:
        """Delete one topic by its name.

        Raises:
            RefusedError: It was not deleted; `refusal` has Kafka's error.

        """
        self.delete_topics([name], timeout=timeout)[name].get()

    def list_topics(
        self, *, include_internal: bool = False, timeout: timedelta | None = None
    ) -> Mapping[str, Result[TopicDescription]]:
        """Describe all topics that this principal may describe (Metadata).

        Kafka leaves out other topics without a word: ask for those by name.

        Args:
            include_internal: Also list Kafka's own topics, such as `__consumer_offsets`.
            timeout: How long the request may take.

        Returns:
            Leaders, replicas and in-sync replicas of each topic by name, or its error.

        Raises:
            UnreadableError: A controller is asked, which lists no topics.

        """
        found = read_results(self._connections.within(timeout).topics())
        return {
            name: each
            for name, each in found.items()
            if include_internal or each.value is None or not each.value.is_internal
        }

    def describe_topics(
        self, names: Collection[str], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[TopicDescription]]:
        """Describe topics by name (Metadata). No topic is created by asking.

        Args:
            names: Names of topics.
            timeout: How long the request may take.

        Returns:
            A result for each name. The error of a topic that does not exist is
            UNKNOWN_TOPIC_OR_PARTITION, that of a hidden one TOPIC_AUTHORIZATION_FAILED.

        """
        return read_results(self._connections.within(timeout).topics({*names}))

    def describe_topic_configs(
        self, names: Collection[str], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[Mapping[str, ConfigEntry]]]:
        """Read every effective config of topics, with the source of its value (DescribeConfigs).

        Args:
            names: Names of topics.
            timeout: How long the request may take.

        Returns:
            Configs by key for each name, or its error. The value of a sensitive config is None.

        """
        return read_results(self._connections.within(timeout).topic_configs({*names}))

    def alter_topic_configs(
        self,
        alterations: Sequence[ConfigAlteration],
        *,
        validate_only: bool = False,
        timeout: timedelta | None = None,
    ) -> Mapping[str, Result[None]]:
        """Set and reset single configs of topics (IncrementalAlterConfigs, KIP-339).

        Args:
            alterations: Keys to set and to reset, one item for each topic.
            validate_only: Only validate.
            timeout: How long the request may take.

        Returns:
            A result for each topic by its name.

        """
        names = [each.name for each in alterations]
        check_unique(names)
        cluster = self._connections.within(timeout)
        answers = cluster.alter_topic_configs(alterations, validate_only=validate_only)
        return write_results(names, answers)

    def create_partitions(
        self,
        partitions: Sequence[NewPartitions],
        *,
        validate_only: bool = False,
        timeout: timedelta | None = None,
    ) -> Mapping[str, Result[None]]:
        """Add partitions to topics (CreatePartitions, KIP-195).

        Args:
            partitions: The new total of each topic, and the replicas of the new partitions.
            validate_only: Only validate.
            timeout: How long the request may take.

        Returns:
            A result for each topic by its name.

        """
        names = [each.name for each in partitions]
        check_unique(names)
        cluster = self._connections.within(timeout)
        answers = cluster.create_partitions(partitions, validate_only=validate_only)
        return write_results(names, answers)

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, timeout: timedelta | None = None
    ) -> Mapping[TopicPartition, Result[int]]:
        """Look up offsets by time (ListOffsets).

        Args:
            times: Milliseconds since 1970 by (topic, partition); EARLIEST is the first offset,
                LATEST the offset that the next record gets.
            timeout: How long the request may take.

        Returns:
            The offset of the first record since that time, -1 where there is none, or an error.

        """
        return read_results(self._connections.within(timeout).partition_offsets(times))

    def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: timedelta | None = None
    ) -> Mapping[TopicPartition, Result[int]]:
        """Delete the records of partitions before an offset (DeleteRecords, KIP-107).

        Args:
            before: The first offset that stays, by (topic, partition).
            timeout: How long the request may take.

        Returns:
            The first offset that is left in each partition, or an error.

        """
        return read_results(self._connections.within(timeout).delete_records(before))
