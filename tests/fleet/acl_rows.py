"""Rows of clusters with topics and ACLs, as a run has them."""

from kplan.fleet.snapshot import ALLOW_EVERYONE, KINDS_READ, Row, object_row
from kplan.kinds.acl import Acl, AclKind

KIND = AclKind()


def about(
    cluster: str, *, everyone: str | None = "false", kinds: str = '["kafka_acl","kafka_topic"]'
) -> Row:
    found = {"super_users": '["User:root"]', KINDS_READ: kinds}
    if everyone is not None:
        found[ALLOW_EVERYONE] = everyone
    return Row(cluster, "cluster", f"id-{cluster}", attributes=found)


def acl(
    name: str,
    principal: str = "User:a",
    operation: str = "Read",
    permission: str = "Allow",
    *,
    pattern: str = "Literal",
    host: str = "*",
    sort: str = "Topic",
) -> Acl:
    return KIND.normalize(
        Acl(
            resource_name=name,
            resource_type=sort,
            resource_pattern_type_filter=pattern,
            acl_principal=principal,
            acl_host=host,
            acl_operation=operation,
            acl_permission_type=permission,
        )
    )


def row(found: Acl, cluster: str = "eu") -> Row:
    return object_row(cluster, KIND, found)


def topic(name: str, cluster: str = "eu") -> Row:
    return Row(cluster, "kafka_topic", name, "", "{}", {"name": name})
