"""The raw floor: confluent-kafka's AdminClient with as few requests as possible, and nothing else.

A job returns when its last answer was there; what it waits for afterwards is visibility.

Run as `python -m tests.bench.floor read|create|delete BOOTSTRAP TOPICS ACLS`; prints one JSON line.
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
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from tests.bench.sizes import CONFIG, Size, principals, topic_names

CONFIGS_A_REQUEST = 500
TOPICS_A_REQUEST = 1_000
ACLS_A_REQUEST = 1_000
PATIENCE_S = 300.0
ANY: Any = None
"""A filter's word for any name; the stubs of confluent-kafka know only strings."""


def read(admin: AdminClient, size: Size) -> float:
    """Read what a plan needs: all topics, the configs of ours, all ACLs."""
    listed = admin.list_topics(timeout=60).topics
    assert set(topic_names(size)) <= set(listed)
    names = topic_names(size)
    for chunk in chunks(names, CONFIGS_A_REQUEST):
        asked = [ConfigResource(ResourceType.TOPIC, name) for name in chunk]
        wait(admin.describe_configs(asked, request_timeout=60).values())
    every = AclBindingFilter(
        ResourceType.ANY, ANY, ResourcePatternType.ANY, ANY, ANY,
        AclOperation.ANY, AclPermissionType.ANY,
    )  # fmt: skip
    assert len(admin.describe_acls(every, request_timeout=60).result()) >= size.acls
    return time.monotonic()


def create(admin: AdminClient, size: Size) -> float:
    """Write what an apply writes, and wait until the broker serves it."""
    for chunk in chunks(bindings(size), ACLS_A_REQUEST):
        wait(admin.create_acls(list(chunk), request_timeout=60).values())
    for chunk in chunks(topic_names(size), TOPICS_A_REQUEST):
        topics = [NewTopic(name, 3, 1, config=CONFIG) for name in chunk]
        wait(admin.create_topics(topics, operation_timeout=60, request_timeout=70).values())
    answered = time.monotonic()
    until(lambda: set(topic_names(size)) <= set(admin.list_topics(timeout=60).topics))
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
    return answered


def bindings(size: Size) -> list[AclBinding]:
    """Build the ACLs of the estate."""
    return [
        AclBinding(
            ResourceType.TOPIC, f"bench-{number % size.topics:05}", ResourcePatternType.LITERAL,
            principal, "*", AclOperation.READ, AclPermissionType.ALLOW,
        )
        for number, principal in enumerate(principals(size))
    ]  # fmt: skip


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
    job, bootstrap, topics, acls = sys.argv[1:]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    begun, cpu = time.monotonic(), time.process_time()
    jobs = {"read": read, "create": create, "delete": delete}
    answered = jobs[job](admin, Size(int(topics), int(acls)))
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
