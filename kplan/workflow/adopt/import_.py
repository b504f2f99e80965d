"""Use case: import one object, or the whole cluster with its configuration."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.cluster.topic import is_internal_topic
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.broker_config import BROKER_CONFIG
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.plan import ObjectKey
from kplan.model.resource import Identity, Resource
from kplan.model.state import LiveObject, OwnedObject, Snapshot, State
from kplan.plan.desired import hidden_problem
from kplan.workflow.adopt.block import declarable_value, generate_blocks, is_writable
from kplan.workflow.clusters import read_clusters
from kplan.workflow.open_project import OpenProject, check_no_journal, load_checked, open_project
from kplan.workflow.ports import Ports, Project
from kplan.workflow.snapshot import read_snapshot
from kplan.workflow.workspaces import OtherOwner, OtherOwners, note_unread


def kind_of_address(address: Address) -> ResourceKind:
    """Return the kind of an address of the configuration or the state."""
    return next(each for each in KINDS if each.name == address.kind)


def adopt_object(resource: Resource, live: LiveObject) -> OwnedObject:
    """Own a live object at the address of a resource.

    What is live is recorded, as far as the resource is about it: the next plan shows differences.
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
        others=resource.addresses[1:],
        sensitive=resource.sensitive,
    )


def merge_owned(
    held: Mapping[Address, OwnedObject], more: Iterable[OwnedObject]
) -> dict[Address, OwnedObject]:
    """Add owned objects to those of a state, in order of address."""
    found = {**held, **{each.address: each for each in more}}
    return dict(sorted(found.items(), key=lambda item: item[0].sort_key))


def own_objects(
    project: Project, found: OpenProject, owned: Sequence[OwnedObject]
) -> tuple[State, Mapping[ObjectKey, OtherOwner]]:
    """Write that objects are owned, and then release what another workspace has come to own.

    In this order, so that of two that end at once at least one sees the other. Returns the state as
    it is then, and who owns what was released.
    """
    before, ids = found.state, found.clusters.ids
    state = replace(
        found.clusters.record_ids(before),
        serial=before.serial + 1,
        owned=merge_owned(before.owned, owned),
    )
    project.store.write(state)
    others = found.read_other_owners()
    taken = {
        each.key: owner
        for each in owned
        if (owner := others.find(each.key, ids.get(each.provider, ""), each.uid)) is not None
    }
    if taken:
        kept = {at: each for at, each in state.owned.items() if each.key not in taken}
        state = replace(state, serial=state.serial + 1, owned=kept)
        project.store.write(state)
    return state, taken


def import_object(project: Project, address: str, identity: str, ports: Ports) -> OwnedObject:
    """Own a live object at an address of the configuration; nothing on the cluster changes.

    `identity` is what the provider's import takes: the topic name, or the seven parts of an ACL
    `principal|host|operation|permission|type|name|pattern`.

    Raises:
        UsageError: the address is undeclared or taken, or its object is another or does not exist.

    """
    with open_project(project, ports) as found:
        check_no_journal(project)
        resource = _find_resource(found, address)
        _check_not_owned(found, resource, identity)
        owned = _read_live_object(found, resource, Identity(identity))
        _check_not_owned_elsewhere(found, owned, ports)
        _, taken = own_objects(project, found, [owned])
        for owner in taken.values():
            raise _owned_elsewhere_error(owned, owner)
    return owned


def _find_resource(project: OpenProject, text: str) -> Resource:
    try:
        address = Address.parse(text)
    except ValueError as fault:
        raise UsageError(f"{fault}.", "Write it as kafka_topic.NAME.") from None
    for resource in project.configuration.resources:
        if address in resource.addresses:
            return resource.led_by(address)
    raise UsageError(f"The configuration declares no {address}.", "Write the resource block first.")


def _check_not_owned(project: OpenProject, resource: Resource, identity: str) -> None:
    address = resource.address
    for held in project.state.owned.values():
        if address in held.addresses:
            raise UsageError(f"{address} owns {held.identity} already.")
        if held.key == (address.kind, identity, resource.provider):
            raise UsageError(f"{identity} is owned at {held.address} already.")


def _check_not_owned_elsewhere(project: OpenProject, owned: OwnedObject, ports: Ports) -> None:
    others = project.read_other_owners()
    note_unread(others, ports)
    owner = others.find(owned.key, project.clusters.ids[owned.provider], owned.uid)
    if owner is not None:
        raise _owned_elsewhere_error(owned, owner)


def _owned_elsewhere_error(owned: OwnedObject, owner: OtherOwner) -> UsageError:
    return UsageError(f"{owned.identity}: {owner.sentence}.", owner.hint)


