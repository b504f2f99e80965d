"""Use case: take over objects that exist already."""

from dataclasses import replace

from kplan.model.address import Address
from kplan.model.errors import UsageError
from kplan.model.resource import Identity, Resource
from kplan.model.state import OwnedObject
from kplan.workflow.adopt.adoption import adopt_object, kind_of_address, merge_owned
from kplan.workflow.clusters import read_clusters
from kplan.workflow.open_project import OpenProject, check_no_journal, open_project
from kplan.workflow.ports import Ports, Project


def import_object(project: Project, address: str, identity: str, ports: Ports) -> OwnedObject:
    """Own a live object at an address of the configuration; nothing on the cluster changes.

    `identity` is what the provider's import takes: the topic name, or the seven parts of an ACL
    `principal|host|operation|permission|type|name|pattern`.

    Raises:
        UsageError: the address is not declared or taken, or the object does not exist.

    """
    with open_project(project, ports) as found:
        check_no_journal(project)
        resource = _declared(found, address)
        _check_free(found, resource, identity)
        owned = _live(found, resource, Identity(identity))
        state = found.state
        project.store.write(
            replace(
                found.clusters.known_to(state),
                serial=state.serial + 1,
                owned=merge_owned(state.owned, [owned]),
            ),
        )
    return owned


def _declared(found: OpenProject, text: str) -> Resource:
    try:
        address = Address.parse(text)
    except ValueError as fault:
        raise UsageError(f"{fault}.", "Write it as kafka_topic.NAME.") from None
    for resource in found.configuration.resources:
        if resource.address == address:
            return resource
    raise UsageError(f"The configuration declares no {address}.", "Write the resource block first.")


def _check_free(found: OpenProject, resource: Resource, identity: str) -> None:
    address = resource.address
    for held in found.state.owned.values():
        if held.address == address:
            raise UsageError(f"{address} owns {held.identity} already.")
        if held.key == (address.kind, identity, resource.provider):
            raise UsageError(f"{identity} is owned at {held.address} already.")


def _live(found: OpenProject, resource: Resource, identity: Identity) -> OwnedObject:
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
