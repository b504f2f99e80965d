"""Topics as KIP-201 describes them, and every other object as its attributes."""

from collections.abc import Mapping, Sequence

from kplan.cluster.placement import placed
from kplan.cluster.specs import Assignment
from kplan.kinds.schema import document, schema_fields
from kplan.kinds.topic import Topic
from kplan.model.snapshot import Broker

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that Kafka itself marks internal."""


def facts(
    value: object | None,
    brokers: Sequence[Broker],
    live: object | None = None,
    uid: str = "",
) -> Mapping[str, object] | None:
    """Write an object as policies see it: its attributes, without the secrets of its kind.

    A topic has its whole state (K201-03, K201-04). `live` is the topic as it stands, if it does:
    partitions that are there stay where they are. Assignments that are not declared are those
    that a generator would make, so that limits per broker can be checked.
    """
    if value is None:
        return None
    found: dict[str, object] = {
        **document(value),
        **{each.name: None for each in schema_fields(type(value)) if each.attribute.is_sensitive},
    }
    if isinstance(value, Topic):
        found |= _topic_state(value, brokers, live if isinstance(live, Topic) else None)
        found["topic_id"] = uid
    return found


def _topic_state(topic: Topic, brokers: Sequence[Broker], live: Topic | None) -> dict[str, object]:
    declared = topic.replica_assignment
    assignments = declared if declared is not None else _generated(topic, brokers, live)
    partitions, factor = topic.partitions, topic.replication_factor
    if assignments:
        partitions, factor = len(assignments), len(assignments[0])
    return {
        "partitions": partitions,
        "replication_factor": factor,
        "assignments": [list(each) for each in assignments],
        "generated_replica_assignments": declared is None or topic.is_generated,
        "internal": topic.name in INTERNAL,
    }


def _generated(topic: Topic, brokers: Sequence[Broker], live: Topic | None) -> Assignment:
    partitions, factor = topic.partitions, topic.replication_factor
    held = () if live is None else live.replica_assignment or ()
    held = held if factor is None or not held or len(held[0]) == factor else ()
    wanted = partitions if partitions is not None else len(held)
    copies = factor if factor is not None else len(held[0]) if held else None
    if copies is None or not 0 < copies <= len(brokers):
        return held  # not known, or more than there are brokers: these will say so
    more = placed(tuple(brokers), max(0, wanted - len(held)), copies, len(held))
    return (*held, *more)
