"""Resources that the configuration declares; moved, removed and import blocks."""

from collections.abc import Mapping
from dataclasses import field
from typing import NewType

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange

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

    `value` is the frozen dataclass of the kind. `ranges` shows where each top-level attribute (and
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


def connection_name(key: str) -> str:
    """Name a connection as a configuration does: `kafka`, `kafka.west`."""
    return f"kafka.{key}" if key else "kafka"


def cluster_label(what: str, key: str) -> str:
    """Say on which cluster something is, where there is more than the one without alias."""
    return f"{what} on {connection_name(key)}" if key else what


@dataclass(frozen=True, slots=True)
class ImportBlock:
    """A live object, by its name on the cluster, to be owned at an address."""

    address: Address
    identity: Identity
    declared_at: SourceRange


@dataclass(frozen=True, slots=True)
class Refactorings:
    """All `moved`, `removed` and `import` blocks.

    `moved` holds pairs of old and new address: of a resource block, one of its instances, or a
    module. `removed` holds such addresses whose objects are forgotten and stay on the cluster.
    """

    moved: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    imports: tuple[ImportBlock, ...] = ()
