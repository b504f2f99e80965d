"""Where a cluster in memory puts replicas and how it numbers topics: the same every time."""

import base64
import hashlib
from itertools import count, zip_longest

from kplan.cluster.specs import Assignment
from kplan.model.snapshot import Broker


def placed(
    brokers: tuple[Broker, ...], partitions: int, replication_factor: int, first: int = 0
) -> Assignment:
    """Deal replicas over racks and brokers in turn; `first` is the number of the first partition.

    Each partition starts one broker further on, so that leaders spread evenly.
    """
    ring = _across_racks(brokers)
    return tuple(
        tuple(ring[(partition + step) % len(ring)] for step in range(replication_factor))
        for partition in range(first, first + partitions)
    )


def topic_id(cluster_id: str, number: int) -> str:
    """Make the id of the numbered topic: 22 characters, as Kafka prints its UUIDs (KIP-516)."""
    texts = (_uuid_text(f"{cluster_id}/{number}/{attempt}") for attempt in count())
    return next(text for text in texts if not text.startswith("-"))  # no id reads as an option


def _uuid_text(seed: str) -> str:
    digest = hashlib.sha256(seed.encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _across_racks(brokers: tuple[Broker, ...]) -> tuple[int, ...]:
    racks: dict[str, list[int]] = {}
    for broker in sorted(brokers, key=lambda each: (each.rack, each.id)):
        racks.setdefault(broker.rack, []).append(broker.id)
    turns = zip_longest(*racks.values())
    return tuple(each for turn in turns for each in turn if each is not None)
