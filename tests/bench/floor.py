"""The raw floor: confluent-kafka's AdminClient with as few requests as possible, and nothing else.

A job returns when its last answer was there; what it waits for afterwards is visibility: every
partition with a leader, every ACL listed, or none of them left. That is what kplan waits for.

Run as `python -m tests.bench.floor read|create|change|delete BOOTSTRAP TOPICS ACLS PARTITIONS`;
prints one JSON line. `change` takes a number more, that of the change.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined] # its stubs export none
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from tests.bench.sizes import (
    CHANGED,
    CHANGES,
    CONFIG,
    Size,
    changed_value,
    more_principals,
    principals,
    readers,
    topic_names,
)

CONFIGS_A_REQUEST = 500
TOPICS_A_REQUEST = 1_000
ACLS_A_REQUEST = 1_000
PATIENCE_S = 1_200.0
Jobs = dict[str, Callable[..., float]]
ANY: Any = None
"""A filter's word for any name; the stubs of confluent-kafka know only strings."""


def read(admin: AdminClient, size: Size) -> float:
    """Read what a plan needs: all topics, the configs of ours, all ACLs."""
    names = topic_names(size)
    assert leaders(admin) >= set(names)
    for chunk in chunks(names, CONFIGS_A_REQUEST):
        describe(admin, chunk)
    assert len(listed(admin)) >= size.acls
    return time.monotonic()


def create(admin: AdminClient, size: Size) -> float:
    """Write what an apply writes, and wait until the broker serves it."""
    add_acls(admin, bindings(size))
    there = admin.list_topics(timeout=60).topics
    missing = [name for name in topic_names(size) if name not in there]
    for chunk in chunks(missing, TOPICS_A_REQUEST):
        topics = [NewTopic(name, size.partitions, 1, config=CONFIG) for name in chunk]
        wait(admin.create_topics(topics, operation_timeout=60, request_timeout=70).values())
    answered = time.monotonic()
    until(lambda: leaders(admin) >= set(topic_names(size)))
    until(lambda: listed(admin) >= set(principals(size)))
    return answered


def change(admin: AdminClient, size: Size, number: int) -> float:
    """Write what a small apply writes, and wait until the broker serves it."""
    late, value = topic_names(size)[:CHANGES], changed_value(number)
    more = more_principals(number)[-CHANGES:]
    add_acls(admin, [binding(each, late[0]) for each in more])
    entry = ConfigEntry(CHANGED, value, incremental_operation=AlterConfigOpType.SET)
    altered = [
        ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry]) for name in late
    ]
    wait(admin.incremental_alter_configs(altered, request_timeout=60).values())
    answered = time.monotonic()
    until(lambda: all(each[CHANGED].value == value for each in describe(admin, late)))
    until(lambda: listed(admin) >= set(more))
    return answered


def delete(admin: AdminClient, size: Size) -> float:
    """Delete all of it, and wait until it is gone."""
    for chunk in chunks(bindings(size), CONFIGS_A_REQUEST):
        filters = [
            AclBindingFilter(
                each.restype, each.name, each.resource_pattern_type, each.principal, each.host,
                each.operation, each.permission_type,
            )
            for each in chunk
        ]  # fmt: skip
        wait(admin.delete_acls(filters, request_timeout=60).values())
    for chunk in chunks(topic_names(size), TOPICS_A_REQUEST):
        wait(admin.delete_topics(list(chunk), operation_timeout=60, request_timeout=70).values())
    answered = time.monotonic()
    until(lambda: not set(topic_names(size)) & set(admin.list_topics(timeout=60).topics))
    until(lambda: not listed(admin) & set(principals(size)))
    return answered


def leaders(admin: AdminClient) -> set[str]:
    """Name the topics whose partitions all have a leader."""
    return {
        name
        for name, topic in admin.list_topics(timeout=60).topics.items()
        if topic.partitions and all(each.leader >= 0 for each in topic.partitions.values())
    }


def listed(admin: AdminClient) -> set[str]:
    """Name the principals of all ACLs; each of ours has one."""
    every = AclBindingFilter(
        ResourceType.ANY, ANY, ResourcePatternType.ANY, ANY, ANY,
        AclOperation.ANY, AclPermissionType.ANY,
    )  # fmt: skip
    return {each.principal for each in admin.describe_acls(every, request_timeout=60).result()}


def describe(admin: AdminClient, names: Sequence[str]) -> list[Any]:
    """Read the configs of topics."""
    asked = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    return [each.result() for each in admin.describe_configs(asked, request_timeout=60).values()]


def add_acls(admin: AdminClient, added: Sequence[AclBinding]) -> None:
    """Add ACLs."""
    for chunk in chunks(added, ACLS_A_REQUEST):
        wait(admin.create_acls(list(chunk), request_timeout=60).values())


def bindings(size: Size) -> list[AclBinding]:
    """Build the ACLs of the estate."""
    return [binding(principal, topic) for principal, topic in readers(size).items()]


def binding(principal: str, topic: str) -> AclBinding:
    """Build one."""
    return AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL,
        principal, "*", AclOperation.READ, AclPermissionType.ALLOW,
    )  # fmt: skip


def chunks(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """Cut into requests."""
    return (items[start : start + size] for start in range(0, len(items), size))


def wait(futures: Iterable[Any]) -> None:
    """Take every answer."""
    for future in futures:
        future.result()


def until(is_so: Callable[[], bool]) -> None:
    """Ask again until it is so."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("the broker never served it")
        time.sleep(0.1)


def main() -> None:
    """Measure one job."""
    job, bootstrap, topics, acls, partitions, *number = sys.argv[1:]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    begun, cpu = time.monotonic(), time.process_time()
    jobs: Jobs = {"read": read, "create": create, "change": change, "delete": delete}
    answered = jobs[job](admin, Size(int(topics), int(acls), int(partitions)), *map(int, number))
    print(
        json.dumps(
            {
                "seconds": answered - begun,
                "visible": time.monotonic() - answered,
                "cpu": time.process_time() - cpu,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
