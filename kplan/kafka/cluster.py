"""The real cluster: each method of the port always uses the same one of two drivers."""

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from kplan.cluster.authorization import name_missing_operations
from kplan.cluster.connect import Connect
from kplan.cluster.port import Cluster
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
from kplan.kafka.settings.connection import ConnectionSettings, Kerberos
from kplan.kafka.transaction import librdkafka_settings
from kplan.kafka.wire.controller import ControllerCluster
from kplan.kafka.wire.driver import WireCluster
from kplan.model.errors import ClusterError, Refusal

if TYPE_CHECKING:
    from kplan.kafka.confluent import ConfluentCluster


class KafkaCluster:
    """A real cluster.

    ====================== ========= =======================================================
    describe               wire      reports a wrong password, authority or port at once
    rights                 wire      can be sent to one broker, for cluster and topics together
    topics                 wire      may be pinned to one broker, gives topic ids
    topic_configs          wire      half the time and memory, may be pinned to one broker
    topic_config_fallbacks wire      asks for single keys, with synonyms
    acls                   wire      librdkafka takes a refused list for an empty one (P3)
    preview_topics         wire      librdkafka has no answer with effective configs (KIP-525)
    prepare_writes         confluent the wire driver has nothing to load
    create_topics          confluent works as it is; wire where a quota may hold for us
    create_partitions      confluent works as it is; wire where a quota may hold for us
    alter_topic_configs    confluent works as it is
    delete_topics          wire      librdkafka cannot delete by topic id (KIP-516)
    create_acls            wire      librdkafka loses USER and DELEGATION_TOKEN (P4)
    delete_acls            wire      librdkafka loses USER and DELEGATION_TOKEN (P4)
    quotas                 wire      confluent-kafka has no such call
    alter_quotas           wire      confluent-kafka has no such call
    scram_users            wire      librdkafka aborts the process where the right is missing (P5)
    alter_scram_users      wire      kplan salts the password itself, where it is needed
    config_names           wire      confluent-kafka has no such call
    configs                wire      librdkafka knows no defaults of the cluster (P11)
    alter_configs          wire      librdkafka knows no defaults of the cluster (P11)
    versions               wire      confluent-kafka has no such call
    update_features        wire      confluent-kafka has no such call
    topic_use              wire      all groups of a broker in three requests, not three each
    group_names            wire      reports a broker that does not answer
    groups                 wire      confluent-kafka leaves out dead brokers without a word
    describe_groups        wire      confluent-kafka creates __consumer_offsets by asking (P12)
    partition_offsets      wire      asks each leader once, with a result for each partition
    commit_offsets         wire      returns a result for each partition
    delete_offsets         wire      confluent-kafka has no such call
    delete_groups          wire      finds coordinators without creating __consumer_offsets (P12)
    delete_records         wire      one request to each leader, with a result for each partition
    reassignments          wire      confluent-kafka has no such call
    reassign               wire      confluent-kafka has no such call
    replica_sizes          wire      confluent-kafka has no such call
    elect_leaders          wire      returns a result for each partition, also for all partitions
    quorum                 wire      confluent-kafka has no such call
    unregister_broker      wire      confluent-kafka has no such call
    add_voter              wire      confluent-kafka has no such call
    remove_voter           wire      confluent-kafka has no such call
    delegation_tokens      wire      confluent-kafka has no such call
    create_token           wire      confluent-kafka has no such call
    renew_token            wire      confluent-kafka has no such call
    expire_token           wire      confluent-kafka has no such call
    kafka_connect          wire      HTTP, connected when it is first asked
    schema_registry        wire      HTTP, connected when it is first asked
    missing_apis           wire      the versions are those of the wire driver's own connections
    ====================== ========= =======================================================

    Nothing is connected before the first question; librdkafka is loaded at the first write, or
    when one is expected. Why there are two ways to create under a quota: decision 0063.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._wire = WireCluster(settings)
        self._confluent: ConfluentCluster | None = None
        self._has_mutation_quota = False
        self._lock = threading.Lock()

    def describe(self) -> ClusterDescription:
        """Return cluster id, brokers and our principal."""
        return self._wire.describe()

    def rights(self, topics: Collection[str]) -> AuthorizedOperations:
        """Return this client's authorized operations on the cluster and on these topics."""
        return self._wire.rights(topics)

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Describe the named topics, or all that we may see."""
        return self._wire.topics(names, broker=broker)

    def topic_configs(
        self, names: Collection[str], *, broker: int | None = None
    ) -> Mapping[str, Mapping[str, ConfigEntry] | Refusal]:
        """Read every effective config of the named topics."""
        return self._wire.topic_configs(names, broker=broker)

    def topic_config_fallbacks(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, str] | Refusal]:
        """Read the values of topic configs without an override."""
        return self._wire.topic_config_fallbacks(wanted)

    def acls(self, *, broker: int | None = None) -> frozenset[AclBinding]:
        """List all ACLs; raises UnreadableError."""
        return self._wire.acls(broker=broker)

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        """Validate the creation of topics."""
        return self._wire.preview_topics(specs)

    def prepare_writes(self) -> None:
        """Load librdkafka and connect in the background."""
        threading.Thread(target=self._connect_writer, name="expect-writes", daemon=True).start()

    def create_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, ItemResult]:
        """Create topics."""
        if self._may_have_mutation_quota():
            return self._wire.create_topics(specs, is_strict=True)
        found = self._writer().create_topics(specs)
        return name_missing_operations("create_topics", found, self._wire.principal)

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Grow topics."""
        if self._may_have_mutation_quota():
            return self._wire.create_partitions(specs, validate_only=validate_only)
        found = self._writer().create_partitions(specs, validate_only=validate_only)
        return name_missing_operations("create_partitions", found, self._wire.principal)

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Set and reset single config keys of topics."""
        found = self._writer().alter_topic_configs(specs, validate_only=validate_only)
        return name_missing_operations("alter_topic_configs", found, self._wire.principal)

    def delete_topics(self, refs: Sequence[TopicRef]) -> Mapping[str, ItemResult]:
        """Delete topics, by topic id where one is given."""
        return self._wire.delete_topics(refs)

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Add ACLs."""
        return self._wire.create_acls(bindings)

    def delete_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Delete exactly these ACLs."""
        return self._wire.delete_acls(bindings)

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all quotas of clients; raises UnreadableError."""
        return self._wire.quotas(broker=broker)

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, ItemResult]:
        """Set and remove single quotas."""
        return self._wire.alter_quotas(specs, validate_only=validate_only)

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials; raises UnreadableError."""
        return self._wire.scram_users(broker=broker)

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, ItemResult]:
        """Set and delete SCRAM credentials."""
        return self._wire.alter_scram_users(specs)

    def config_names(self, scope: ConfigScope) -> frozenset[str] | None:
        """Name all that has configs of its own in the scope; raises UnreadableError."""
        return self._wire.config_names(scope)

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read every effective config of brokers, groups and metrics subscriptions."""
        return self._wire.configs(resources, broker=broker)

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        """Set and reset single config keys of them."""
        return self._wire.alter_configs(specs, validate_only=validate_only)

    def versions(self, *, broker: int | None = None) -> NodeVersions:
        """Return the APIs and features that a broker offers."""
        return self._wire.versions(broker=broker)

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Bring features of the cluster to levels."""
        return self._wire.update_features(updates, validate_only=validate_only)

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Return contents and consumers of topics."""
        return self._wire.topic_use(names)

    def group_names(self) -> frozenset[str]:
        """Name all groups; raises UnreadableError."""
        return self._wire.group_names()

    def groups(self) -> Mapping[int, tuple[GroupListing, ...] | Refusal]:
        """List the groups that each broker coordinates, or the reason why not."""
        return self._wire.groups()

    def describe_groups(self, names: Collection[str]) -> Mapping[str, GroupDescription | Refusal]:
        """Describe groups."""
        return self._wire.describe_groups(names)

    def partition_offsets(
        self, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Look up an offset of each partition."""
        return self._wire.partition_offsets(times)

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Set committed offsets of a group."""
        return self._wire.commit_offsets(group, offsets)

    def delete_offsets(
        self, group: str, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Delete committed offsets of a group."""
        return self._wire.delete_offsets(group, partitions)

    def delete_groups(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete groups."""
        return self._wire.delete_groups(names)

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition."""
        return self._wire.delete_records(before)

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Reassignment]:
        """List the partitions with an ongoing reassignment; raises UnreadableError."""
        return self._wire.reassignments(partitions)

    def reassign(self, targets: TargetReplicas) -> Mapping[TopicPartition, ItemResult]:
        """Begin to move replicas, or go back."""
        return self._wire.reassign(targets)

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Return the bytes of each partition on each broker; raises UnreadableError."""
        return self._wire.replica_sizes(topics)

    def elect_leaders(
        self, partitions: Collection[TopicPartition] | None, election: ElectionType
    ) -> Mapping[TopicPartition, ItemResult]:
        """Elect leaders."""
        return self._wire.elect_leaders(partitions, election)

    def quorum(self) -> Quorum:
        """Return who leads the metadata of the cluster; raises UnreadableError."""
        return self._wire.quorum()

    def unregister_broker(self, broker: int) -> ItemResult:
        """Take a broker out of the cluster."""
        return self._wire.unregister_broker(broker)

    def add_voter(self, voter: Voter) -> ItemResult:
        """Let a controller that follows vote."""
        return self._wire.add_voter(voter)

    def remove_voter(self, voter: int, directory: str) -> ItemResult:
        """Let a controller vote no more."""
        return self._wire.remove_voter(voter, directory)

    def delegation_tokens(self) -> tuple[DelegationToken, ...]:
        """List the tokens that we may see; raises UnreadableError."""
        return self._wire.delegation_tokens()

    def create_token(self, order: TokenRequest) -> DelegationToken | Refusal:
        """Make a token."""
        return self._wire.create_token(order)

    def renew_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token be valid for longer."""
        return self._wire.renew_token(hmac, span_ms)

    def expire_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token end sooner."""
        return self._wire.expire_token(hmac, span_ms)

    def schema_registry(self) -> SchemaRegistry | None:
        """Give access to the schema registry."""
        return self._wire.schema_registry()

    def kafka_connect(self) -> Connect | None:
        """Give access to Kafka Connect."""
        return self._wire.kafka_connect()

    def missing_apis(self, methods: Collection[str]) -> Mapping[str, MissingApi]:
        """Return which of these methods the cluster cannot serve."""
        return self._wire.missing_apis(methods)

    def close(self) -> None:
        """Free sockets and threads of both drivers."""
        self._wire.close()
        if self._confluent is not None:
            self._confluent.close()

    def _may_have_mutation_quota(self) -> bool:
        """Whether a quota on changes may apply; until one is known, it may come at any moment."""
        self._has_mutation_quota = self._has_mutation_quota or self._wire.may_have_mutation_quota()
        return self._has_mutation_quota

    def _connect_writer(self) -> None:
        with suppress(ClusterError):  # the first write shows what is wrong
            self._writer().prepare_writes()

    def _writer(self) -> "ConfluentCluster":
        """Return the confluent driver, made on first use: loading librdkafka takes its time."""
        from kplan.kafka.confluent import ConfluentCluster  # noqa: PLC0415 - see above

        with self._lock:
            if self._confluent is None:
                settings = librdkafka_settings(self._settings)
                self._confluent = ConfluentCluster(
                    settings, self._settings.timeouts, self._wire.tokens
                )
            return self._confluent


def open_cluster(settings: ConnectionSettings) -> Cluster:
    """Connect, and find out at once whether we are let in.

    Where controllers are to be asked (KIP-919) the wire driver carries all requests: librdkafka
    cannot talk to them. So it does with Kerberos, which librdkafka's packages for Python lack.

    Raises:
        UnreachableError: no one answers.
        AuthError: TLS or the login failed.
        WrongEndpointError: a broker was given as a controller, or the other way round.
        UnsupportedError: it is too old.

    """
    cluster: Cluster
    if settings.is_direct:
        cluster = ControllerCluster(settings)
    elif isinstance(settings.sasl, Kerberos):
        cluster = WireCluster(settings)
    else:
        cluster = KafkaCluster(settings)
    try:
        cluster.describe()
    except BaseException:
        cluster.close()
        raise
    return cluster
