"""Requests of the wire driver about records and groups; the modules are loaded when asked."""

from collections.abc import Collection, Mapping

from kplan.cluster.authorization import (
    ItemT,
    ResponseT,
    name_group_operations,
    name_missing_operations,
)
from kplan.cluster.request import ItemResult
from kplan.cluster.usage import GroupDescription, GroupListing, TopicPartition, TopicUse
from kplan.kafka.wire.gateway import Gateway
from kplan.model.errors import Refusal


class UsageRequests:
    """The part of the port about what is in topics and who uses it."""

    _gateway: Gateway

    @property
    def principal(self) -> str:
        """How an authorizer sees us; by a token it is known once we have logged in."""
        return self._gateway.principal

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Return what is in topics and who uses it."""
        from kplan.kafka.wire import usage  # noqa: PLC0415 - few commands ask

        return usage.read_topic_use(self._gateway, names) if names else {}

    def group_names(self) -> frozenset[str]:
        """Name all groups; raises UnreadableError."""
        from kplan.kafka.wire import usage  # noqa: PLC0415 - as above

        return usage.read_group_names(self._gateway, self.principal)

    def groups(self) -> Mapping[int, tuple[GroupListing, ...] | Refusal]:
        """List the groups that each broker coordinates; else why not."""
        from kplan.kafka.wire import group  # noqa: PLC0415 - as above

        return group.list_groups(self._gateway)

    def describe_groups(self, names: Collection[str]) -> Mapping[str, GroupDescription | Refusal]:
        """Describe groups."""
        from kplan.kafka.wire import group  # noqa: PLC0415 - as above

        found = group.describe_groups(self._gateway, names) if names else {}
        return self._name_missing_rights("describe_groups", found)

    def partition_offsets(
        self, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Look up an offset of each partition."""
        from kplan.kafka.wire import group_offset  # noqa: PLC0415 - as above

        found = group_offset.read_partition_offsets(self._gateway, times) if times else {}
        return self._name_missing_rights("partition_offsets", found)

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Set committed offsets of a group."""
        from kplan.kafka.wire import group_offset  # noqa: PLC0415 - as above

        found = group_offset.commit_offsets(self._gateway, group, offsets)
        return name_group_operations("commit_offsets", group, found, self.principal)

    def delete_offsets(
        self, group: str, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Delete committed offsets of a group."""
        from kplan.kafka.wire import group_offset  # noqa: PLC0415 - as above

        found = group_offset.delete_offsets(self._gateway, group, partitions)
        return name_group_operations("delete_offsets", group, found, self.principal)

    def delete_groups(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete groups."""
        from kplan.kafka.wire import group_offset  # noqa: PLC0415 - as above

        found = group_offset.delete_groups(self._gateway, names) if names else {}
        return self._name_missing_rights("delete_groups", found)

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition."""
        from kplan.kafka.wire import record  # noqa: PLC0415 - as above

        found = record.delete_records(self._gateway, before) if before else {}
        return self._name_missing_rights("delete_records", found)

    def _name_missing_rights(
        self, method: str, answers: Mapping[ItemT, ResponseT]
    ) -> Mapping[ItemT, ResponseT | Refusal]:
        return name_missing_operations(method, answers, self.principal)
