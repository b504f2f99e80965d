"""Which operation each method of the port requires, and messages for a missing one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from kplan.cluster.errors import Handling, handling
from kplan.cluster.settings import ConfigResource, ConfigScope
from kplan.model.errors import Refusal

ItemT = TypeVar("ItemT")
ResponseT = TypeVar("ResponseT")

REQUIRED_OPERATIONS: Mapping[str, tuple[str, str]] = {
    "topics": ("DESCRIBE", "TOPIC"),
    "topic_configs": ("DESCRIBE_CONFIGS", "TOPIC"),
    "topic_config_fallbacks": ("DESCRIBE_CONFIGS", "TOPIC"),
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
    "partition_offsets": ("DESCRIBE", "TOPIC"),
    "commit_offsets": ("READ", "GROUP"),
    "delete_offsets": ("DELETE", "GROUP"),
    "delete_groups": ("DELETE", "GROUP"),
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


def required_operation(method: str, item: object = "") -> tuple[str, str, str]:
    """Return the operation, resource type and resource name that an item requires."""
    operation, resource_type = REQUIRED_OPERATIONS[method]
    if isinstance(item, ConfigResource) and item.scope is ConfigScope.GROUP:
        return operation, "GROUP", item.name
    if resource_type in ("TOPIC", "GROUP", "USER"):
        return operation, resource_type, str(item[0] if isinstance(item, tuple) else item)
    return operation, resource_type, ""


def missing_operation_message(principal: str, method: str, item: object = "") -> str:
    """Say who lacks what; "" is a principal that cannot be known from here."""
    operation, resource_type, name = required_operation(method, item)
    on = f"{resource_type} {name}".rstrip()
    return f"Principal {principal or 'of this connection'} needs {operation} on {on}."


def name_missing_operations(
    method: str, answers: Mapping[ItemT, ResponseT], principal: str
) -> Mapping[ItemT, ResponseT | Refusal]:
    """Name the missing right in every answer that was denied (trap 14).

    What brokers write there is nothing, or a dump of the request object of theirs.
    """
    denied = {
        item: replace(each, message=missing_operation_message(principal, method, item))
        for item, each in answers.items()
        if isinstance(each, Refusal) and handling(each) is Handling.DENIED
    }
    return {**answers, **denied} if denied else answers


def name_group_operations(
    method: str, group: str, answers: Mapping[ItemT, ResponseT], principal: str
) -> Mapping[ItemT, ResponseT | Refusal]:
    """Name the missing right in answers about partitions of a group: on it, or on the topic."""

    def message(item: ItemT, denied: Refusal) -> str:
        if denied.error == "TOPIC_AUTHORIZATION_FAILED" and isinstance(item, tuple):
            who = principal or "of this connection"
            return f"Principal {who} needs READ on TOPIC {item[0]}."
        return missing_operation_message(principal, method, group)

    denied = {
        item: replace(each, message=message(item, each))
        for item, each in answers.items()
        if isinstance(each, Refusal) and handling(each) is Handling.DENIED
    }
    return {**answers, **denied} if denied else answers
