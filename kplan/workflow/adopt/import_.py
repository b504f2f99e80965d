"""Use case: import one existing object; how a live object becomes an owned one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.model.address import Address
from kplan.model.errors import UsageError
from kplan.model.resource import Identity, Resource
from kplan.model.snapshot import LiveObject
from kplan.model.state import OwnedObject
from kplan.workflow.clusters import read_clusters
from kplan.workflow.open_project import OpenProject, check_no_journal, open_project
from kplan.workflow.ports import Ports, Project


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


def import_object(project: Project, address: str, identity: str, ports: Ports) -> OwnedObject:
    """Own a live object at an address of the configuration; nothing on the cluster changes.

    `identity` is what the provider's import takes: the topic name, or the seven parts of an ACL
    `principal|host|operation|permission|type|name|pattern`.

    Raises:
        UsageError: the address is not declared or taken, or the object does not exist.

    """
    with open_project(project, ports) as found:
        check_no_journal(project)
        resource = _find_resource(found, address)
        _check_not_owned(found, resource, identity)
        owned = _read_live_object(found, resource, Identity(identity))
        state = found.state
        project.store.write(
            replace(
                found.clusters.record_ids(state),
                serial=state.serial + 1,
                owned=merge_owned(state.owned, [owned]),
            ),
        )
    return owned


def _find_resource(found: OpenProject, text: str) -> Resource:
    try:
        address = Address.parse(text)
    except ValueError as fault:
        raise UsageError(f"{fault}.", "Write it as kafka_topic.NAME.") from None
    for resource in found.configuration.resources:
        if resource.address == address:
            return resource
    raise UsageError(f"The configuration declares no {address}.", "Write the resource block first.")


def _check_not_owned(found: OpenProject, resource: Resource, identity: str) -> None:
    address = resource.address
    for held in found.state.owned.values():
        if held.address == address:
            raise UsageError(f"{address} owns {held.identity} already.")
        if held.key == (address.kind, identity, resource.provider):
            raise UsageError(f"{identity} is owned at {held.address} already.")


def _read_live_object(found: OpenProject, resource: Resource, identity: Identity) -> OwnedObject:
    kind = kind_of_address(resource.address)
    wanted = {resource.provider: {kind.name: [identity]}}
    snapshot = read_clusters(found.clusters, wanted, (kind,))[resource.provider]
    if kind.name in snapshot.unread:
        raise UsageError(f"{kind.noun} objects could not be read: {snapshot.unread[kind.name]}")
    live = snapshot.live_object(kind.name, identity)
    if live is None:
        raise UsageError(
            f'The cluster has no {kind.noun} "{identity}".',
            "An ACL is named principal|host|operation|permission|type|name|pattern.",
        )
    return adopt_object(resource, live)
