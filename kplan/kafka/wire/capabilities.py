"""Which APIs the methods of the port take, and which of them a cluster lacks (KIP-97)."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kplan.cluster.setting_specs import Lack
from kplan.kafka.wire import messages, moves_messages, quorum_messages, token_messages
from kplan.kafka.wire.api import Api
from kplan.kafka.wire.gateway import Gateway

TAKES: Mapping[str, Api] = {
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
    "reassign": moves_messages.REASSIGN,
    "reassignments": moves_messages.REASSIGNMENTS,
    "elect_leaders": moves_messages.ELECT,
    "unregister_broker": quorum_messages.UNREGISTER_BROKER,
    "add_voter": quorum_messages.ADD_VOTER,
    "remove_voter": quorum_messages.REMOVE_VOTER,
    "delegation_tokens": token_messages.DESCRIBE_TOKENS,
    "create_token": token_messages.CREATE_TOKEN,
    "renew_token": token_messages.RENEW_TOKEN,
    "expire_token": token_messages.EXPIRE_TOKEN,
}
"""Methods that depend on an API; those that are left out work everywhere, or say what they can."""

LEVELS: Mapping[str, tuple[int, str]] = {"alter_scram_users": (11, "3.5-IV2")}
"""Levels of metadata.version that methods take beside an API: brokers offer it below, too, and
refuse every item (KIP-900)."""

_METADATA = "metadata.version"


def lacks(gateway: Gateway, methods: Collection[str]) -> Mapping[str, Lack]:
    """Hold what the methods take against what the node that is asked offers."""
    offered, features = gateway.read(lambda node, _: (node.versions, node.features))
    found: dict[str, Lack] = {}
    for name in sorted(methods):
        api = TAKES.get(name)
        if api is None:
            continue
        lack = Lack(api.name, (api.oldest, api.newest), offered.get(api.key))
        level, release = LEVELS.get(name, (0, ""))
        if not _serves(api, lack.offered):
            found[name] = lack
        elif features.get(_METADATA, level) < level:
            now = f"the cluster is at level {features[_METADATA]}"
            why = f"{api.name} needs {_METADATA} at level {level} ({release}); {now}"
            found[name] = replace(lack, reason=why)
    return found


def _serves(api: Api, offered: tuple[int, int] | None) -> bool:
    return offered is not None and api.oldest <= offered[1] and offered[0] <= api.newest
