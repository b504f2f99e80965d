"""Which right each method of the port takes, and how a missing one is told."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from kplan.cluster.errors import Handling, handling
from kplan.cluster.setting_specs import ConfigResource, ConfigScope
from kplan.model.refusal import Refusal

Item = TypeVar("Item")
Answer = TypeVar("Answer")

RIGHTS: Mapping[str, tuple[str, str]] = {
    "topics": ("DESCRIBE", "TOPIC"),
    "topic_configs": ("DESCRIBE_CONFIGS", "TOPIC"),
    "preview_topics": ("CREATE", "TOPIC"),
    "create_topics": ("CREATE", "TOPIC"),
    "create_partitions": ("ALTER", "TOPIC"),
    "alter_topic_configs": ("ALTER_CONFIGS", "TOPIC"),
    "delete_topics": ("DELETE", "TOPIC"),
    "acls": ("DESCRIBE", "CLUSTER"),
    "create_acls": ("ALTER", "CLUSTER"),
    "delete_acls": ("ALTER", "CLUSTER"),
    "quotas": ("DESCRIBE_CONFIGS", "CLUSTER"),
    "alter_quotas": ("ALTER_CONFIGS", "CLUSTER"),
    "scram_users": ("DESCRIBE", "CLUSTER"),
    "alter_scram_users": ("ALTER", "CLUSTER"),
    "config_names": ("DESCRIBE_CONFIGS", "CLUSTER"),
    "configs": ("DESCRIBE_CONFIGS", "CLUSTER"),
    "alter_configs": ("ALTER_CONFIGS", "CLUSTER"),
    "update_features": ("ALTER", "CLUSTER"),
    "group_names": ("DESCRIBE", "CLUSTER"),
    "groups": ("DESCRIBE", "CLUSTER"),
    "describe_groups": ("DESCRIBE", "GROUP"),
    "quorum": ("DESCRIBE", "CLUSTER"),
    "unregister_broker": ("ALTER", "CLUSTER"),
    "add_voter": ("ALTER", "CLUSTER"),
    "remove_voter": ("ALTER", "CLUSTER"),
    "create_token": ("CREATE_TOKENS", "USER"),
    "renew_token": ("DESCRIBE", "DELEGATION_TOKEN"),
    "expire_token": ("DESCRIBE", "DELEGATION_TOKEN"),
    "delete_records": ("DELETE", "TOPIC"),
    "reassignments": ("DESCRIBE", "CLUSTER"),
    "reassign": ("ALTER", "CLUSTER"),
    "replica_sizes": ("DESCRIBE", "CLUSTER"),
    "elect_leaders": ("ALTER", "CLUSTER"),
}
"""The operation and the type of resource (Kafka: "Authorization and ACLs", the table).

Configs of a group take the operation on the group instead of the cluster.
"""


def needed(method: str, item: object = "") -> tuple[str, str, str]:
    """Say which operation an item takes, on what type of resource, and on which."""
    operation, resource_type = RIGHTS[method]
    if isinstance(item, ConfigResource) and item.scope is ConfigScope.GROUP:
        return operation, "GROUP", item.name
    if resource_type in ("TOPIC", "GROUP", "USER"):
        return operation, resource_type, str(item[0] if isinstance(item, tuple) else item)
    return operation, resource_type, ""


def missing_right(principal: str, method: str, item: object = "") -> str:
    """Say who lacks what; "" is a principal that cannot be told from here."""
    operation, resource_type, name = needed(method, item)
    on = f"{resource_type} {name}".rstrip()
    return f"Principal {principal or 'of this connection'} needs {operation} on {on}."


def named(
    method: str, answers: Mapping[Item, Answer], principal: str
) -> Mapping[Item, Answer | Refusal]:
    """Name the missing right in every answer that was denied (trap 14).

    What brokers write there is nothing, or a dump of the request object of theirs.
    """
    denied = {
        item: replace(each, message=missing_right(principal, method, item))
        for item, each in answers.items()
        if isinstance(each, Refusal) and handling(each) is Handling.DENIED
    }
    return {**answers, **denied} if denied else answers
