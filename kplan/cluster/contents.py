"""What a cluster in memory holds, and what its brokers are set to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kplan.cluster.faults import Item
from kplan.cluster.reassignments import Moving
from kplan.cluster.resource_configs import FINALIZED
from kplan.cluster.setting_specs import ConfigResource, QuotaEntity, ScramUser
from kplan.cluster.specs import AclBinding, Assignment, Verdict
from kplan.cluster.usage import TopicPartition
from kplan.model.snapshot import Broker

Key = TypeVar("Key", bound=Item)
"""What names an item of a request."""

MAX_RECORDS = 10_000
"""What one request may write on the controller (Kafka: MAX_RECORDS_PER_USER_OP)."""


@dataclass(frozen=True, slots=True)
class HeldTopic:
    """A topic on the controller; `config` holds its own overrides only."""

    topic_id: str
    assignment: Assignment
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldCredential:
    """A SCRAM credential, with the password that a real cluster would hold salted."""

    iterations: int
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Contents:
    """All objects at one moment. A write makes new contents, so that an old view stays as it was.

    `made` counts the topics ever created; topic ids follow from it. `moves` holds what is being
    moved, with how many lists it still takes; `leaders` those that came about by elections.
    """

    topics: Mapping[str, HeldTopic] = field(default_factory=dict)
    acls: frozenset[AclBinding] = frozenset()
    made: int = 0
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    scram: Mapping[ScramUser, HeldCredential] = field(default_factory=dict)
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=lambda: dict(FINALIZED))
    moves: Mapping[TopicPartition, tuple[Moving, int]] = field(default_factory=dict)
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerDefaults:
    """What the brokers give to a topic that does not say (KIP-464).

    `topic_configs` holds, under the names that topics use, the values that the brokers' own
    configuration files set.
    """

    partitions: int = 1
    replication_factor: int = 1
    topic_configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Site:
    """What stays as it is while objects come and go. `fenced` brokers are registered but down."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    defaults: BrokerDefaults = BrokerDefaults()
    fenced: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer(Generic[Key]):
    """Contents after a request, were it to be carried out, and the verdict on each item."""

    contents: Contents
    verdicts: dict[Key, Verdict]


def registered(count: int, racks: tuple[str, ...] = ()) -> tuple[Broker, ...]:
    """Make brokers 1 to `count`; racks are dealt out in turn."""
    return tuple(
        Broker(each, "127.0.0.1", 9091 + each, racks[(each - 1) % len(racks)] if racks else "")
        for each in range(1, count + 1)
    )
