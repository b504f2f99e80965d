"""Controllers queried directly, without brokers (KIP-919), and the APIs they have."""

import time
from collections.abc import Collection, Mapping, Sequence

from kplan.cluster.errors import CLIENT_INVALID, client_refusal
from kplan.cluster.request import (
    AuthorizedOperations,
    ClusterDescription,
    ControllerAccess,
    ItemResult,
    TopicDescription,
)
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    MissingApi,
    QuotaEntity,
    ScramUser,
)
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import cluster, resource_config
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.gateway import ELECTION_TIMEOUT_S, RETRY_PAUSE_S
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import ClusterError, NotListableError, Refusal, UnreadableError

CONTROLLER_CHANGES: Mapping[str, str] = {
    "create_acls": "ACLs",
    "delete_acls": "ACLs",
    "alter_topic_configs": "configs of existing topics",
    "alter_configs": "configs of all brokers together, of groups and of metrics subscriptions, "
    "log levels of controllers",
    "update_features": "features",
    "unregister_broker": "the registration of brokers",
    "add_voter": "the voters of the quorum",
    "remove_voter": "the voters of the quorum",
}
"""Methods of the port that change something and that controllers serve, with what they change.

They take some others too; left out is what cannot be read back there (decision 0035).
"""

CONTROLLER_READS: Mapping[str, str] = {
    "describe": "the controllers, in place of brokers",
    "rights": "those on the cluster; none on topics",
    "topics": "whether a named topic exists, from its configs",
    "topic_configs": "as brokers do",
    "acls": "as brokers do",
    "config_names": "nothing: topics are requested by name",
    "configs": "all but those of a single broker",
    "versions": "as brokers do",
    "quorum": "as brokers do; the active controller returns it",
    "missing_apis": "everything that is not among the changes above",
    "kafka_connect": "as with brokers: it is beside them",
    "schema_registry": "as with brokers: it is beside them",
}
"""Methods that read, with what controllers tell."""

BROKER_ONLY: Mapping[str, str] = {
    "preview_topics": "the topic could not be read back",
    "create_topics": "the topic could not be read back",
    "create_partitions": "partitions could not be read back",
    "delete_topics": "controllers do not return what would be lost",
    "topic_config_fallbacks": "topics fall back to what brokers are set to",
    "quotas": "DescribeClientQuotas is not offered",
    "alter_quotas": "controllers do not return what it would change",
    "scram_users": "DescribeUserScramCredentials is offered and answered with -1",
    "alter_scram_users": "controllers do not return what it would change",
    "topic_use": "offsets and groups are with brokers",
    "group_names": "groups are with brokers",
    "groups": "groups are with brokers",
    "describe_groups": "groups are with brokers",
    "partition_offsets": "records are with brokers",
    "commit_offsets": "groups are with brokers",
    "delete_offsets": "groups are with brokers",
    "delete_groups": "groups are with brokers",
    "delete_records": "records are with brokers",
    "reassignments": "replicas are with brokers",
    "reassign": "controllers do not return the replicas",
    "replica_sizes": "replicas are with brokers",
    "elect_leaders": "leaders are brokers",
    "delegation_tokens": "Kafka's own tool refuses it too",
    "create_token": "controllers do not list them",
    "renew_token": "controllers do not list them",
    "expire_token": "controllers do not list them",
}
"""Methods that take a broker, and why: as measured on Kafka 4.3."""

CHANGEABLE = ", ".join(dict.fromkeys(CONTROLLER_CHANGES.values()))
"""What controllers can be asked to change, in words."""

_BROKERS_HINT = "Connect to brokers with bootstrap_servers."


