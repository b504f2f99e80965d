"""Clusters drawn with objects in every relation to declarations and state."""

import random
from dataclasses import replace

from kplan.kinds.acl import Acl
from kplan.kinds.topic_rules import Topic
from kplan.model.resource import Resource
from kplan.model.state import OwnedObject, Snapshot
from kplan.plan.request import PlanRequest
from tests.values import acl, owned, resource, snapshot, state, topic


def drawn_world(seed: int) -> tuple[PlanRequest, Snapshot]:
    """Draw a cluster with objects in every relation to declarations and state."""
    draw = random.Random(seed)
    resources: list[Resource] = []
    held: list[OwnedObject] = []
    topics: list[tuple[Topic, str]] = []
    acls: list[Acl] = []
    for number in range(draw.choice((3, 12, 30))):
        declared = drawn_topic(draw, number)
        is_acl = draw.random() < 0.4
        value = acl(f"User:{number}") if is_acl else declared
        at = f"kafka_{'acl' if is_acl else 'topic'}.a{number}"
        if draw.random() < 0.9:
            ignored = draw.choice(((), (), (), (("config", "retention.ms"),)))
            protect = draw.random() < 0.1
            resources.append(resource(at, value, ignore=ignored, prevent_destroy=protect))
        if draw.random() < 0.7:
            other = f"{at}x" if draw.random() < 0.1 else at
            is_as_declared = is_acl or draw.random() < 0.9
            before = value if is_as_declared else replace(declared, partitions=2)
            held.append(owned(other, before, draw.choice(("", "id-1"))))
        if draw.random() < 0.1:
            continue
        if isinstance(value, Topic):
            topics.append((live_topic(draw, value), draw.choice(("", "id-1", "id-2"))))
        else:
            acls.append(value)
    unread = {"kafka_acl": "no rights"} if draw.random() < 0.1 else {}
    return PlanRequest(tuple(resources), {}, state(*held)), snapshot(topics, acls, unread)


def drawn_topic(draw: random.Random, number: int) -> Topic:
    """Draw a declared topic."""
    name = draw.choice((f"t.{number}", f"t.{number // 2}_x", f"t.{number // 2}.x"))
    counts = draw.choice(({}, {}, {"replication_factor": None}, {"partitions": None}))
    placed = draw.choice(({}, {}, {}, {"replica_assignment": ((1,), (1,), (1,))}))
    return topic(name, config={"retention.ms": "1000"}, **counts, **placed)


def live_topic(draw: random.Random, value: Topic) -> Topic:
    """Draw what is live of it."""
    config = draw.choice((value.config, value.config, {}, {"retention.ms": "2000"}))
    count = draw.choice((3, 3, 3, 6))
    layout: list[tuple[int, ...]] = [(1,) for _ in range(count)]
    if draw.random() < 0.1:
        layout[-1] = (1, 2)
    moving = tuple((2,) for _ in range(count)) if draw.random() < 0.1 else None
    return Topic(value.name, count, 1, tuple(layout), config, moving_to=moving)
