"""What the users of each example under examples/ do, and what they must not.

The name of an act names what it touches, so that a test that takes an ACL away can begin with the
acts that need it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.e2e.actors import Actor

Act = Callable[[], None]
Acts = Mapping[str, Act]
Outputs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Users:
    """The users of the sandbox."""

    admin: Actor
    alice: Actor
    bob: Actor
    ci: Actor


@dataclass(frozen=True, slots=True)
class Role:
    """What an example allows, and what it does not, by the type of resource that is closed."""

    allowed: Acts
    refused: Mapping[str, Acts]


def producer(users: Users, outputs: Outputs) -> Role:
    alice, properties = users.alice, outputs["client_properties"]
    both = ("checkout.orders", "checkout.audit.logins")
    return Role(
        allowed={f"write {both}": lambda: alice.write(*both, properties=properties)},
        refused={
            "TOPIC": {
                "write another": lambda: alice.write("checkout.returns", properties=properties),
                "write beside the prefix": lambda: alice.write("checkout.auditing"),
                "read what it wrote": lambda: alice.scan("checkout.orders"),
                "create one": lambda: create(alice, "checkout.audit.new"),
                "write as someone else": lambda: users.bob.write("checkout.orders"),
            }
        },
    )


def consumer(users: Users, outputs: Outputs) -> Role:
    bob, properties = users.bob, outputs["client_properties"]
    both = ("sales.orders", "warehouse.stock")
    newer = {**properties, "group.protocol": "consumer"}

    def read(properties: Mapping[str, str]) -> None:
        users.admin.write(*both)
        bob.read(*both, properties=properties)

    return Role(
        allowed={
            f"read {both} as billing": lambda: read(properties),
            f"read {both} as billing by the protocol of KIP-848": lambda: read(newer),
        },
        refused={
            "TOPIC": {
                "read another": lambda: bob.read("sales.returns", properties=properties),
                "write": lambda: bob.write("sales.orders"),
                "read as someone else": lambda: users.alice.scan("sales.orders"),
            },
            "GROUP": {
                "use another": lambda: bob.read(*both, properties={"group.id": "billing2"}),
            },
        },
    )


def transactional_producer(users: Users, outputs: Outputs) -> Role:
    alice = users.alice
    reader, writer = outputs["consumer_properties"], outputs["producer_properties"]

    def move(source: str, name: str, target: str) -> None:
        users.admin.write("bank.payments")
        alice.move(source, name, target, properties=reader, more=writer)

    return Role(
        allowed={
            "move bank.payments to bank.bookings": lambda: move(
                "bank.payments", "booking-1", "bank.bookings"
            ),
            "move as another instance": lambda: move("bank.payments", "booking-2", "bank.bookings"),
        },
        refused={
            "TOPIC": {"write back": lambda: alice.transact("booking-1", "bank.payments")},
            "GROUP": {
                "use another": lambda: alice.read("bank.payments", properties={"group.id": "books"})
            },
            "TRANSACTIONAL_ID": {
                "use another": lambda: alice.transact("bookings", "bank.bookings"),
                "fence the service": lambda: users.bob.transact("booking-1", "bank.bookings"),
            },
        },
    )


def streams_app(users: Users, outputs: Outputs) -> Role:
    alice, numbers = users.alice, count()
    properties = outputs["streams_properties"]
    assert properties == {
        "application.id": "turnover",
        "processing.guarantee": "exactly_once_v2",
    }
    group = {"group.id": properties["application.id"], "isolation.level": "read_committed"}

    def run() -> None:
        """Do what an application with one aggregation by another key asks of the brokers."""
        number = next(numbers)
        repartition = f"turnover-by-shop-{number}-repartition"
        changelog = f"turnover-by-shop-{number}-changelog"
        users.admin.write("till.sales")
        create(alice, repartition, changelog)
        for source, *targets in (
            ("till.sales", repartition),
            (repartition, changelog, "till.turnover"),
        ):
            alice.move(source, f"turnover-6f1c-{number}", *targets, properties=group, more={})
        alice.scan(changelog)  # a new instance restores its store
        _purge(alice, repartition)

    return Role(
        allowed={"run the application": run},
        refused={
            "TOPIC": {
                "create one of another application": lambda: create(alice, "turnover2-changelog"),
                "read what it put out": lambda: alice.scan("till.turnover"),
                "write what it takes in": lambda: alice.transact("turnover-1", "till.sales"),
                "purge what it takes in": lambda: _purge(alice, "till.sales"),
            },
            "GROUP": {
                "use another": lambda: alice.read(
                    "till.sales", properties={"group.id": "turnover-"}
                )
            },
            "TRANSACTIONAL_ID": {
                "use one of another application": lambda: alice.transact(
                    "turnover2-1", "till.turnover"
                )
            },
        },
    )


def composed(users: Users, outputs: Outputs) -> Role:
    """Several modules describe the same rights; each of them is there once, and is needed."""
    alice, numbers = users.alice, count()
    group = {"group.id": outputs["streams_properties"]["application.id"]}

    def run() -> None:
        number = next(numbers)
        repartition, changelog = (f"depot-{each}-{number}" for each in ("repartition", "changelog"))
        alice.write("depot.orders")
        create(alice, repartition, changelog)
        alice.read("depot.orders", properties=group)
        alice.write(repartition, changelog, "depot.totals")
        alice.read(repartition, properties=group)
        alice.scan(changelog)
        _purge(alice, repartition)
        alice.read("depot.totals", properties=group)

    return Role(
        allowed={"run the application": run},
        refused={
            "TOPIC": {
                "write another": lambda: alice.write("depot.returns"),
                "read as someone else": lambda: users.bob.scan("depot.totals"),
            },
            "GROUP": {
                "use another": lambda: alice.read(
                    "depot.orders", properties={"group.id": "depot2"}
                ),
            },
        },
    )


def connect_cluster(users: Users, outputs: Outputs) -> Role:
    alice, worker = users.alice, outputs["worker_properties"]
    assert worker["exactly.once.source.support"] == "enabled"
    config, offsets, status = (
        worker[f"{each}.storage.topic"] for each in ("config", "offset", "status")
    )
    member = {"group.id": worker["group.id"]}
    sink = {"group.id": "connect-warehouse"}

    def fill_and_read(topic: str, properties: Mapping[str, str]) -> None:
        users.admin.write(topic)
        alice.read(topic, properties=properties)

    def fill_and_scan() -> None:
        users.admin.write(config, offsets, status)
        alice.scan(config, offsets, status)

    return Role(
        allowed={
            f"lead: write {config}": lambda: alice.transact("connect-cluster-integration", config),
            f"tell {status}": lambda: alice.write(status),
            f"start: read {config}, {offsets}, {status}": fill_and_scan,
            f"join the group {worker['group.id']}": lambda: fill_and_read(status, member),
            f"source: write crm.customers and {offsets} as integration-crm-0": lambda: (
                alice.transact("integration-crm-0", "crm.customers", offsets)
            ),
            "sink: read web.orders as connect-warehouse": lambda: fill_and_read("web.orders", sink),
            "sink: reject to web.orders.rejected": lambda: alice.write("web.orders.rejected"),
        },
        refused={
            "TOPIC": {
                "create one": lambda: create(alice, "integration-new"),
                "write what a sink reads": lambda: alice.write("web.orders"),
                "read what a source writes": lambda: alice.scan("crm.customers"),
            },
            "GROUP": {
                "run an undeclared sink": lambda: alice.read(
                    "web.orders", properties={"group.id": "connect-lake"}
                )
            },
            "TRANSACTIONAL_ID": {
                "run an undeclared source": lambda: alice.transact(
                    "integration-billing-0", "crm.customers"
                )
            },
        },
    )


def team_namespace(users: Users, outputs: Outputs) -> Role:
    alice, bob, ci, numbers = users.alice, users.bob, users.ci, count()
    shipments, invoices = outputs["topics"]["shipments"], outputs["topics"]["invoices"]

    def read(reader: Actor, topic: str, group: str) -> None:
        users.admin.write(topic)
        reader.read(topic, properties={"group.id": group})

    def maintain() -> None:
        name = f"logistics.new-{next(numbers)}"
        create(ci, name)
        grow(ci, name)
        configure(ci, name)
        remove(ci, name)

    def remove_group() -> None:
        group = f"logistics.old-{next(numbers)}"
        read(users.admin, shipments, group)
        ci.administer(lambda admin: admin.delete_consumer_groups([group]))

    return Role(
        allowed={
            f"alice writes {shipments}": lambda: alice.write(shipments),
            f"alice reads {shipments}": lambda: read(alice, shipments, "logistics.routing"),
            "alice has transactions": lambda: alice.transact("logistics.routing", shipments),
            "ci maintains topics": maintain,
            "ci removes a group": remove_group,
            f"bob reads {shipments}": lambda: read(bob, shipments, "finance.costs"),
            f"bob reads {invoices}": lambda: read(bob, invoices, "finance.dunning"),
            f"bob writes {invoices}": lambda: bob.write(invoices),
            "bob has transactions": lambda: bob.transact("finance.dunning", invoices),
        },
        refused={
            "TOPIC": {
                "a guest writes": lambda: bob.write(shipments),
                "a neighbour reads": lambda: alice.scan(invoices),
                "a member creates": lambda: create(alice, "logistics.new"),
                "a member grows": lambda: grow(alice, shipments),
                "a member configures": lambda: configure(alice, shipments),
                "a member removes": lambda: remove(alice, shipments),
                "a maintainer writes": lambda: ci.write(shipments),
                "a maintainer reads": lambda: ci.scan(shipments),
                "a maintainer works elsewhere": lambda: create(ci, "finance.new"),
            },
            "GROUP": {"a guest uses its host's": lambda: read(bob, shipments, "logistics.costs")},
            "TRANSACTIONAL_ID": {
                "a guest uses its host's": lambda: bob.transact("logistics.costs", invoices)
            },
        },
    )


def topic_set_from_yaml(users: Users, outputs: Outputs) -> Role:
    alice, names = users.alice, tuple(outputs["topics"].values())
    return Role(
        allowed={f"write {names}": lambda: alice.write(*names)},
        refused={
            "TOPIC": {
                "write one that is not in the file": lambda: alice.write("plant.pressure"),
                "read": lambda: alice.scan(names[0]),
            }
        },
    )


ROLES: Mapping[str, Callable[[Users, Outputs], Role]] = {
    "producer": producer,
    "consumer": consumer,
    "transactional-producer": transactional_producer,
    "streams-app": streams_app,
    "composed": composed,
    "connect-cluster": connect_cluster,
    "team-namespace": team_namespace,
    "topic-set-from-yaml": topic_set_from_yaml,
}
"""By example."""


def create(actor: Actor, *names: str) -> None:
    actor.administer(lambda admin: admin.create_topics([NewTopic(name, 1, 1) for name in names]))


def grow(actor: Actor, name: str) -> None:
    actor.administer(lambda admin: admin.create_partitions([NewPartitions(name, 7)]))


def configure(actor: Actor, name: str) -> None:
    entry = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    actor.administer(lambda admin: admin.incremental_alter_configs([resource]))


def remove(actor: Actor, name: str) -> None:
    actor.administer(lambda admin: admin.delete_topics([name]))


def _purge(actor: Actor, name: str) -> None:
    actor.administer(lambda admin: admin.delete_records([TopicPartition(name, 0, -1)]))
