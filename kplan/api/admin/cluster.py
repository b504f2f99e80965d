"""Requests about the cluster: nodes, versions, configs, features, quorum and replicas."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from kplan.api.admin.result import (
    Connections,
    Result,
    check_unique,
    read_results,
    write_results,
)
from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.request import AuthorizedOperations, ClusterDescription
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    FeatureUpdate,
    NodeVersions,
)
from kplan.cluster.topology import ElectionType, Quorum, Reassignment, TargetReplicas, Voter
from kplan.cluster.usage import TopicPartition
from kplan.model.errors import ClusterError

__all__ = ["ClusterRequests"]


class ClusterRequests:
    """Describe and alter the cluster itself."""

    _connections: Connections

    def describe_cluster(self, *, timeout: timedelta | None = None) -> ClusterDescription:
        """Return cluster id, live brokers, and the principal of this client (DescribeCluster).

        Args:
            timeout: How long the request may take.

        Returns:
            The description. Where controllers are asked, its nodes are controllers.

        """
        return self._connections.within(timeout).describe()

    def authorized_operations(
        self, topics: Collection[str] = (), *, timeout: timedelta | None = None
    ) -> AuthorizedOperations:
        """Return what this principal may do on the cluster and on topics (KIP-430).

        Args:
            topics: Names of topics.
            timeout: How long the request may take.

        Returns:
            Names of operations. A topic that does not exist, or is hidden, is left out.

        """
        return self._connections.within(timeout).rights(topics)

    def api_versions(
        self, *, timeout: timedelta | None = None
    ) -> Mapping[int, Result[NodeVersions]]:
        """Return the APIs and features that each node offers (ApiVersions, KIP-97).

        Args:
            timeout: How long the request to a node may take.

        Returns:
            Ranges of versions by the id of the node, or why that node has no answer.

        """
        cluster = self._connections.within(timeout)
        found: dict[int, Result[NodeVersions]] = {}
        for each in cluster.describe().nodes:
            try:
                found[each.id] = Result(cluster.versions(broker=each.id))
            except ClusterError as failure:
                error = client_refusal(CLIENT_DISCONNECTED, failure.detail)
                found[each.id] = Result(error=error)
        return found

    def describe_configs(
        self, resources: Collection[ConfigResource], *, timeout: timedelta | None = None
    ) -> Mapping[ConfigResource, Result[Mapping[str, ConfigDetail]]]:
        """Read the configs of brokers, groups, metrics subscriptions and loggers.

        Args:
            resources: Each by its scope and name; the broker "" is the default of all brokers.
            timeout: How long a request may take.

        Returns:
            Configs by key for each resource, or its error. A broker is asked for its own.

        """
        return read_results(self._connections.within(timeout).configs({*resources}))

    def alter_configs(
        self,
        alterations: Sequence[ConfigResourceAlteration],
        *,
        validate_only: bool = False,
        timeout: timedelta | None = None,
    ) -> Mapping[ConfigResource, Result[None]]:
        """Set and reset single configs of the same resources (IncrementalAlterConfigs, KIP-339).

        Args:
            alterations: Keys to set and to reset, one item for each resource.
            validate_only: Only validate.
            timeout: How long a request may take.

        Returns:
            A result for each resource.

        """
        asked = [each.resource for each in alterations]
        check_unique(asked)
        cluster = self._connections.within(timeout)
        return write_results(asked, cluster.alter_configs(alterations, validate_only=validate_only))

    def update_features(
        self,
        updates: Sequence[FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: timedelta | None = None,
    ) -> Mapping[str, Result[None]]:
        """Bring features of the cluster to levels (UpdateFeatures, KIP-584).

        Args:
            updates: A level for each feature.
            validate_only: Only validate.
            timeout: How long a request may take.

        Returns:
            A result for each feature by its name.

        """
        asked = [each.name for each in updates]
        check_unique(asked)
        cluster = self._connections.within(timeout)
        return write_results(asked, cluster.update_features(updates, validate_only=validate_only))

    def describe_quorum(self, *, timeout: timedelta | None = None) -> Quorum:
        """Return the leader of the metadata, and how far other nodes are (DescribeQuorum).

        Args:
            timeout: How long the request may take.

        Returns:
            Leader, epoch, voters and observers; offsets count metadata records.

        Raises:
            UnreadableError: The principal may not describe the cluster.

        """
        return self._connections.within(timeout).quorum()

    def add_voter(self, voter: Voter, *, timeout: timedelta | None = None) -> Result[None]:
        """Make a controller that follows a voter (AddRaftVoter, KIP-853)."""
        return Result(error=self._connections.within(timeout).add_voter(voter))

    def remove_voter(
        self, voter: int, directory: str, *, timeout: timedelta | None = None
    ) -> Result[None]:
        """Remove a voter by its id and directory id (RemoveRaftVoter, KIP-853)."""
        return Result(error=self._connections.within(timeout).remove_voter(voter, directory))

    def unregister_broker(self, broker: int, *, timeout: timedelta | None = None) -> Result[None]:
        """Remove the registration of a broker that is gone (UnregisterBroker, KIP-631)."""
        return Result(error=self._connections.within(timeout).unregister_broker(broker))

    def list_partition_reassignments(
        self,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout: timedelta | None = None,
    ) -> Mapping[TopicPartition, Reassignment]:
        """List the partitions with an ongoing reassignment (KIP-455).

        Args:
            partitions: (topic, partition) pairs; None asks for all.
            timeout: How long the request may take.

        Returns:
            Replicas that are added and removed, by partition.

        Raises:
            UnreadableError: The principal may not describe the cluster.

        """
        return self._connections.within(timeout).reassignments(partitions)

    def alter_partition_reassignments(
        self, targets: TargetReplicas, *, timeout: timedelta | None = None
    ) -> Mapping[TopicPartition, Result[None]]:
        """Begin to reassign partitions, or cancel that (AlterPartitionReassignments, KIP-455).

        Args:
            targets: The replicas of each (topic, partition); None cancels its reassignment.
            timeout: How long the request may take.

        Returns:
            A result for each partition; a success means that it has begun.

        """
        return write_results(targets, self._connections.within(timeout).reassign(targets))

    def describe_replica_sizes(
        self, topics: Collection[str], *, timeout: timedelta | None = None
    ) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Return the size of each partition on each broker, in bytes (DescribeLogDirs).

        Args:
            topics: Names of topics.
            timeout: How long a request may take.

        Returns:
            Sizes by the id of the broker for each partition; brokers without an answer are
            left out.

        Raises:
            UnreadableError: The principal may not describe the cluster.

        """
        return self._connections.within(timeout).replica_sizes(topics)

    def elect_leaders(
        self,
        partitions: Collection[TopicPartition] | None = None,
        election: ElectionType = ElectionType.PREFERRED,
        *,
        timeout: timedelta | None = None,
    ) -> Mapping[TopicPartition, Result[None]]:
        """Elect leaders of partitions (ElectLeaders, KIP-460).

        Args:
            partitions: (topic, partition) pairs; None is every partition that needs it.
            election: PREFERRED, or UNCLEAN, which may lose records.
            timeout: How long the request may take.

        Returns:
            A result for each partition. The error of a named partition whose leader is the
            preferred one is ELECTION_NOT_NEEDED.

        """
        answers = self._connections.within(timeout).elect_leaders(partitions, election)
        return write_results(answers if partitions is None else partitions, answers)
