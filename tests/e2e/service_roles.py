"""What a Schema Registry, ksqlDB and MirrorMaker do with their modules, and what they must not."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported
    ConfigResource,
    ResourceType,
)

from tests.e2e.actors import Actor
from tests.e2e.roles import Outputs, Role, Users, configure, create, grow, remove


def fill_and_scan(users: Users, actor: Actor, *topics: str) -> None:
    """Write a record to each topic as the administrator, and read one of each."""
    users.admin.write(*topics)
    actor.scan(*topics)


def schema_registry(users: Users, outputs: Outputs) -> Role:
    alice, properties = users.alice, outputs["registry_properties"]
    topic = properties["kafkastore.topic"]
    member = {"group.id": properties["schema.registry.group.id"]}

    def join() -> None:
        users.admin.write(topic)
        alice.read(topic, properties=member)

    return Role(
        allowed={
            f"start: check that {topic} is compacted": lambda: _describe_configs(alice, topic),
            f"start: read {topic}": lambda: fill_and_scan(users, alice, topic),
            f"register: write {topic}": lambda: alice.write(topic),
            f"join the group {member['group.id']}": join,
        },
        refused={
            "TOPIC": {
                "create one": lambda: create(alice, "_schemas2"),
                "write as someone else": lambda: users.bob.write(topic),
                "remove its topic": lambda: remove(alice, topic),
            },
            "GROUP": {
                "use another": lambda: alice.read(topic, properties={"group.id": "registry2"})
            },
        },
    )


def ksqldb(users: Users, outputs: Outputs) -> Role:
    alice, numbers = users.alice, count()
    service = outputs["server_properties"]["ksql.service.id"]
    log = outputs["server_properties"]["ksql.logging.processing.topic.name"]
    prefix = f"_confluent-ksql-{service}"
    command = f"{prefix}_command_topic"
    create(users.admin, command)
    group = {"isolation.level": "read_committed"}

    def query() -> None:
        """Run a query with a repartition, and end it."""
        number = next(numbers)
        name = f"{prefix}query_CTAS_{number}"
        repartition = f"{name}-repartition"
        users.admin.write("mart.orders")
        create(alice, repartition)
        alice.move(
            "mart.orders",
            f"{name}-1",
            repartition,
            "mart.orders.count",
            properties={**group, "group.id": name},
            more={},
        )
        remove(alice, repartition)
        alice.administer(lambda admin: admin.delete_consumer_groups([name]))

    return Role(
        allowed={
            "start: read the settings of a broker (kafka-cluster)": lambda: (
                _describe_broker_configs(alice)
            ),
            f"a statement: write {command} as {service}": lambda: alice.transact(service, command),
            f"log: write {log}": lambda: alice.write(log),
            f"a stream of the log: read {log}": lambda: fill_and_scan(users, alice, log),
            "compare the retention of mart.orders.count": lambda: _describe_configs(
                alice, "mart.orders.count"
            ),
            f"query {prefix} mart.orders mart.orders.count": query,
        },
        refused={
            "TOPIC": {
                "create one": lambda: create(alice, "mart.new"),
                "write what it reads": lambda: alice.write("mart.orders"),
                "read what it writes": lambda: alice.scan("mart.orders.count"),
                "use another service": lambda: alice.write("_confluent-ksql-other"),
            },
            "TRANSACTIONAL_ID": {"use another": lambda: alice.transact("other_", command)},
        },
    )


def mirror_maker(users: Users, outputs: Outputs) -> Role:
    source, target, numbers = users.alice, users.bob, count()
    syncs, prefix = outputs["offset_syncs_topic"], outputs["mirrored_prefix"]
    configs, offsets, status = (
        f"mm2-{each}.eu.internal" for each in ("configs", "offsets", "status")
    )
    checkpoints = f"{prefix}checkpoints.internal"
    member = {"group.id": f"{prefix.rstrip('.')}-mm2"}

    def mirror() -> None:
        """Make the copy of a topic, add a partition and set its configs."""
        name = f"{prefix}shop.new-{next(numbers)}"
        create(target, name)
        target.write(name)
        grow(target, name)
        configure(target, name)

    def committed(actor: Actor, topic: str, properties: Mapping[str, str]) -> None:
        users.admin.write(topic)
        actor.read(topic, properties=properties)

    def offsets_of_group() -> None:
        users.admin.write("shop.orders")
        users.admin.read("shop.orders", properties={"group.id": "billing"})
        source.administer(
            lambda admin: admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions("billing")]
            )
        )

    def copy_of_orders() -> None:
        _create_if_missing(users.admin, f"{prefix}shop.orders")
        committed(target, f"{prefix}shop.orders", {"group.id": "billing"})

    return Role(
        allowed={
            "read shop. and heartbeats": lambda: fill_and_scan(
                users, source, "shop.orders", "heartbeats"
            ),
            "copy the configs of shop.": lambda: _describe_configs(source, "shop.orders"),
            "copy the configs of heartbeats": lambda: _describe_configs(source, "heartbeats"),
            f"write {syncs}": lambda: source.write(syncs),
            f"read {syncs}": lambda: fill_and_scan(users, source, syncs),
            "read the offsets of billing": offsets_of_group,
            f"write {configs}, {offsets}, {status}, heartbeats": lambda: target.write(
                configs, offsets, status, checkpoints, "heartbeats"
            ),
            f"start: read {configs}, {offsets}, {status}, {checkpoints}": lambda: fill_and_scan(
                users, target, configs, offsets, status, checkpoints
            ),
            f"join the group {member['group.id']}": lambda: committed(target, status, member),
            f"mirror to {prefix}": mirror,
            f"commit the offsets of billing on {prefix}": copy_of_orders,
        },
        refused={
            "TOPIC": {
                "write what it mirrors": lambda: source.write("shop.orders"),
                "create beside the prefix": lambda: create(target, "shop.new"),
                "remove a copy": lambda: remove(target, checkpoints),
            },
            "GROUP": {
                "use another": lambda: target.read(status, properties={"group.id": "dr-mm2"})
            },
        },
    )


SERVICE_ROLES: Mapping[str, Callable[[Users, Outputs], Role]] = {
    "schema-registry": schema_registry,
    "ksqldb": ksqldb,
    "mirror-maker": mirror_maker,
}
"""By example."""


def _create_if_missing(actor: Actor, name: str) -> None:
    with suppress(KafkaException):
        create(actor, name)


def _describe_configs(actor: Actor, name: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, name)
    actor.administer(lambda admin: admin.describe_configs([resource]))


def _describe_broker_configs(actor: Actor) -> None:
    resource = ConfigResource(ResourceType.BROKER, "1")
    actor.administer(lambda admin: admin.describe_configs([resource]))
