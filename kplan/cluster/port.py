"""The port: everything kplan asks of a Kafka cluster."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kplan.cluster.connect import Connect
from kplan.cluster.registry import SchemaRegistry
from kplan.cluster.request import (
    AclBinding,
    AuthorizedOperations,
    ClusterDescription,
    ConfigAlteration,
    ConfigEntry,
    ItemResult,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    DelegationToken,
    FeatureUpdate,
    MissingApi,
    NodeVersions,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
    TokenRequest,
)
from kplan.cluster.topology import ElectionType, Quorum, Reassignment, TargetReplicas, Voter
from kplan.cluster.usage import GroupDescription, GroupListing, TopicPartition, TopicUse
from kplan.model.errors import Refusal


class Cluster(Protocol):
    """A Kafka cluster.

    Every method is one request (or as few as the protocol allows) for all of its items; answers are
    matched by name, never by position. An item that is missing from an answer had none. Names in
    one call are unique: the caller sees to that. Reads raise `UnreadableError` when the list as a
    whole was refused, `UnreachableError` and `AuthError` when no one can be asked. Writes and
    previews never raise for a broken connection or an expired timeout: their items are then
    answered with an in-doubt refusal (`CLIENT_TIMED_OUT`, `CLIENT_DISCONNECTED` of
    `cluster/errors.py`). An item that cannot be sent is answered `CLIENT_INVALID`, and its
    neighbours are sent. Methods may be called from several threads at once.
    """

    def describe(self) -> ClusterDescription:
        """Return cluster id and live brokers (DescribeCluster, KIP-700), and who we are."""
        ...

    def rights(self, topics: Collection[str]) -> AuthorizedOperations:
        """Return this client's authorized operations on the cluster and on topics (KIP-430).

        A topic that does not exist, or the principal cannot see it, is left out.
        """
        ...

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Describe the named topics, or all that we may see (Metadata).

        `broker` asks that very broker. An unknown name is answered UNKNOWN_TOPIC_OR_PARTITION, one
        that is hidden from us TOPIC_AUTHORIZATION_FAILED. Nothing is ever created by asking.

        Raises:
            NotListableError: a controller is asked, which lists none. It shows that a named topic
                is there, with an assignment of no partition, as it does not know them either.

        """
        ...

    def topic_configs(
        self, names: Collection[str], *, broker: int | None = None
    ) -> Mapping[str, Mapping[str, ConfigEntry] | Refusal]:
        """Read every effective config of the named topics (DescribeConfigs); `broker` as above."""
        ...

    def topic_config_fallbacks(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, str] | Refusal]:
        """Read the values of topic configs without an override (DescribeConfigs, KIP-226).

        `wanted` are keys by topic; a key whose value there cannot be known is left out. Values are
        in the unit of the topic's key: Kafka's brokers may have theirs in hours.
        """
        ...

    def acls(self, *, broker: int | None = None) -> frozenset[AclBinding]:
        """List all ACLs (DescribeAcls). `broker` asks that very broker.

        Raises:
            UnreadableError: no right to describe the cluster, or no authorizer is configured.

        """
        ...

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        """Validate the creation of topics (CreateTopics, validate only; KIP-525)."""
        ...

    def prepare_writes(self) -> None:
        """Prepare the first write in the background; returns at once."""
        ...

    def create_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, ItemResult]:
        """Create topics."""
        ...

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Grow topics (KIP-195)."""
        ...

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Set and reset single config keys of topics (KIP-339)."""
        ...

    def delete_topics(self, refs: Sequence[TopicRef]) -> Mapping[str, ItemResult]:
        """Delete topics, by topic id where one is given; answered by name."""
        ...

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Add ACLs; adding one that exists is a success."""
        ...

    def delete_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Delete exactly these ACLs; an absent one is a success."""
        ...

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all quotas of clients (DescribeClientQuotas, KIP-546), values in Kafka's units.

        Raises:
            UnreadableError: no right to describe the configs of the cluster.

        """
        ...

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, ItemResult]:
        """Set and remove single quotas (AlterClientQuotas); removing an absent one is a success."""
        ...

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials; passwords are never returned (KIP-554).

        Raises:
            UnreadableError: no right to describe the cluster.

        """
        ...

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, ItemResult]:
        """Set and delete SCRAM credentials; deleting an absent one is refused (KIP-554)."""
        ...

    def config_names(self, scope: ConfigScope) -> frozenset[str] | None:
        """Name all that has configs of its own in the scope (ListConfigResources, KIP-1142).

        None where the cluster cannot tell.

        Raises:
            UnreadableError: no right to describe the configs of the cluster.

        """
        ...

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read every effective config (DescribeConfigs); a broker is asked about its own.

        The cluster's defaults hold only what is set. One broker that does not answer is refused
        with a client error, and the others are reported. `broker` asks that very broker instead.
        """
        ...

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        """Set and reset single config keys (IncrementalAlterConfigs, KIP-339)."""
        ...

    def versions(self, *, broker: int | None = None) -> NodeVersions:
        """Return the APIs and features that a broker offers (ApiVersions, KIP-97, KIP-584)."""
        ...

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Bring features of the cluster to levels (UpdateFeatures, KIP-584), one after the other.

        One that has its level already is a success.
        """
        ...

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Return contents and consumers of topics with a few requests per broker.

        (ListOffsets, DescribeLogDirs, DescribeProducers, ListGroups, OffsetFetch, DescribeGroups.)
        What cannot be read is None, with the reason, and never zero.
        """
        ...

    def group_names(self) -> frozenset[str]:
        """Name all groups, those without members too (ListGroups at every broker).

        Raises:
            UnreadableError: no right to describe the cluster: some would be hidden.

        """
        ...

    def groups(self) -> Mapping[int, tuple[GroupListing, ...] | Refusal]:
        """List the groups that each broker coordinates (ListGroups), sorted, or the reason why not.

        A broker that should coordinate groups and does not run is refused too. Without the right
        to describe the cluster only those are listed that we may describe.
        """
        ...

    def describe_groups(self, names: Collection[str]) -> Mapping[str, GroupDescription | Refusal]:
        """Describe groups (ConsumerGroupDescribe of KIP-848, DescribeGroups; OffsetFetch).

        Nothing is created by asking. What cannot be read of a group is in its `unread`.
        """
        ...

    def partition_offsets(
        self, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Look up an offset of each partition (ListOffsets): that of the first record since a time.

        Times are milliseconds since 1970, EARLIEST for the first offset or LATEST for the end. -1
        is returned where no record is that young.
        """
        ...

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Set committed offsets of a group without members, which is created if there is none.

        (OffsetCommit.) With members it is refused, UNKNOWN_MEMBER_ID as a rule.
        """
        ...

    def delete_offsets(
        self, group: str, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Delete committed offsets of topics that no member subscribes to (OffsetDelete, KIP-496).

        One that is absent is a success.
        """
        ...

    def delete_groups(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete groups without members with their offsets (DeleteGroups, KIP-229)."""
        ...

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition (DeleteRecords, KIP-107).

        Each leader is asked about its own. Tells the first offset that is left.
        """
        ...

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Reassignment]:
        """List the partitions with an ongoing reassignment (ListPartitionReassignments, KIP-455).

        None asks for all of them. What is not moving is left out.

        Raises:
            UnreadableError: no right to describe the cluster.

        """
        ...

    def reassign(self, targets: TargetReplicas) -> Mapping[TopicPartition, ItemResult]:
        """Begin to move replicas, or with None go back (AlterPartitionReassignments, KIP-455).

        A success says that it was begun. Cancelling what does not move is refused with 85.
        """
        ...

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Return the bytes of each partition on each broker (DescribeLogDirs).

        Brokers that do not answer are left out.

        Raises:
            UnreadableError: no right to describe the cluster.

        """
        ...

    def elect_leaders(
        self, partitions: Collection[TopicPartition] | None, election: ElectionType
    ) -> Mapping[TopicPartition, ItemResult]:
        """Elect leaders (ElectLeaders, KIP-460); None is all partitions that need it.

        One whose leader is the right one is refused with 84 where it is named.
        """
        ...

    def quorum(self) -> Quorum:
        """Give who leads the metadata of the cluster, and how far all others are (DescribeQuorum).

        Raises:
            UnreadableError: no right to describe the cluster.

        """
        ...

    def unregister_broker(self, broker: int) -> ItemResult:
        """Take a broker out of the cluster (UnregisterBroker, KIP-631), also one that runs.

        Replicas that are assigned to it stay so.
        """
        ...

    def add_voter(self, voter: Voter) -> ItemResult:
        """Let a controller that follows vote (AddRaftVoter, KIP-853)."""
        ...

    def remove_voter(self, voter: int, directory: str) -> ItemResult:
        """Let a controller vote no more, known by id and directory (RemoveRaftVoter, KIP-853)."""
        ...

    def delegation_tokens(self) -> tuple[DelegationToken, ...]:
        """List the tokens that we may see, by id (DescribeDelegationToken, KIP-48).

        Raises:
            UnreadableError: the cluster has no tokens, or tells none over this connection.

        """
        ...

    def create_token(self, order: TokenRequest) -> DelegationToken | Refusal:
        """Make a token, with its secret (CreateDelegationToken, KIP-48, KIP-373)."""
        ...

    def renew_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token be valid for so long from now, -1 is as long as brokers have as default.

        Tells until when it is, in milliseconds since 1970 (RenewDelegationToken, KIP-48).
        """
        ...

    def expire_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token end so long from now, below 0 at once (ExpireDelegationToken, KIP-48)."""
        ...

    def missing_apis(self, methods: Collection[str]) -> Mapping[str, MissingApi]:
        """Return which of these methods of the port the cluster cannot serve, and why (KIP-97)."""
        ...

    def schema_registry(self) -> SchemaRegistry | None:
        """Give access to the schema registry of the connection, None where none is configured.

        Nothing is connected by asking for it. It is closed with the cluster.
        """
        ...

    def kafka_connect(self) -> Connect | None:
        """Give access to the Kafka Connect of the connection, None where none is configured.

        As for the schema registry.
        """
        ...

    def close(self) -> None:
        """Free sockets and threads."""
        ...
