"""API versions and features of nodes (KIP-97, KIP-584), and methods that they do not support."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.request import ItemResult
from kplan.cluster.settings import Downgrade, FeatureUpdate, MissingApi, NodeVersions
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.cluster import kafka_release
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.error import verdict
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Api, Message
from kplan.kafka.wire.transport import Deadline
from kplan.model.refusal import Refusal

_UPGRADE_TYPES = {Downgrade.NONE: 1, Downgrade.SAFE: 2, Downgrade.UNSAFE: 3}
"""Kafka's numbers (FeatureUpdate.UpgradeType)."""


def read_versions(gateway: Gateway, at: Endpoint | None) -> NodeVersions:
    """Return what a node said of itself when the connection was made."""
    return gateway.read(_read_node_versions, at=at)


def _read_node_versions(node: Connection, deadline: Deadline) -> NodeVersions:
    # Asked anew: levels of features change while a connection lives.
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
    return verdict(said.error_code, said.error_message, throttle_ms=answer.throttle_time_ms)


METHOD_APIS: Mapping[str, Api] = {
    "topics": messages.METADATA,
    "topic_configs": messages.DESCRIBE_CONFIGS,
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
    """Hold what the methods take against what the node that is asked offers."""
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