def _read_live_object(project: OpenProject, resource: Resource, identity: Identity) -> OwnedObject:
    kind = kind_of_address(resource.address)
    wanted = {resource.provider: {kind.name: [identity]}}
    snapshot = read_clusters(project.clusters, wanted, (kind,))[resource.provider]
    if kind.name in snapshot.unread:
        raise UsageError(f"{kind.noun} objects could not be read: {snapshot.unread[kind.name]}")
    hint = _identity_hint(resource, identity)
    if (refused := snapshot.readings[kind.name].hidden.get(identity)) is not None:
        problem = hidden_problem(kind, identity, refused)
        raise UsageError(problem.detail, hint if identity != resource.identity else problem.hint)
    live = snapshot.live_object(kind.name, identity)
    if live is None or (identity != resource.identity and not kind.is_replaceable):  # no rename
        missing = f'The cluster has no {kind.noun} "{identity}".'
        other = f'{resource.address} declares {kind.noun} "{resource.identity}", not "{identity}".'
        raise UsageError(other if live else missing, hint)
    return adopt_object(resource, live)


def _identity_hint(resource: Resource, given: Identity) -> str:
    """Say how the object of the block is named: names of some kinds have several parts."""
    if resource.identity != given:
        command = shlex.join(["kplan", "import", str(resource.address), resource.identity])
        return f"The block declares another one: {command}"
    if resource.address.kind == "kafka_acl":
        return "An ACL is named principal|host|operation|permission|type|name|pattern."
    return "Only what exists can be imported; kplan apply creates it."


CONFIGURATION_SUFFIXES = (".tf", ".hcl")


@dataclass(frozen=True, slots=True)
class UnimportedObject:
    """A live object that was not taken over, and why."""

    kind: str
    identity: Identity
    reason: str


@dataclass(frozen=True, slots=True)
class ImportAllResult:
    """What was written and is owned now; both are empty where there was nothing to take over.

    `unread` shows which kinds could not be read, and why.
    """

    text: str
    owned: tuple[OwnedObject, ...]
    unimported: tuple[UnimportedObject, ...]
    unread: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ImportSelection:
    """Which objects are taken.

    Their name, or the name of what they are about, begins with `prefix`. Configs of brokers belong
    to whoever runs the cluster: they are taken only with `has_broker_configs`.
    """

    prefix: str = ""
    has_broker_configs: bool = False


def import_all(
    project: Project, file: Path, selection: ImportSelection, ports: Ports
) -> ImportAllResult:
    """Declare every live object that is not declared yet in a new file, and own it.

    The cluster is that of the connection without alias. Internal topics stay out. Nothing on the
    cluster changes, and the next plan is empty.

    Raises:
        UsageError: the file exists, or is not a configuration file of the project's folder; or the
            configuration has no connection without alias.

    """
    with _create_file(project, file), open_project(project, ports, frozenset({""})) as found:
        check_no_journal(project)
        ports.progress.stage("Reading the cluster")
        snapshot, chosen, left_out, unread = _select_objects(found, selection, ports)
        text = _render_selected(found.configuration, snapshot, chosen, file.name)
        owned = _adopt_selected(project, file, text, (snapshot, chosen))
        state, taken = own_objects(project, found, owned) if owned else (found.state, {})
        if taken:  # declare the others only, whose addresses may be other ones without it
            left_out += (
                UnimportedObject(kind, identity, owner.sentence)
                for (kind, identity, _), owner in taken.items()
            )
            chosen = {
                kind: [each for each in identities if (kind, each, "") not in taken]
                for kind, identities in chosen.items()
            }
            text = _render_selected(found.configuration, snapshot, chosen, file.name)
            owned = _adopt_selected(project, file, text, (snapshot, chosen))
            held = merge_owned(found.state.owned, owned)
            project.store.write(replace(state, serial=state.serial + 1, owned=held))
        return ImportAllResult(text, owned, tuple(left_out), unread)


_BROKER_CONFIG_REASON = "configs of brokers are imported with -include=broker-configs"


@contextmanager
def _create_file(project: Project, file: Path) -> Iterator[None]:
    """Make the file, and take it away again where it stays empty.

    It is there from the beginning so that a folder without any configuration can be started from.
    """
    if (
        file.suffix not in CONFIGURATION_SUFFIXES
        or file.absolute().parent.resolve() != project.folder.resolve()
    ):
        raise UsageError(
            f"{file} is not a configuration file of {project.folder}.",
            "Use a .tf or .hcl file in the folder, so that the imported objects are declared.",
        )
    try:
        file.open("x").close()
    except FileExistsError:
        raise UsageError(f"{file} exists; it is not written over.", "Name a new file.") from None
    except OSError as failure:
        raise UsageError(f"{file} cannot be written: {failure.strerror}.") from None
    try:
        yield
    finally:
        if not file.read_bytes():
            file.unlink()


SelectedObjects = Mapping[str, Sequence[Identity]]


