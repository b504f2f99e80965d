"""Which right each method of the port takes, and how a missing one is told."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from kplan.cluster.errors import Handling, handling
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
    "alter_quotas": ("ALTER_CONFIGS", "CLUSTER"),
    "alter_scram_users": ("ALTER", "CLUSTER"),
    "update_features": ("ALTER", "CLUSTER"),
}
"""The operation and the type of resource (Kafka: "Authorization and ACLs", the table)."""


def missing_right(principal: str, method: str, item: object = "") -> str:
    """Say who lacks what; "" is a principal that cannot be told from here."""
    operation, resource_type = RIGHTS[method]
    on = f"TOPIC {item}" if resource_type == "TOPIC" else resource_type
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
