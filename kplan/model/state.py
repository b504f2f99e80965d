"""State: owned objects and outputs; and the snapshot of a cluster."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from itertools import count
from typing import Self

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import Refusal
from kplan.model.outcome import Outcome
from kplan.model.plan import Action, Change, ObjectKey
from kplan.model.resource import Identity, Path


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """One object kplan created or adopted.

    `value` is what was last applied (the kind's dataclass). `is_protected` remembers
    `prevent_destroy` after its block is gone. `is_pending` marks an acknowledged change that not
    every broker served yet. `declared_at` is `file:line` of the block. `provider` is the key of
    the connection to its cluster, as in `Resource`. `others` are the further addresses that
    declare it: it is deleted with the last of them. `sensitive` are the paths in `value` that were
    declared as sensitive, which are never shown.
    """

    address: Address
    identity: Identity
    value: object
    uid: str = ""
    is_protected: bool = False
    is_pending: bool = False
    declared_at: str = ""
    provider: str = ""
    others: tuple[Address, ...] = ()
    sensitive: frozenset[Path] = frozenset()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """List the addresses that declare the object, the one it is owned at first."""
        return (self.address, *self.others)

    def led_by(self, address: Address) -> Self:
        """Return the same object as owned at another of its addresses."""
        rest = tuple(each for each in self.addresses if each != address)
        return replace(self, address=address, others=rest)

    def without(self, addresses: Collection[Address]) -> Self | None:
        """Return the rest after some addresses have released the object, None for nothing."""
        kept = tuple(each for each in self.addresses if each not in addresses)
        return replace(self, address=kept[0], others=kept[1:]) if kept else None

    @property
    def key(self) -> ObjectKey:
        """The key of the object, as for a `Change`."""
        return self.address.kind, self.identity, self.provider


OwnedModules = Mapping[ObjectKey, tuple[str, ...]]
"""In which module each owned object is declared, as in an address."""


@dataclass(frozen=True, slots=True)
class OutputValue:
    """One output as last applied. A sensitive value is never stored: it is None."""

    value: object
    type: object = "dynamic"
    is_sensitive: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is known to be null: versions before stored such outputs, too."""
        return self.value is None and not self.is_sensitive


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """A plan that was applied. `at` is ISO 8601, `by` the user or job.

    A saved plan is applied once, and known by its nonce; a plan that was never saved has none.
    `policy_principal` is the one that policies evaluated it for, "" for the one connected.
    """

    nonce: str
    checksum: str
    at: str
    by: str
    policy_principal: str = ""


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
    owned: Mapping[Address, OwnedObject] = field(default_factory=dict)
    outputs: Mapping[str, OutputValue] = field(default_factory=dict)
    applied_plans: tuple[AppliedPlan, ...] = ()
    clusters: Mapping[str, str] = field(default_factory=dict)

    def for_provider(self, provider: str) -> Self:
        """Return the state of the objects on one cluster."""
        owned = {at: each for at, each in self.owned.items() if each.provider == provider}
        return replace(self, owned=owned)

    @property
    def modules(self) -> OwnedModules:
        """The module that declares each owned object."""
        return {each.key: each.address.module for each in self.owned.values()}

    def cluster_id_of(self, provider: str) -> str:
        """Return the id of the cluster behind a connection, "" where nothing was applied to it."""
        return self.clusters.get(provider, "") if provider else self.cluster_id


@dataclass(frozen=True, slots=True)
class StateDiff:
    """Addresses that one state owns and the other does not, or otherwise, in order."""

    added: tuple[Address, ...] = ()
    changed: tuple[Address, ...] = ()
    removed: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class StateVersion:
    """One state among its backups. `written_at` is ISO 8601 in UTC.

    `diff` is to the version before it, None for the oldest. `read_error` says why the file cannot
    be read; what it holds is unknown then.
    """

    path: str
    written_at: str
    serial: int = 0
    lineage: str = ""
    object_count: int = 0
    diff: StateDiff | None = None
    is_current: bool = False
    read_error: str = ""


def diff_owned(
    before: Mapping[Address, OwnedObject], after: Mapping[Address, OwnedObject]
) -> StateDiff:
    """Compare the ownership of two states."""
    both = before.keys() & after.keys()
    return StateDiff(
        _sort_addresses(after.keys() - before.keys()),
        _sort_addresses(each for each in both if before[each] != after[each]),
        _sort_addresses(before.keys() - after.keys()),
    )


def _sort_addresses(addresses: Iterable[Address]) -> tuple[Address, ...]:
    return tuple(sorted(addresses, key=lambda each: each.sort_key))


class ObjectStatus(StrEnum):
    """The live status of an object that the state owns."""

    AS_APPLIED = "as last applied"
    CHANGED = "changed"
    RECREATED = "created again outside kplan"
    GONE = "gone"
    HIDDEN = "hidden from us"
    UNREAD = "could not be read"

    @property
    def is_readable(self) -> bool:
        """Whether the cluster let us see."""
        return self not in {ObjectStatus.HIDDEN, ObjectStatus.UNREAD}


def owned_after(
    owned: Mapping[Address, OwnedObject], settled: Iterable[tuple[Change, Outcome | None]]
) -> dict[Address, OwnedObject]:
    """Return the owned objects after all changes have been applied, in order of address.

    A change that needed no request comes without an outcome; whether its object is seen everywhere
    is as it was. No object is lost: one that is still owned at an address that another one takes is
    deposed, which is to say owned at an address that no block declares.
    """
    pairs = tuple(settled)
    by_key = {each.key: each for each in owned.values()}
    kept = _unreleased(owned, [change for change, _ in pairs])
    coming = [pair for pair in pairs if pair[0].after is not None]
    taken = {change.address for change, _ in coming}
    found: dict[Address, OwnedObject] = {}
    for change, outcome in coming:
        place = _final_address(kept, taken, change)
        _add_object(found, owned, _owned_object(place, change, outcome, by_key.get(change.key)))
    for each in kept.values():
        _add_object(found, owned, each)
    return dict(sorted(found.items(), key=lambda item: item[0].sort_key))


def _unreleased(
    owned: Mapping[Address, OwnedObject], changes: Collection[Change]
) -> dict[Address, OwnedObject]:
    """Leave out what the changes write anew, move, replace or delete."""
    keys = {each.key for each in changes}
    replaced = {each.previous or each.address for each in changes if each.action is Action.REPLACE}
    return {at: each for at, each in owned.items() if each.key not in keys and at not in replaced}


def _final_address(
    kept: Mapping[Address, OwnedObject], taken: Collection[Address], change: Change
) -> Address:
    """Keep the old address while the new one still has an object that was not released.

    Only where nothing else takes the old one.
    """
    old = change.previous
    stays = old is not None and change.address in kept and old not in kept and old not in taken
    return old if old is not None and stays else change.address


def _add_object(
    found: dict[Address, OwnedObject], owned: Mapping[Address, OwnedObject], added: OwnedObject
) -> None:
    """Own an object at its address, or where that is taken at one of its own."""
    numbers = count(1)
    place = added.address
    while place in found or (place != added.address and place in owned):
        place = added.address.depose(next(numbers))
    found[place] = added if place == added.address else replace(added, address=place)


def _owned_object(
    place: Address, change: Change, outcome: Outcome | None, owned_object: OwnedObject | None
) -> OwnedObject:
    is_same = owned_object is not None and owned_object.key == change.key
    was_pending = owned_object is not None and is_same and owned_object.is_pending
    uid = (outcome.uid if outcome else "") or ("" if change.is_recreated else change.uid)
    return OwnedObject(
        place,
        change.identity,
        change.after,
        uid=uid,
        is_protected=change.is_protected,
        is_pending=was_pending if outcome is None else not outcome.is_verified,
        declared_at=f"{change.declared_at.file}:{change.declared_at.line}"
        if change.declared_at
        else "",
        provider=change.provider,
        others=change.others,
        sensitive=change.sensitive,
    )


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object as the cluster holds it.

    `uid` is Kafka's own id of this very incarnation (the topic id, KIP-516), else "".
    """

    value: object
    uid: str = ""


@dataclass(frozen=True, slots=True)
class KindSnapshot:
    """All objects of one kind, as far as the cluster shows them to us.

    `hidden` holds declared objects that the cluster would not show, with its answer; they are not
    absent (K4-34, K117-15). `partial` are objects that no one declares: their configs were not
    read, and are empty here.
    """

    objects: Mapping[Identity, LiveObject]
    hidden: Mapping[Identity, Refusal] = field(default_factory=dict)
    partial: frozenset[Identity] = frozenset()


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker as the cluster registers it. `rack` is "" where none is set."""

    id: int
    host: str
    port: int
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster at one moment.

    A kind that could not be read in full is in `unread` with the reason and never in
    `readings`: nothing is planned from it. `unsupported` are those of them that the cluster does
    not have at all. `taken_at` is ISO 8601 in UTC, given by the caller. `failure` says why the
    cluster cannot be had, where that is so.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    readings: Mapping[str, KindSnapshot]
    unread: Mapping[str, str] = field(default_factory=dict)
    taken_at: str = ""
    principal: str = ""
    version: str = ""
    unsupported: frozenset[str] = frozenset()
    platform: str = ""
    failure: Diagnostic | None = None

    def live_object(self, kind: str, identity: Identity) -> LiveObject | None:
        """Return the object, or None if a kind that was read in full does not contain it."""
        return self.readings[kind].objects.get(identity)
