"""The value of a topic: what is declared of it, and what is live."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from kplan.cluster.request import Assignment
from kplan.kinds.schema import Attribute, InternalField
from kplan.model.dataclass import dataclass

THROTTLED_REPLICAS = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
)
"""Configs that a reassignment sets and takes away again; nobody means them to last."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. Counts left out are the broker's choice (KIP-464); an assignment implies them.

    A live topic has all of them, `config` then holds only the keys the topic itself overrides.
    `is_generated` says that kplan worked the assignment out: it is planned, and nobody declared it.
    A live topic whose replicas are being moved stands where it stood before, and `moving_to` says
    where it goes.
    """

    name: Annotated[str, Attribute("Name of the topic.", forces_replacement=True)]
    partitions: Annotated[
        int | None, Attribute("Number of partitions; it can only grow.", "number")
    ] = None
    replication_factor: Annotated[
        int | None, Attribute("Number of replicas of each partition.", "number")
    ] = None
    replica_assignment: Annotated[
        Assignment | None,
        Attribute(
            "Broker ids per partition, instead of the counts; the first is the preferred leader.",
            "list(list(number))",
        ),
    ] = None
    config: Annotated[
        Mapping[str, str], Attribute("Configs the topic overrides.", "map(string)")
    ] = field(default_factory=dict)
    placement: Annotated[
        Mapping[str, str] | None,
        Attribute(
            "How kplan places replicas: { strategy = rack-aware, balanced-leaders, in-rack or "
            "static }.",
            "map(string)",
            is_omitted_if_unset=True,
        ),
    ] = None
    is_generated: Annotated[bool, InternalField()] = False
    moving_to: Annotated[Assignment | None, InternalField()] = None

    @property
    def partition_count(self) -> int | None:
        """Number of partitions, declared or implied."""
        return self.partitions if self.replica_assignment is None else len(self.replica_assignment)

    @property
    def replica_count(self) -> int | None:
        """Number of replicas of each partition, declared or implied."""
        return (
            len(self.replica_assignment[0]) if self.replica_assignment else self.replication_factor
        )

    @property
    def strategy(self) -> str:
        """How replicas are placed, "" where nothing says so."""
        return (self.placement or {}).get("strategy", "")
