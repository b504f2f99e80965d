"""What kplan owns, and what it last applied."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from kplan.model.address import Address
from kplan.model.plan import Key
from kplan.model.resource import Identity


@dataclass(frozen=True, slots=True)
class Owned:
    """One object kplan created or adopted.

    `value` is what was last applied (the kind's dataclass). `is_protected` remembers
    `prevent_destroy` after its block is gone. `is_pending` marks an acknowledged change that not
    every broker served yet. `declared_at` is `file:line` of the block. `provider` is the key of
    the connection to its cluster, as in `Resource`.
    """

    address: Address
    identity: Identity
    value: object
    uid: str = ""
    is_protected: bool = False
    is_pending: bool = False
    declared_at: str = ""
    provider: str = ""

    @property
    def key(self) -> Key:
        """What tells the object from others, as for a `Change`."""
        return self.address.kind, self.identity, self.provider


@dataclass(frozen=True, slots=True)
class OutputValue:
    """One output as last applied. A sensitive value is never stored: it is None."""

    value: object
    type: object = "dynamic"
    is_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """A plan that was applied. `at` is ISO 8601, `by` who or what run.

    A saved plan is applied once, and known by its nonce; a plan that was never saved has none.
    """

    nonce: str
    checksum: str
    at: str
    by: str


@dataclass(frozen=True, slots=True)
class State:
    """Ownership of the objects of one cluster, or of some, by one configuration.

    `lineage` is a UUID made once; `serial` grows with every write. `cluster_id` is that of the
    connection without alias, "" until the first apply; `clusters` has those of the others by key.
    `applied_plans` holds the latest, newest last.
    """

    lineage: str
    serial: int = 0
    cluster_id: str = ""
    owned: Mapping[Address, Owned] = field(default_factory=dict)
    outputs: Mapping[str, OutputValue] = field(default_factory=dict)
    applied_plans: tuple[AppliedPlan, ...] = ()
    clusters: Mapping[str, str] = field(default_factory=dict)

    def on(self, provider: str) -> Self:
        """Give the state of the objects on one cluster."""
        owned = {at: each for at, each in self.owned.items() if each.provider == provider}
        return replace(self, owned=owned)

    def cluster_of(self, provider: str) -> str:
        """Give the id of the cluster behind a connection, "" where nothing was applied to it."""
        return self.clusters.get(provider, "") if provider else self.cluster_id
