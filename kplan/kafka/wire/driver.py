"""The wire driver: the `Cluster` port over kplan's own connections."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing

from kplan.cluster.authorization import ItemT, ResponseT, name_missing_operations
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
    DURATION_KEYS,
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
from kplan.cluster.usage import TopicPartition
from kplan.kafka.rest.services import RestServices
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint
from kplan.kafka.token import TokenCache
from kplan.kafka.wire import (
    acl,
    cluster,
    credential,
    metadata,
    quota,
    resource_config,
    topic,
    topic_config,
)
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.usage_requests import UsageRequests
from kplan.model.errors import Refusal, UnreachableError


def preflight(settings: ConnectionSettings) -> ClusterDescription:
    """Connect, log in and identify the cluster: wrong settings are reported quickly.

    Raises:
        UnreachableError: no one listens there, or not a Kafka broker.
        AuthError: TLS or SASL refused us, with the reason.

    """
    with closing(WireCluster(settings)) as cluster:
        return cluster.describe()


class WireCluster(UsageRequests):
    """A real cluster. Nothing is connected before the first question."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._gateway = Gateway(settings)
        self._addresses: Mapping[int, Endpoint] = {}
        self._services = RestServices(settings)

    @property
    def tokens(self) -> TokenCache | None:
        """The tokens that we log in with, None where a login takes none."""
        return self._gateway.tokens

    @property
    def principal(self) -> str:
        """How an authorizer sees us; by a token it is known once we have logged in."""
        return self._gateway.principal

    def describe(self) -> ClusterDescription:
        """Return cluster id, live brokers, release and our principal."""
        (cluster_id, live, release), fenced = cluster.describe_cluster(self._gateway)
        self._addresses = {each.id: Endpoint(each.host, each.port) for each in live}
        self._gateway.add_endpoints(self._addresses.values())
        return ClusterDescription(
            cluster_id,
            live,
            self.principal,
            release,
            fenced=fenced,
            security_protocol=self._settings.security_protocol,
        )

    def rights(self, topics: Collection[str]) -> AuthorizedOperations:
        """Return this client's authorized operations on the cluster and on these topics."""
        return cluster.read_rights(self._gateway, topics)

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Describe the named topics, or all that we may see."""
        found = metadata.read_topics(self._gateway, names, self._address(broker))
        return self._name_missing_rights("topics", found)

    def topic_configs(
        self, names: Collection[str], *, broker: int | None = None
    ) -> Mapping[str, Mapping[str, ConfigEntry] | Refusal]:
        """Read every effective config of the named topics."""
        found = topic_config.read_topic_configs(self._gateway, names, self._address(broker))
        return self._name_missing_rights("topic_configs", found)

    def topic_config_fallbacks(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, str] | Refusal]:
        """Read the values of topic configs without an override."""
        if not wanted:
            return {}
        found = dict(topic_config.read_topic_config_fallbacks(self._gateway, wanted))
        durations: Mapping[str, str] | None = None
        for name, result in found.items():
            if isinstance(result, Refusal):
                continue
            lacking = sorted(set(wanted[name]) - result.keys())
            if any(each in DURATION_KEYS for each in lacking):
                durations = self._broker_durations() if durations is None else durations
                more = {key: durations[key] for key in lacking if key in durations}
                found[name] = {**result, **more}
        return self._name_missing_rights("topic_config_fallbacks", found)

    def _broker_durations(self) -> Mapping[str, str]:
        """Return the bounds that topics fall back to, of one broker; nothing if we may not know."""
        live = self.describe().brokers
        resource = ConfigResource(ConfigScope.BROKER, str(live[0].id)) if live else None
        found = self.configs([resource])[resource] if resource is not None else {}
        return {} if isinstance(found, Refusal) else topic_config.broker_durations(found)

    def acls(self, *, broker: int | None = None) -> frozenset[AclBinding]:
        """List all ACLs; raises UnreadableError."""
        return acl.read_acls(self._gateway, self._address(broker), self.principal)

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        """Validate the creation of topics."""
        found = topic.preview_topics(self._gateway, specs) if specs else {}
        return self._name_missing_rights("preview_topics", found)

    def prepare_writes(self) -> None:
        """Do nothing: the connections are open already."""

    def may_have_mutation_quota(self) -> bool:
        """Whether a quota on topic changes may apply (KIP-599)."""
        return quota.may_have_mutation_quota(self._gateway, self._settings.client_id)

    def create_topics(
        self, specs: Sequence[NewTopic], *, is_strict: bool = False
    ) -> Mapping[str, ItemResult]:
        """Create topics; if `is_strict`, those above a quota are refused and not delayed."""
        found = topic.create_topics(self._gateway, specs, is_strict=is_strict) if specs else {}
        return self._name_missing_rights("create_topics", found)

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Grow topics."""
        if not specs:
            return {}
        found = topic.create_partitions(self._gateway, specs, validate_only=validate_only)
        return self._name_missing_rights("create_partitions", found)

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Set and reset single config keys."""
        if not specs:
            return {}
        found = topic.alter_topic_configs(self._gateway, specs, validate_only=validate_only)
        return self._name_missing_rights("alter_topic_configs", found)

    def delete_topics(self, refs: Sequence[TopicRef]) -> Mapping[str, ItemResult]:
        """Delete topics, by topic id where one is given."""
        found = topic.delete_topics(self._gateway, refs) if refs else {}
        return self._name_missing_rights("delete_topics", found)

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Add ACLs."""
        return self._name_missing_rights("create_acls", acl.create_acls(self._gateway, bindings))

    def delete_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Delete exactly these ACLs."""
        return self._name_missing_rights("delete_acls", acl.delete_acls(self._gateway, bindings))

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all quotas of clients; raises UnreadableError."""
        return quota.read_quotas(self._gateway, self._address(broker))

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, ItemResult]:
        """Set and remove single quotas."""
        if not specs:
            return {}
        found = quota.alter_quotas(self._gateway, specs, validate_only=validate_only)
        return self._name_missing_rights("alter_quotas", found)

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials; raises UnreadableError."""
        return credential.read_scram_users(self._gateway, self._address(broker))

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, ItemResult]:
        """Set and delete SCRAM credentials."""
        found = credential.alter_scram_users(self._gateway, specs)
        return self._name_missing_rights("alter_scram_users", found)

    def config_names(self, scope: ConfigScope) -> frozenset[str] | None:
        """Name all that has configs of its own in the scope; raises UnreadableError."""
        return resource_config.read_config_names(self._gateway, scope)

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read every effective config of brokers, groups and metrics subscriptions."""
        found = resource_config.read_configs(self._gateway, resources, self._address, broker)
        return self._name_missing_rights("configs", found)

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        """Set and reset single config keys of them."""
        found = resource_config.alter_configs(
            self._gateway, specs, self._address, validate_only=validate_only
        )
        return self._name_missing_rights("alter_configs", found)

    def versions(self, *, broker: int | None = None) -> NodeVersions:
        """Return the APIs and features that a broker offers."""
        return cluster.read_versions(self._gateway, self._address(broker))

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Bring features of the cluster to levels."""
        found = cluster.update_features(self._gateway, updates, validate_only=validate_only)
        return self._name_missing_rights("update_features", found)

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Reassignment]:
        """List the partitions with an ongoing reassignment; raises UnreadableError."""
        from kplan.kafka.wire import reassignment  # noqa: PLC0415 - few commands ask

        return reassignment.list_reassignments(self._gateway, partitions)

    def reassign(self, targets: TargetReplicas) -> Mapping[TopicPartition, ItemResult]:
        """Begin to move replicas, or go back."""
        from kplan.kafka.wire import reassignment  # noqa: PLC0415 - as above

        return self._name_missing_rights(
            "reassign", reassignment.reassign(self._gateway, targets) if targets else {}
        )

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Return the bytes of each partition on each broker; raises UnreadableError."""
        from kplan.kafka.wire import reassignment  # noqa: PLC0415 - as above

        return reassignment.read_replica_sizes(self._gateway, topics) if topics else {}

    def elect_leaders(
        self, partitions: Collection[TopicPartition] | None, election: ElectionType
    ) -> Mapping[TopicPartition, ItemResult]:
        """Elect leaders."""
        from kplan.kafka.wire import reassignment  # noqa: PLC0415 - as above

        if partitions is not None and not partitions:
            return {}
        found = reassignment.elect_leaders(self._gateway, partitions, election)
        return self._name_missing_rights("elect_leaders", found)

    def quorum(self) -> Quorum:
        """Return who leads the metadata of the cluster; raises UnreadableError."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - few commands ask

        return quorum.read_quorum(self._gateway)

    def unregister_broker(self, broker: int) -> ItemResult:
        """Take a broker out of the cluster."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - as above

        found = {str(broker): quorum.unregister_broker(self._gateway, broker)}
        return self._name_missing_rights("unregister_broker", found)[str(broker)]

    def add_voter(self, voter: Voter) -> ItemResult:
        """Let a controller that follows vote."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - as above

        found = {voter.id: quorum.add_voter(self._gateway, voter)}
        return self._name_missing_rights("add_voter", found)[voter.id]

    def remove_voter(self, voter: int, directory: str) -> ItemResult:
        """Let a controller vote no more."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - as above

        found = {voter: quorum.remove_voter(self._gateway, voter, directory)}
        return self._name_missing_rights("remove_voter", found)[voter]

    def delegation_tokens(self) -> tuple[DelegationToken, ...]:
        """List the tokens that we may see; raises UnreadableError."""
        from kplan.kafka.wire import credential  # noqa: PLC0415 - few commands ask

        return credential.list_tokens(self._gateway)

    def create_token(self, order: TokenRequest) -> DelegationToken | Refusal:
        """Make a token."""
        from kplan.kafka.wire import credential  # noqa: PLC0415 - as above

        found = {order.owner: credential.create_token(self._gateway, order)}
        return self._name_missing_rights("create_token", found)[order.owner]

    def renew_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token be valid for longer."""
        from kplan.kafka.wire import credential  # noqa: PLC0415 - as above

        return credential.renew_token(self._gateway, hmac, span_ms)

    def expire_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token end sooner."""
        from kplan.kafka.wire import credential  # noqa: PLC0415 - as above

        return credential.expire_token(self._gateway, hmac, span_ms)

    def missing_apis(self, methods: Collection[str]) -> Mapping[str, MissingApi]:
        """Return which of these methods the cluster cannot serve."""
        return cluster.unsupported_methods(self._gateway, methods) if methods else {}

    def schema_registry(self) -> SchemaRegistry | None:
        """Give access to the schema registry."""
        return self._services.schema_registry()

    def kafka_connect(self) -> Connect | None:
        """Give access to Kafka Connect."""
        return self._services.kafka_connect()

    def close(self) -> None:
        """Close all connections; waiting readers get no answer."""
        self._services.close()
        self._gateway.close()

    def _name_missing_rights(
        self, method: str, answers: Mapping[ItemT, ResponseT]
    ) -> Mapping[ItemT, ResponseT | Refusal]:
        return name_missing_operations(method, answers, self.principal)

    def _address(self, broker: int | None) -> Endpoint | None:
        """Find where a broker listens; asked again where it is not known yet."""
        if broker is None:
            return None
        if broker not in self._addresses:
            self.describe()
        if broker not in self._addresses:
            raise UnreachableError(f"Broker {broker} is not there.")
        return self._addresses[broker]
