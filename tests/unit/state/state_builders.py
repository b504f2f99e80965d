"""Values the tests of the state room are made of."""

from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.diagnostic import SourceRange
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Batch, Change, Plan, PlanBasis, Step
from kplan.model.resource import Identity
from kplan.model.state import OwnedObject, State

LINEAGE = "6f1c2d7e-0a4b-4c39-9a55-2f0d5b1c7e11"


def topic(name: str = "orders", partitions: int | None = 3) -> Topic:
    return Topic(name, partitions, 3, config={"retention.ms": "604800000"})


def owned(name: str = "orders", key: str | int | None = None, partitions: int = 3) -> OwnedObject:
    return OwnedObject(
        Address("kafka_topic", name, key),
        Identity(name),
        topic(name, partitions),
        uid="4L6g3nShT-eMCtKX86sw",
        is_protected=True,
        declared_at="topics.tf:12",
    )


def state(*objects: OwnedObject, serial: int = 41, cluster_id: str = "cluster-1") -> State:
    return State(LINEAGE, serial, cluster_id, {each.address: each for each in objects})


def many(count: int, serial: int) -> State:
    return state(*(owned(f"topic-{number}") for number in range(count)), serial=serial)


def creation(name: str = "orders") -> Change:
    place = SourceRange("topics.tf", 12, 1, 18, 2)
    address = Address("kafka_topic", name)
    return Change(
        address, "kafka_topic", Identity(name), Action.CREATE, None, topic(name), declared_at=place
    )


def plan(*changes: Change, serial: int = 41) -> Plan:
    step = Step(40, "create_topics")
    return Plan(
        PlanBasis("digest", LINEAGE, serial, "cluster-1"),
        changes,
        (Batch("kafka_topic", step, changes),) if changes else (),
        checksum="5c2e-91ab",
        created_at="2026-08-04T10:00:00+00:00",
    )


def applied(change: Change) -> Outcome:
    return Outcome(change, OutcomeStatus.APPLIED, None, 1, 31, uid=f"id-of-{change.identity}")
