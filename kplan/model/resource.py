"""Resources that the configuration declares; moved, removed and import blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import NewType, Self

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
    provider block without alias, else `west` or `by_region["eu"]`. `others` are further resources
    that declare the very same object, which is planned once, at this address.
    """

    address: Address
    identity: Identity
    value: object
    declared_at: SourceRange
    lifecycle: Lifecycle = Lifecycle()
    ranges: Mapping[Path, SourceRange] = field(default_factory=dict)
    sensitive: frozenset[Path] = frozenset()
    provider: str = ""
    others: tuple[Self, ...] = ()

    @property
    def key(self) -> tuple[str, Identity, str]:
        """The key of the object, as for a `Change`."""
        return self.address.kind, self.identity, self.provider

    @property
    def declarations(self) -> tuple[Self, ...]:
        """List all resources that declare the object, this one first."""
        return (self, *self.others)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """List the addresses that declare the object, that of this resource first."""
        return tuple(each.address for each in self.declarations)

    def led_by(self, address: Address) -> Self:
        """Return the same object as declared at another of its addresses."""
        chosen = next(each for each in self.declarations if each.address == address)
        rest = tuple(each for each in self.declarations if each is not chosen)
        return replace(chosen, others=tuple(replace(each, others=()) for each in rest))


def merge_declarations(found: Sequence[Resource]) -> Resource:
    """Return equal declarations as one object, at the first address.

    It is protected if one of them protects it, and created before another is deleted if one asks.
    """
    ordered = sorted(found, key=lambda each: each.address.sort_key)
    orders = {each.lifecycle.create_before_destroy for each in ordered}
    lifecycle = Lifecycle(
        any(each.lifecycle.prevent_destroy for each in ordered),
        tuple(dict.fromkeys(path for each in ordered for path in each.lifecycle.ignore_changes)),
        True if True in orders else False if False in orders else None,
    )
    first, *rest = (replace(each, lifecycle=lifecycle) for each in ordered)
    return replace(first, others=tuple(rest))


def connection_name(key: str) -> str:
    """Name a connection as a configuration does: `kafka`, `kafka.west`."""
    return f"kafka.{key}" if key else "kafka"


def unread_words(what: str) -> tuple[str, str]:
    """Return words for a kind, or an object as KIND/NAME, that could not be read, and a pronoun."""
    return (what, "it") if "/" in what else (f"{what} objects", "them")


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
