"""Owning a live object, without touching it."""

from collections.abc import Iterable, Mapping

from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.model.address import Address
from kplan.model.resource import Resource
from kplan.model.snapshot import LiveObject
from kplan.model.state import OwnedObject


def kind_of_address(address: Address) -> ResourceKind:
    """Return the kind of an address of the configuration or the state."""
    return next(each for each in KINDS if each.name == address.kind)


def adopt_object(resource: Resource, live: LiveObject) -> OwnedObject:
    """Own a live object at the address of a resource.

    What is recorded is what is live, as far as the resource speaks of it: the next plan tells how
    the two differ.
    """
    kind = kind_of_address(resource.address)
    value, _ = kind.align(live.value, resource.value)
    return OwnedObject(
        resource.address,
        kind.identify(live.value),
        value,
        uid=live.uid,
        is_protected=resource.lifecycle.prevent_destroy,
        declared_at=f"{resource.declared_at.file}:{resource.declared_at.line}",
        provider=resource.provider,
    )


def merge_owned(
    held: Mapping[Address, OwnedObject], more: Iterable[OwnedObject]
) -> dict[Address, OwnedObject]:
    """Add owned objects to those of a state, in order of address."""
    found = {**held, **{each.address: each for each in more}}
    return dict(sorted(found.items(), key=lambda item: item[0].sort_key))