def _select_objects(
    project: OpenProject, selection: ImportSelection, ports: Ports
) -> tuple[Snapshot, SelectedObjects, list[UnimportedObject], Mapping[str, str]]:
    """List the objects, then read the selected ones in full; say what could be neither, and why.

    What cannot be deleted was made by no one, and is left out.
    """
    declared = {each.key for each in project.configuration.resources}
    declared |= {each.key for each in project.state.owned.values()}
    connection = project.clusters.connections.get("")
    if connection is None:
        raise UsageError(
            "No cluster is read: the new blocks use the connection without alias.",
            'Declare it: provider "kafka" {}',
        )
    cluster, description = connection.cluster, connection.description
    first = read_snapshot(
        cluster, description, KINDS, {kind.name: () for kind in KINDS if kind.is_deletable}
    )
    wanted = {
        kind: [
            identity
            for identity, live in reading.objects.items()
            if (kind, identity, "") not in declared
            and _filter_name(identity, live).startswith(selection.prefix)
        ]
        for kind, reading in first.readings.items()
    }
    left_out: list[UnimportedObject] = []
    if not selection.has_broker_configs:
        name = BROKER_CONFIG.name
        unasked = wanted.pop(name, [])
        left_out += (UnimportedObject(name, each, _BROKER_CONFIG_REASON) for each in unasked)
    snapshot = read_snapshot(cluster, description, KINDS, wanted)
    chosen: dict[str, list[Identity]] = {kind.name: [] for kind in KINDS}
    candidates = [
        (kind, identity, _import_obstacle(kind, identity, snapshot))
        for kind in KINDS
        for identity in sorted(wanted.get(kind.name, ()))
    ]
    is_any = any(obstacle is None for _, _, obstacle in candidates)
    others = project.read_other_owners() if is_any else OtherOwners()
    note_unread(others, ports)
    for kind, identity, obstacle in candidates:
        reason = _other_owner(others, kind, identity, snapshot) if obstacle is None else obstacle
        if reason is None:
            chosen[kind.name].append(identity)
        elif reason:
            left_out.append(UnimportedObject(kind.name, identity, reason))
    return snapshot, chosen, left_out, {**first.unread, **snapshot.unread}


def _filter_name(identity: Identity, live: LiveObject) -> str:
    """Return the name that a prefix is compared with: for an ACL that of its resource."""
    return live.value.resource_name if isinstance(live.value, Acl) else identity


def _import_obstacle(kind: ResourceKind, identity: Identity, snapshot: Snapshot) -> str | None:
    """Explain why an object cannot be declared; "" if it is obvious, None if it can."""
    reading = snapshot.readings.get(kind.name)
    if reading is None:
        return ""
    if identity in reading.hidden:
        return f"the cluster will not show it ({reading.hidden[identity]})"
    live = reading.objects.get(identity)
    if live is None or (isinstance(live.value, Topic) and is_internal_topic(identity)):
        return ""
    if not is_writable(live.value):
        return "HCL stores text in composed form (NFC), and this name is not"
    faults = [each for each in kind.check(declarable_value(live.value)) if not each.is_warning]
    return faults[0].detail if faults else None


def _other_owner(
    others: OtherOwners, kind: ResourceKind, identity: Identity, snapshot: Snapshot
) -> str | None:
    """Say which workspace owns an object, None where none does."""
    uid = snapshot.readings[kind.name].objects[identity].uid
    owner = others.find((kind.name, identity, ""), snapshot.cluster_id, uid)
    return None if owner is None else owner.sentence


def _render_selected(
    configuration: Configuration, snapshot: Snapshot, chosen: SelectedObjects, file: str
) -> str:
    values = {
        kind: [declarable_value(snapshot.readings[kind].objects[each].value) for each in identities]
        for kind, identities in chosen.items()
    }
    taken = {
        kind.name: {
            each.address.name
            for one in configuration.resources
            for each in one.declarations
            if each.address.kind == kind.name and not each.address.module
        }
        for kind in KINDS
    }
    return generate_blocks(values, KINDS, taken, file)


def _adopt_selected(
    project: Project, file: Path, text: str, seen: tuple[Snapshot, SelectedObjects]
) -> tuple[OwnedObject, ...]:
    """Write the file, load it like any later run, and own its objects."""
    if not text:
        file.write_bytes(b"")
        return ()
    snapshot, chosen = seen
    file.write_text(text, encoding="utf-8")
    try:
        configuration = load_checked(project)
    except BaseException:
        file.write_bytes(b"")  # and so it goes
        raise
    wanted = {(kind, identity) for kind, identities in chosen.items() for identity in identities}
    return tuple(
        adopt_object(each, snapshot.readings[each.address.kind].objects[each.identity])
        for each in configuration.resources
        if not each.provider and (each.address.kind, each.identity) in wanted
    )
