"""DescribeCluster, and API versions and features of nodes (KIP-97, KIP-584)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.request import AuthorizedOperations, ItemResult
from kplan.cluster.settings import Downgrade, FeatureUpdate, MissingApi, NodeVersions
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import CONTROLLER_ENDPOINTS, Gateway
from kplan.kafka.wire.messages import Api, Message, broker_refusal, item_result
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import ClusterError, Refusal, UnsupportedError
from kplan.model.state import Broker

ClusterNodes = tuple[str, tuple[Broker, ...], str]
"""Cluster id, nodes by id, and the release of the cluster's metadata, "" if unknown."""


def describe_cluster(gateway: Gateway) -> tuple[ClusterNodes, tuple[Broker, ...]]:
    """Return the live brokers, and those that are fenced (KIP-1073).

    Raises:
        UnreachableError: no node answers.
        AuthError: a node refused us.
        ClusterError: the answer was an error.

    """
    return gateway.read(_describe_brokers)


def describe_controllers(gateway: Gateway) -> tuple[ClusterNodes, int | None]:
    """Return the registered controllers, and which one is active: None during an election.

    Raises:
        UnsupportedError: the cluster is too old to be asked so (K919-10).
        UnreachableError, AuthError, ClusterError: as `describe`.

    """
    return gateway.read(_describe_controllers)


def _describe_brokers(
    node: Connection, deadline: Deadline
) -> tuple[ClusterNodes, tuple[Broker, ...]]:
    if messages.DESCRIBE_CLUSTER.key in node.versions:
        request = messages.DESCRIBE_CLUSTER.request(include_fenced_brokers=True)
        answer = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
        if answer.error_code:
            raise ClusterError(f"{broker_refusal(answer.error_code, answer.error_message)}")
        by_state: dict[bool, list[Message]] = {True: [], False: []}
        for each in answer.brokers:
            by_state[bool(each.is_fenced)].append(each)
        live, fenced = (
            _sort_nodes((each.broker_id, each) for each in by_state[state])
            for state in (False, True)
        )
        return (answer.cluster_id or "", live, _node_release(node)), fenced
    # before Kafka 2.8
    request = messages.METADATA.request(topics=[], allow_auto_topic_creation=False)
    answer = node.ask(messages.METADATA, request, deadline)
    rows = ((each.node_id, each) for each in answer.brokers)
    return (answer.cluster_id or "", _sort_nodes(rows), _node_release(node)), ()


def _describe_controllers(node: Connection, deadline: Deadline) -> tuple[ClusterNodes, int | None]:
    request = messages.DESCRIBE_CLUSTER.request(endpoint_type=CONTROLLER_ENDPOINTS)
    answer = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
    if answer.error_code in _UNSUPPORTED_CODES:
        raise UnsupportedError(
            f"{node.endpoint} is a controller of a cluster whose metadata.version "
            f"({_node_release(node) or 'unknown'}) is too old for a direct connection: "
            f"{broker_refusal(answer.error_code, answer.error_message)}",
            hint="Direct connections require metadata.version 3.7; until then connect to brokers "
            "with bootstrap_servers.",
        )
    if answer.error_code:
        raise ClusterError(f"{broker_refusal(answer.error_code, answer.error_message)}")
    active = answer.controller_id if answer.controller_id >= 0 else None
    return (answer.cluster_id or "", _nodes(answer), _node_release(node)), active


_UNSUPPORTED_CODES = frozenset({35, 42, 115})
"""UNSUPPORTED_VERSION is what Kafka answers; KIP-919 has UNSUPPORTED_ENDPOINT_TYPE. A controller
that does not know the question, as before KIP-919, takes it for one about brokers: 42."""


def _nodes(answer: Message) -> tuple[Broker, ...]:
    return _sort_nodes((each.broker_id, each) for each in answer.brokers)


def _sort_nodes(rows: Iterable[tuple[int, Message]]) -> tuple[Broker, ...]:
    nodes = (Broker(number, each.host, each.port, each.rack or "") for number, each in rows)
    return tuple(sorted(nodes, key=lambda node: node.id))


def _node_release(node: Connection) -> str:
    return kafka_release(node.features.get("metadata.version", 0))


