"""The wire driver: the whole `Cluster` port over kplan's own connections."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing

from kplan.cluster.delegation import DelegationToken, TokenOrder
from kplan.cluster.groups import GroupDescription, ListedGroup
from kplan.cluster.quorum import Quorum, Voter
from kplan.cluster.reassignments import Election, Moving, Targets
from kplan.cluster.rights import Answer, Item, named
from kplan.cluster.setting_specs import (
    ConfigDetail,
    ConfigResource,
    ConfigScope,
    FeatureUpdate,
    Lack,
    NodeVersions,
    QuotaAlteration,
    QuotaEntity,
    ResourceAlteration,
    ScramAlteration,
    ScramUser,
)
from kplan.cluster.specs import (
    AclBinding,
    ClusterDescription,
    ConfigAlteration,
    ConfigEntry,
    NewPartitions,
    NewTopic,
    Rights,
    TopicDescription,
    TopicPreview,
    TopicRef,
    Verdict,
)
from kplan.cluster.usage import TopicPartition, TopicUse
from kplan.kafka.settings import ConnectionSettings, Endpoint
from kplan.kafka.tokens import Tokens
from kplan.kafka.wire import (
    acls,
    brokers,
    capabilities,
    changes,
    configs,
    creation,
    deletion,
    features,
    mutation_quota,
    quotas,
    resource_configs,
    rights,
    scram,
    topics,
)
from kplan.kafka.wire.gateway import Gateway
from kplan.model.errors import Unreachable
from kplan.model.refusal import Refusal


def preflight(settings: ConnectionSettings) -> ClusterDescription:
    """Connect, log in and ask who answers: what is wrong with settings is told in a moment.

    Raises:
        Unreachable: nobody listens there, or not a Kafka broker.
        AuthError: TLS or SASL refused us, with the reason.

    """
    with closing(WireCluster(settings)) as cluster:
        return cluster.describe()


class WireCluster:
    """A real cluster. Nothing is connected before the first question."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._gateway = Gateway(settings)
        self._addresses: Mapping[int, Endpoint] = {}

    @property
    def tokens(self) -> Tokens | None:
        """The tokens that we log in with, None where a login takes none."""
        return self._gateway.tokens

    @property
    def principal(self) -> str:
        """How an authorizer sees us; by a token it is known once we have logged in."""
        return self._gateway.principal

    def describe(self) -> ClusterDescription:
        """Tell cluster id, live brokers, release and our principal."""
        cluster_id, live, release = brokers.describe(self._gateway)
        self._addresses = {each.id: Endpoint(each.host, each.port) for each in live}
        self._gateway.learn(self._addresses.values())
        return ClusterDescription(cluster_id, live, self.principal, release)

    def rights(self, topics: Collection[str]) -> Rights:
        """Tell what we may do on the cluster and on these topics."""
        return rights.rights(self._gateway, topics)

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Describe the named topics, or all that we may see."""
        found = topics.topics(self._gateway, names, self._address(broker))
        return self._named("topics", found)

    def topic_configs(
        self, names: Collection[str], *, broker: int | None = None
    ) -> Mapping[str, Mapping[str, ConfigEntry] | Refusal]:
        """Read every effective config of the named topics."""
        found = configs.topic_configs(self._gateway, names, self._address(broker))
        return self._named("topic_configs", found)

    def acls(self, *, broker: int | None = None) -> frozenset[AclBinding]:
        """List all ACLs; raises Unread."""
        return acls.acls(self._gateway, self._address(broker), self.principal)

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        """Ask what would come of creating the topics."""
        found = creation.preview_topics(self._gateway, specs) if specs else {}
        return self._named("preview_topics", found)

    def expect_writes(self) -> None:
        """Do nothing: the connections are open already."""

    def may_be_limited(self) -> bool:
        """Whether a quota on changes of topics may hold for us (KIP-599)."""
        return mutation_quota.may_be_limited(self._gateway, self._settings.client_id)

    def create_topics(
        self, specs: Sequence[NewTopic], *, is_strict: bool = False
    ) -> Mapping[str, Verdict]:
        """Create topics; if `is_strict`, those above a quota are refused and not delayed."""
        found = creation.create_topics(self._gateway, specs, is_strict=is_strict) if specs else {}
        return self._named("create_topics", found)

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, Verdict]:
        """Grow topics."""
        if not specs:
            return {}
        found = changes.create_partitions(self._gateway, specs, validate_only=validate_only)
        return self._named("create_partitions", found)

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, Verdict]:
        """Set and reset single config keys."""
        if not specs:
            return {}
        found = changes.alter_topic_configs(self._gateway, specs, validate_only=validate_only)
        return self._named("alter_topic_configs", found)

    def delete_topics(self, refs: Sequence[TopicRef]) -> Mapping[str, Verdict]:
        """Delete topics, by topic id where one is given."""
        found = deletion.delete_topics(self._gateway, refs) if refs else {}
        return self._named("delete_topics", found)

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, Verdict]:
        """Add ACLs."""
        return self._named("create_acls", acls.create_acls(self._gateway, bindings))

    def delete_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, Verdict]:
        """Delete exactly these ACLs."""
        return self._named("delete_acls", acls.delete_acls(self._gateway, bindings))

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all quotas of clients; raises Unread."""
        return quotas.quotas(self._gateway, self._address(broker))

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, Verdict]:
        """Set and remove single quotas."""
        if not specs:
            return {}
        found = quotas.alter_quotas(self._gateway, specs, validate_only=validate_only)
        return self._named("alter_quotas", found)

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials; raises Unread."""
        return scram.scram_users(self._gateway, self._address(broker))

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, Verdict]:
        """Set and delete SCRAM credentials."""
        found = scram.alter_scram_users(self._gateway, specs)
        return self._named("alter_scram_users", found)

    def config_names(self, scope: ConfigScope) -> frozenset[str] | None:
        """Name all that has configs of its own in the scope; raises Unread."""
        return resource_configs.config_names(self._gateway, scope)

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read every effective config of brokers, groups and metrics subscriptions."""
        found = resource_configs.configs(self._gateway, resources, self._address, broker)
        return self._named("configs", found)

    def alter_configs(
        self, specs: Sequence[ResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, Verdict]:
        """Set and reset single config keys of them."""
        found = resource_configs.alter_configs(
            self._gateway, specs, self._address, validate_only=validate_only
        )
        return self._named("alter_configs", found)

    def versions(self, *, broker: int | None = None) -> NodeVersions:
        """Tell the APIs and features that a broker offers."""
        return features.versions(self._gateway, self._address(broker))

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Mapping[str, Verdict]:
        """Bring features of the cluster to levels."""
        found = features.update_features(self._gateway, updates, validate_only=validate_only)
        return self._named("update_features", found)

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Tell what stands in topics and who uses it."""
        from kplan.kafka.wire import usage  # noqa: PLC0415 - few commands ask

        return usage.topic_use(self._gateway, names) if names else {}

    def group_names(self) -> frozenset[str]:
        """Name all groups; raises Unread."""
        from kplan.kafka.wire import usage  # noqa: PLC0415 - as above

        return usage.group_names(self._gateway, self.principal)

    def groups(self) -> Mapping[int, tuple[ListedGroup, ...] | Refusal]:
        """List the groups that each broker coordinates; else why not."""
        from kplan.kafka.wire import groups  # noqa: PLC0415 - as above

        return groups.groups(self._gateway)

    def describe_groups(self, names: Collection[str]) -> Mapping[str, GroupDescription | Refusal]:
        """Describe groups."""
        from kplan.kafka.wire import groups  # noqa: PLC0415 - as above

        found = groups.describe_groups(self._gateway, names) if names else {}
        return self._named("describe_groups", found)

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition."""
        from kplan.kafka.wire import record_deletion  # noqa: PLC0415 - as above

        found = record_deletion.delete_records(self._gateway, before) if before else {}
        return self._named("delete_records", found)

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Moving]:
        """List the partitions whose replicas are being moved; raises Unread."""
        from kplan.kafka.wire import moves  # noqa: PLC0415 - few commands ask

        return moves.reassignments(self._gateway, partitions)

    def reassign(self, targets: Targets) -> Mapping[TopicPartition, Verdict]:
        """Begin to move replicas, or go back."""
        from kplan.kafka.wire import moves  # noqa: PLC0415 - as above

        return self._named("reassign", moves.reassign(self._gateway, targets) if targets else {})

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Tell the bytes that each broker holds of each partition; raises Unread."""
        from kplan.kafka.wire import moves  # noqa: PLC0415 - as above

        return moves.replica_sizes(self._gateway, topics) if topics else {}

    def elect_leaders(
        self, partitions: Collection[TopicPartition] | None, election: Election
    ) -> Mapping[TopicPartition, Verdict]:
        """Elect leaders."""
        from kplan.kafka.wire import moves  # noqa: PLC0415 - as above

        if partitions is not None and not partitions:
            return {}
        found = moves.elect_leaders(self._gateway, partitions, election)
        return self._named("elect_leaders", found)

    def quorum(self) -> Quorum:
        """Tell who leads the metadata of the cluster; raises Unread."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - few commands ask

        return quorum.quorum(self._gateway)

    def unregister_broker(self, broker: int) -> Verdict:
        """Take a broker out of the cluster."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - as above

        found = {str(broker): quorum.unregister_broker(self._gateway, broker)}
        return self._named("unregister_broker", found)[str(broker)]

    def add_voter(self, voter: Voter) -> Verdict:
        """Let a controller that follows vote."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - as above

        found = {voter.id: quorum.add_voter(self._gateway, voter)}
        return self._named("add_voter", found)[voter.id]

    def remove_voter(self, voter: int, directory: str) -> Verdict:
        """Let a controller vote no more."""
        from kplan.kafka.wire import quorum  # noqa: PLC0415 - as above

        found = {voter: quorum.remove_voter(self._gateway, voter, directory)}
        return self._named("remove_voter", found)[voter]

    def delegation_tokens(self) -> tuple[DelegationToken, ...]:
        """List the tokens that we may see; raises Unread."""
        from kplan.kafka.wire import delegation  # noqa: PLC0415 - few commands ask

        return delegation.tokens(self._gateway)

    def create_token(self, order: TokenOrder) -> DelegationToken | Refusal:
        """Make a token."""
        from kplan.kafka.wire import delegation  # noqa: PLC0415 - as above

        found = {order.owner: delegation.create_token(self._gateway, order)}
        return self._named("create_token", found)[order.owner]

    def renew_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token be valid for longer."""
        from kplan.kafka.wire import delegation  # noqa: PLC0415 - as above

        return delegation.renew_token(self._gateway, hmac, span_ms)

    def expire_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token end sooner."""
        from kplan.kafka.wire import delegation  # noqa: PLC0415 - as above

        return delegation.expire_token(self._gateway, hmac, span_ms)

    def lacks(self, methods: Collection[str]) -> Mapping[str, Lack]:
        """Tell which of these methods the cluster cannot serve."""
        return capabilities.lacks(self._gateway, methods) if methods else {}

    def close(self) -> None:
        """Close all connections; whoever waits for an answer gets none."""
        self._gateway.close()

    def _named(
        self, method: str, answers: Mapping[Item, Answer]
    ) -> Mapping[Item, Answer | Refusal]:
        return named(method, answers, self.principal)

    def _address(self, broker: int | None) -> Endpoint | None:
        """Find where a broker listens; asked anew where it is not known yet."""
        if broker is None:
            return None
        if broker not in self._addresses:
            self.describe()
        if broker not in self._addresses:
            raise Unreachable(f"Broker {broker} is not there.")
        return self._addresses[broker]
