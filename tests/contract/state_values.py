"""States of the sizes that matter to a topic."""

import random

from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.resource import Identity
from kplan.model.state import OwnedObject, State

LINEAGE = "6f1c2d7e-0a4b-4c39-9a55-2f0d5b1c7e11"


def small(serial: int, name: str = "orders") -> State:
    return _state([name], serial)


def bulky(serial: int, count: int = 1000, noise_bytes: int = 700) -> State:
    """Make a state that compression leaves large: with the defaults about 750 KB of 4.5 MB."""
    draw = random.Random(serial)
    return _state([f"t{each}-{draw.randbytes(noise_bytes).hex()}" for each in range(count)], serial)


def _state(names: list[str], serial: int) -> State:
    owned = [
        OwnedObject(Address("kafka_topic", name), Identity(name), Topic(name, 3, 3))
        for name in names
    ]
    return State(LINEAGE, serial, "cluster-1", {each.address: each for each in owned})