_RELEASES = (
    (30, "4.3"),
    (28, "4.2"),
    (26, "4.1"),
    (22, "4.0"),
    (21, "3.9"),
    (20, "3.8"),
    (15, "3.7"),
    (12, "3.6"),
    (9, "3.5"),
    (8, "3.4"),
    (4, "3.3"),
)
"""First metadata.version level of each release (Kafka: MetadataVersion)."""


def kafka_release(level: int) -> str:
    """Name the release that brought a level of metadata.version, "" if unknown."""
    return next((release for first, release in _RELEASES if level >= first), "")


_OPERATIONS = (
    "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
_FIRST_BIT = 3
"""The bit of READ; those below mean unknown, any and all (Kafka: AclOperation)."""
_FIRST_VERSION_WITH_BITS = 8
"""The first version of Metadata that tells the bits."""


def read_rights(gateway: Gateway, topics: Collection[str]) -> AuthorizedOperations:
    """Read the authorized operations on the cluster and on the visible topics.

    Raises:
        UnreachableError: no one answers.
        AuthError: a node refused us.

    """
    return gateway.read(lambda node, deadline: _read_node_rights(node, deadline, topics))


def _read_node_rights(
    node: Connection, deadline: Deadline, topics: Collection[str]
) -> AuthorizedOperations:
    if messages.METADATA.key not in node.versions or messages.DESCRIBE_CLUSTER.key not in (
        node.versions
    ):
        return AuthorizedOperations()
    if node.versions[messages.METADATA.key][1] < _FIRST_VERSION_WITH_BITS:
        return AuthorizedOperations()
    request = messages.DESCRIBE_CLUSTER.request(include_cluster_authorized_operations=True)
    cluster = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
    bits = None if cluster.error_code else cluster.authorized_operations
    on_topics: dict[str, frozenset[str]] = {}
    if topics:
        wanted = messages.METADATA.request.MetadataRequestTopic
        request = messages.METADATA.request(
            topics=[wanted(topic_id=messages.ZERO_UUID, name=name) for name in sorted(topics)],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        for each in node.ask(messages.METADATA, request, deadline).topics:
            if not each.error_code and (bits_of := each.authorized_operations) is not None:
                on_topics[each.name] = operation_names(bits_of)
    # No bit at all is the answer to those who may not describe the cluster: it tells nothing.
    return AuthorizedOperations(operation_names(bits) if bits else None, on_topics)


def read_controller_rights(gateway: Gateway) -> AuthorizedOperations:
    """Read the authorized operations from controllers; topics are left out. Raises as `rights`."""
    request = messages.DESCRIBE_CLUSTER.request(
        include_cluster_authorized_operations=True, endpoint_type=CONTROLLER_ENDPOINTS
    )
    answer = gateway.ask(messages.DESCRIBE_CLUSTER, request)
    bits = None if answer.error_code else answer.authorized_operations
    return AuthorizedOperations(operation_names(bits) if bits else None)


def operation_names(bits: Collection[int]) -> frozenset[str]:
    """Name the operations whose bits are set."""
    return frozenset(name for place, name in enumerate(_OPERATIONS, _FIRST_BIT) if place in bits)


_UPGRADE_TYPES = {Downgrade.NONE: 1, Downgrade.SAFE: 2, Downgrade.UNSAFE: 3}
"""Kafka's numbers (FeatureUpdate.UpgradeType)."""


def read_versions(gateway: Gateway, at: Endpoint | None) -> NodeVersions:
    """Return the node's description from the handshake."""
    return gateway.read(_read_node_versions, at=at)


def _read_node_versions(node: Connection, deadline: Deadline) -> NodeVersions:
    # Asked again: levels of features change while a connection lives.
    answer = _ask_versions(node, deadline)
    supported = {
        each.name: (each.min_version, each.max_version) for each in answer.supported_features or ()
    }
    return NodeVersions(
        apis={
            messages.api_name(each.api_key): (each.min_version, each.max_version)
            for each in sorted(answer.api_keys, key=lambda each: int(each.api_key))
        },
        supported=dict(sorted(supported.items())),
        finalized={
            each.name: each.max_version_level
            for each in sorted(answer.finalized_features or (), key=lambda each: str(each.name))
        },
        release=kafka_release(supported.get("metadata.version", (0, 0))[1]),
    )


def _ask_versions(node: Connection, deadline: Deadline) -> Message:
    return node.ask(messages.API_VERSIONS, messages.versions_request(), deadline)


def update_features(
    gateway: Gateway, updates: Sequence[FeatureUpdate], *, validate_only: bool
) -> Mapping[str, ItemResult]:
    """Update features one by one: together they would succeed or fail as one (version 2)."""
    return {
        each.name: _update_feature(gateway, each, validate_only=validate_only) for each in updates
    }


def _update_feature(gateway: Gateway, update: FeatureUpdate, *, validate_only: bool) -> ItemResult:
    part = messages.UPDATE_FEATURES.request.FeatureUpdateKey
    request = messages.UPDATE_FEATURES.request(
        timeout_ms=gateway.operation_timeout_ms,
        feature_updates=[
            part(
                feature=update.name,
                max_version_level=update.level,
                upgrade_type=_UPGRADE_TYPES[update.downgrade],
            )
        ],
        validate_only=validate_only,
    )
    answer = gateway.send(messages.UPDATE_FEATURES, request)
    if isinstance(answer, Refusal):
        return answer
    own = [each for each in answer.results or () if each.error_code]
    said = own[0] if own else answer
    return item_result(said.error_code, said.error_message, throttle_ms=answer.throttle_time_ms)


METHOD_APIS: Mapping[str, Api] = {
    "topics": messages.METADATA,
    "topic_configs": messages.DESCRIBE_CONFIGS,
    "topic_config_fallbacks": messages.DESCRIBE_CONFIGS,
    "acls": messages.DESCRIBE_ACLS,
    "preview_topics": messages.PREVIEW_TOPICS,
    "create_topics": messages.CREATE_TOPICS,
    "create_partitions": messages.CREATE_PARTITIONS,
    "alter_topic_configs": messages.ALTER_CONFIGS,
    "delete_topics": messages.DELETE_TOPICS,
    "create_acls": messages.CREATE_ACLS,
    "delete_acls": messages.DELETE_ACLS,
    "quotas": messages.DESCRIBE_QUOTAS,
    "alter_quotas": messages.ALTER_QUOTAS,
    "scram_users": messages.DESCRIBE_SCRAM,
    "alter_scram_users": messages.ALTER_SCRAM,
    "configs": messages.DESCRIBE_CONFIGS,
    "alter_configs": messages.ALTER_CONFIGS,
    "update_features": messages.UPDATE_FEATURES,
    "reassign": messages.ALTER_REASSIGNMENTS,
    "reassignments": messages.LIST_REASSIGNMENTS,
    "elect_leaders": messages.ELECT_LEADERS,
    "unregister_broker": messages.UNREGISTER_BROKER,
    "add_voter": messages.ADD_VOTER,
    "remove_voter": messages.REMOVE_VOTER,
    "delegation_tokens": messages.DESCRIBE_TOKENS,
    "create_token": messages.CREATE_TOKEN,
    "renew_token": messages.RENEW_TOKEN,
    "expire_token": messages.EXPIRE_TOKEN,
}
"""Methods that depend on an API; those that are left out work everywhere, or say what they can."""

METHOD_LEVELS: Mapping[str, tuple[int, str]] = {"alter_scram_users": (11, "3.5-IV2")}
"""Levels of metadata.version that methods take beside an API: brokers offer it below, too, and
refuse every item (KIP-900)."""

_METADATA_VERSION = "metadata.version"


def unsupported_methods(gateway: Gateway, methods: Collection[str]) -> Mapping[str, MissingApi]:
    """Check the API versions of the methods against those of the node."""
    offered, features = gateway.read(lambda node, _: (node.versions, node.features))
    found: dict[str, MissingApi] = {}
    for name in sorted(methods):
        api = METHOD_APIS.get(name)
        if api is None:
            continue
        lack = MissingApi(api.name, (api.oldest, api.newest), offered.get(api.key))
        level, release = METHOD_LEVELS.get(name, (0, ""))
        if not _is_compatible(api, lack.offered):
            found[name] = lack
        elif features.get(_METADATA_VERSION, level) < level:
            now = f"the cluster is at level {features[_METADATA_VERSION]}"
            why = f"{api.name} needs {_METADATA_VERSION} at level {level} ({release}); {now}"
            found[name] = replace(lack, reason=why)
    return found


def _is_compatible(api: Api, offered: tuple[int, int] | None) -> bool:
    return offered is not None and api.oldest <= offered[1] and offered[0] <= api.newest
