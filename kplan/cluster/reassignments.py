"""Replicas on their way to other brokers, and elections of leaders, in Kafka's words (KIP-455)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from kplan.cluster.usage import TopicPartition

Replicas = tuple[int, ...]
Targets = Mapping[TopicPartition, Replicas | None]
"""Where replicas are to stand; None cancels what is under way."""


class Election(IntEnum):
    """Which leaders may be elected (KIP-460); UNCLEAN takes one that lacks records."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Moving:
    """A partition whose replicas are being moved: all of them, those to come and those to go."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def target(self) -> Replicas:
        """Where replicas will stand."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def origin(self) -> Replicas:
        """Where replicas stood; which of them came first, Kafka does not keep."""
        return tuple(each for each in self.replicas if each not in self.adding)