class ControllerCluster(WireCluster):
    """A real cluster through those controllers of the connection that answer.

    Requests go to the active controller: what it has told is what counts, and it shows at once
    what was changed.
    """

    def describe(self) -> ClusterDescription:
        """Return cluster id, release, principal and controllers; waits while one is elected."""
        deadline = Deadline.after(min(ELECTION_TIMEOUT_S, self._settings.timeouts.request_s))
        found, active = cluster.describe_controllers(self._gateway)
        while active is None and deadline.has_time_left:
            time.sleep(RETRY_PAUSE_S)
            found, active = cluster.describe_controllers(self._gateway)
        cluster_id, nodes, release = found
        if active is None:
            known = ", ".join(f"{each.id} at {each.host}:{each.port}" for each in nodes)
            raise ClusterError(
                f"The cluster has no active controller. Registered are {known}.",
                hint="A majority of them has to run.",
            )
        self._addresses = {each.id: Endpoint(each.host, each.port) for each in nodes}
        self._gateway.add_endpoints(self._addresses.values(), self._addresses.get(active))
        direct = ControllerAccess(nodes, active, self._settings.allows_direct, CHANGEABLE)
        return ClusterDescription(cluster_id, (), self._settings.principal, release, direct)

    def rights(self, topics: Collection[str]) -> AuthorizedOperations:  # noqa: ARG002 - not told by controllers
        """Return the authorized operations on the cluster."""
        return cluster.read_controller_rights(self._gateway)

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Return which of the named topics exist, without their layout."""
        if names is None:
            raise NotListableError("A controller does not list topics.", hint=_BROKERS_HINT)
        return {
            name: each if isinstance(each, Refusal) else TopicDescription(name, "", ())
            for name, each in self.topic_configs(names, broker=broker).items()
        }

    def topic_config_fallbacks(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, str] | Refusal]:
        """Return nothing: only brokers know their defaults for topics."""
        return {name: {} for name in wanted}

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:  # noqa: ARG002
        """Refuse: controllers take quotas, and do not show which there are (K919-16)."""
        raise UnreadableError("Controllers do not return quotas.", hint=_BROKERS_HINT)

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:  # noqa: ARG002
        """Refuse: they offer DescribeUserScramCredentials, and answer -1 (measured on 4.3)."""
        raise UnreadableError("Controllers do not return SCRAM credentials.", hint=_BROKERS_HINT)

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read configs; those of a single broker are known to that broker alone (K919-15)."""
        known = {str(each) for each in self._known_addresses()}
        foreign = [each for each in resources if _is_single_broker(each) and each.name not in known]
        untold = client_refusal(
            CLIENT_INVALID, "Controllers do not return the configs of a single broker."
        )
        found = super().configs([each for each in resources if each not in foreign], broker=broker)
        return {**dict.fromkeys(foreign, untold), **found}

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        """Set and reset keys through the active controller, levels of loggers at their node."""
        found = resource_config.alter_configs(
            self._gateway,
            [each for each in specs if each.resource.scope is not ConfigScope.LOGGER],
            lambda _: None,
            validate_only=validate_only,
        )
        loggers = [each for each in specs if each.resource.scope is ConfigScope.LOGGER]
        of_nodes = resource_config.alter_configs(
            self._gateway, loggers, self._address, validate_only=validate_only
        )
        return self._name_missing_rights("alter_configs", {**found, **of_nodes})

    def missing_apis(self, methods: Collection[str]) -> Mapping[str, MissingApi]:
        """Return which of these methods are not served directly (K919-12)."""
        left_out = {
            name: _broker_only_lack(name)
            for name in sorted(set(methods) - CONTROLLER_CHANGES.keys())
        }
        return {**super().missing_apis(set(methods) & CONTROLLER_CHANGES.keys()), **left_out}

    def _known_addresses(self) -> Mapping[int, Endpoint]:
        if not self._addresses:
            self.describe()
        return self._addresses


def _broker_only_lack(method: str) -> MissingApi:
    api = cluster.METHOD_APIS.get(method)
    why = BROKER_ONLY.get(method, "it is not served")
    reason = (
        f"This takes a broker: {why}. Through a direct connection controllers change {CHANGEABLE}"
    )
    return MissingApi(api.name if api else method, (0, 0), None, reason)


def _is_single_broker(resource: ConfigResource) -> bool:
    return resource.scope in {ConfigScope.BROKER, ConfigScope.LOGGER} and bool(resource.name)
