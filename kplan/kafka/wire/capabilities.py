"""Which APIs the methods of the port take, and which of them a cluster lacks (KIP-97)."""

from collections.abc import Collection, Mapping

from kplan.cluster.setting_specs import Lack
from kplan.kafka.wire import messages, moves_messages
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Api

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
}
"""Methods that depend on an API; those that are left out work everywhere, or say what they can."""


def lacks(gateway: Gateway, methods: Collection[str]) -> Mapping[str, Lack]:
    """Hold what the methods take against what the node that is asked offers."""
    offered = gateway.read(lambda node, _: node.versions)
    return {
        name: Lack(api.name, (api.oldest, api.newest), offered.get(api.key))
        for name in sorted(methods)
        if (api := TAKES.get(name)) is not None and not _serves(api, offered.get(api.key))
    }


def _serves(api: Api, offered: tuple[int, int] | None) -> bool:
    return offered is not None and api.oldest <= offered[1] and offered[0] <= api.newest
