"""What the configuration declares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType

from kplan.model.address import Address
from kplan.model.source import SourceRange

Identity = NewType("Identity", str)
"""Canonical name of an object on the cluster: the topic name, or the seven parts of an ACL."""

Path = tuple[str, ...]
"""Where a value stands inside an object: `("config", "retention.ms")`."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The `lifecycle` block. An ignored path covers everything below it; `()` covers all.

    `create_before_destroy` is None where nothing is said.
    """

    prevent_destroy: bool = False
    ignore_changes: tuple[Path, ...] = ()
    create_before_destroy: bool | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One instance of a resource block, evaluated and decoded.

    `value` is the frozen dataclass of the kind. `ranges` tells where each top-level attribute (and
    each key of a map attribute, as a two-step path) was written; `sensitive` names the paths whose
    values must not be shown. `provider` is the key of the connection to its cluster: "" for the
    provider block without alias, else `west` or `by_region["eu"]`.
    """

    address: Address
    identity: Identity
    value: object
    declared_at: SourceRange
    lifecycle: Lifecycle = Lifecycle()
    ranges: Mapping[Path, SourceRange] = field(default_factory=dict)
    sensitive: frozenset[Path] = frozenset()
    provider: str = ""

    @property
    def key(self) -> tuple[str, Identity, str]:
        """What tells the object from others, as for a `Change`."""
        return self.address.kind, self.identity, self.provider
