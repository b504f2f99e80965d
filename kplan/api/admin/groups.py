"""Requests about groups, their members and committed offsets."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from kplan.api.admin.result import Connections, Result, read_results, write_results
from kplan.cluster.usage import GroupDescription, GroupListing, TopicPartition

__all__ = ["GroupRequests"]


class GroupRequests:
    """List, describe and delete groups, and alter their offsets."""

    _connections: Connections

    def list_groups(
        self, *, timeout: timedelta | None = None
    ) -> Mapping[int, Result[tuple[GroupListing, ...]]]:
        """List the groups that each broker coordinates (ListGroups at every broker).

        Args:
            timeout: How long a request may take.

        Returns:
            Groups by the id of the broker, or why that broker has no answer: some brokers may
            answer and others not.

        """
        return read_results(self._connections.within(timeout).groups())

    def describe_groups(
        self, names: Collection[str], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[GroupDescription]]:
        """Describe groups with members and committed offsets. Nothing is created by asking.

        Args:
            names: Names of groups.
            timeout: How long a request may take.

        Returns:
            A result for each name. The error of a group that does not exist is
            GROUP_ID_NOT_FOUND.

        """
        return read_results(self._connections.within(timeout).describe_groups({*names}))

    def describe_group(self, name: str, *, timeout: timedelta | None = None) -> GroupDescription:
        """Describe one group.

        Args:
            name: Its name.
            timeout: How long a request may take.

        Returns:
            The group.

        Raises:
            RefusedError: There is no such group, or it cannot be described.

        """
        return self.describe_groups([name], timeout=timeout)[name].get()

    def delete_groups(
        self, names: Collection[str], *, timeout: timedelta | None = None
    ) -> Mapping[str, Result[None]]:
        """Delete groups without members, with their offsets (DeleteGroups, KIP-229).

        Args:
            names: Names of groups.
            timeout: How long a request may take.

        Returns:
            A result for each name.

        """
        asked = [*dict.fromkeys(names)]
        return write_results(asked, self._connections.within(timeout).delete_groups(asked))

    def alter_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout: timedelta | None = None,
    ) -> Mapping[TopicPartition, Result[None]]:
        """Set the committed offsets of a group without members (OffsetCommit).

        Args:
            group: The name of the group, which is created if there is none.
            offsets: Offsets by (topic, partition).
            timeout: How long a request may take.

        Returns:
            A result for each partition.

        """
        answers = self._connections.within(timeout).commit_offsets(group, offsets)
        return write_results(offsets, answers)

    def delete_group_offsets(
        self,
        group: str,
        partitions: Collection[TopicPartition],
        *,
        timeout: timedelta | None = None,
    ) -> Mapping[TopicPartition, Result[None]]:
        """Delete committed offsets of topics that no member subscribes to (KIP-496).

        Args:
            group: The name of the group.
            partitions: (topic, partition) pairs.
            timeout: How long a request may take.

        Returns:
            A result for each partition; one that is absent is a success.

        """
        asked = [*dict.fromkeys(partitions)]
        answers = self._connections.within(timeout).delete_offsets(group, asked)
        return write_results(asked, answers)
