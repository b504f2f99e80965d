"""Use case: import the objects of a Terraform state."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import SchemaField, from_document, schema_fields
from kplan.model.address import Address, instance_key
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import UsageError
from kplan.model.resource import Identity, Lifecycle, Resource
from kplan.model.state import OwnedObject, Snapshot
from kplan.workflow.adopt.import_ import adopt_object, own_objects
from kplan.workflow.clusters import read_clusters
from kplan.workflow.open_project import OpenProject, check_no_journal, open_project
from kplan.workflow.ports import Ports, Project
from kplan.workflow.workspaces import OtherOwners, note_unread

TFSTATE_VERSION = 4
"""The format of Terraform 0.12 and later, and of OpenTofu."""


@dataclass(frozen=True, slots=True)
class TfstateObject:
    """An object that Terraform owned, at its address there. No secret is ever in `value`."""

    address: Address
    identity: Identity
    value: object


@dataclass(frozen=True, slots=True)
class UnsupportedEntry:
    """An entry that is not one of ours, and why."""

    address: str
    reason: str


def read_tfstate(
    path: Path, data: bytes, kinds: Sequence[ResourceKind]
) -> tuple[tuple[TfstateObject, ...], tuple[UnsupportedEntry, ...]]:
    """Read the managed objects of kinds that kplan knows; data sources do not count.

    Raises:
        UsageError: the bytes are no state of Terraform in a format that is known.

    """
    document = _parse_document(path, data)
    by_name = {kind.name: kind for kind in kinds}
    found: list[TfstateObject] = []
    others: list[UnsupportedEntry] = []
    try:
        instances = tuple(_current_instances(document))
    except (AttributeError, TypeError) as fault:
        raise UsageError(f"{path} is damaged: {fault}.") from None
    for place, kind, attributes in instances:
        if kind not in by_name:
            others.append(UnsupportedEntry(place, f"kplan does not know {kind}"))
            continue
        try:
            found.append(_parse_object(place, by_name[kind], attributes))
        except (AttributeError, KeyError, TypeError, ValueError) as fault:
            others.append(UnsupportedEntry(place, f"its entry lacks or misplaces {fault}"))
    return tuple(found), tuple(others)


def _parse_document(path: Path, data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "terraform_version" not in found:
        raise UsageError(
            f"{path} is not a Terraform state.",
            "For a remote backend: terraform state pull > terraform.tfstate",
        )
    if found.get("version") != TFSTATE_VERSION:
        raise UsageError(
            f"{path} has the format {found.get('version')}; kplan reads {TFSTATE_VERSION}.",
            "Terraform 0.12 or later, or OpenTofu, upgrades it in its next apply.",
        )
    return found


def _current_instances(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Return address, type and attributes of every instance that is the current one."""
    for resource in document.get("resources") or ():
        if resource.get("mode") != "managed":
            continue
        kind = str(resource.get("type"))
        module = f"{resource['module']}." if resource.get("module") else ""
        for instance in resource.get("instances") or ():
            if "deposed" not in instance:
                key = instance_key(instance.get("index_key"))
                place = f"{module}{kind}.{resource.get('name')}{key}"
                yield place, kind, instance.get("attributes") or {}


def _parse_object(place: str, kind: ResourceKind, attributes: Mapping[str, Any]) -> TfstateObject:
    """Take the attributes that kplan has too, but for secrets; null is the same as absent."""
    known = {
        each.name: ""
        if each.attribute.is_sensitive
        else _attribute_value(each, attributes[each.name])
        for each in schema_fields(kind.schema)
        if attributes.get(each.name) is not None
    }
    value = kind.normalize(from_document(kind.schema, known))
    return TfstateObject(Address.parse(place), kind.identify(value), value)


def _attribute_value(field: SchemaField, held: object) -> object:
    """Return the value of an attribute; raises TypeError where it is not one of its type."""
    if not _has_type(field.attribute.type, held):
        raise TypeError(repr(field.name))
    return held


def _has_type(type_: str, held: object) -> bool:
    """Whether it is of the type, in HCL's notation; quotas are numbers in maps there."""
    outer, _, inner = type_.removesuffix(")").partition("(")
    match outer, held:
        case "map", dict():
            return all(isinstance(each, str | int | float) for each in held.values())
        case (("list" | "set"), list()):
            return all(_has_type(inner, each) for each in held)
        case "bool", _:
            return isinstance(held, bool)
        case "number", _:
            return isinstance(held, int | float) and not isinstance(held, bool)
        case _:
            return outer == "string" and isinstance(held, str)


@dataclass(frozen=True, slots=True)
class TfstateImportResult:
    """What is owned now, and which entries of Terraform's state were left out, and why."""

    owned: tuple[OwnedObject, ...]
    unsupported: tuple[UnsupportedEntry, ...]


def import_tfstate(project: Project, file: Path, data: bytes, ports: Ports) -> TfstateImportResult:
    """Own, at the same addresses, every object of Terraform's state that is on the cluster.

    What is recorded as last applied is read from the cluster. Nothing there changes, nothing
    secret is taken over, and Terraform's file is only read.

    Raises:
        UsageError: the file is not a Terraform state.

    """
    found_claims, others = read_tfstate(file, data, KINDS)
    with open_project(project, ports) as found:
        check_no_journal(project)
        ports.progress.stage("Reading the cluster")
        wanted: dict[str, dict[str, set[Identity]]] = defaultdict(lambda: defaultdict(set))
        declared = {
            at: each.provider for each in found.configuration.resources for at in each.addresses
        }
        for claim in found_claims:
            wanted[declared.get(claim.address, "")][claim.address.kind].add(claim.identity)
        snapshots = read_clusters(found.clusters, wanted)

        @cache
        def read_owners() -> OtherOwners:
            """Read them once, and only if something can be taken over."""
            owners = found.read_other_owners()
            note_unread(owners, ports)
            return owners

        sorted_out = list(_adopt_or_reject(found_claims, found, snapshots, read_owners))
        owned = tuple(each for each in sorted_out if isinstance(each, OwnedObject))
        taken = own_objects(project, found, owned)[1] if owned else {}
    left_out = [each for each in sorted_out if isinstance(each, UnsupportedEntry)]
    left_out += (
        UnsupportedEntry(str(each.address), taken[each.key].sentence)
        for each in owned
        if each.key in taken
    )
    kept = tuple(each for each in owned if each.key not in taken)
    return TfstateImportResult(kept, (*others, *left_out))


def _adopt_or_reject(
    found_claims: Sequence[TfstateObject],
    project: OpenProject,
    snapshots: Mapping[str, Snapshot],
    read_owners: Callable[[], OtherOwners],
) -> Iterator[OwnedObject | UnsupportedEntry]:
    declared = {
        at: each.led_by(at) for each in project.configuration.resources for at in each.addresses
    }
    holders: dict[str, dict[tuple[str, Identity], OwnedObject]] = defaultdict(dict)
    for each in project.state.owned.values():
        holders[each.provider][each.address.kind, each.identity] = each
    for claim in found_claims:
        resource = declared.get(claim.address)
        if resource is None and project.clusters.has_aliases:
            detail = "it is not declared, so its cluster is unknown"
            yield UnsupportedEntry(str(claim.address), detail)
            continue
        provider = "" if resource is None else resource.provider
        snapshot = snapshots[provider]
        holder = holders[provider].get((claim.address.kind, claim.identity))
        if holder is not None and claim.address in holder.others:
            continue  # the object of a claim before
        if reason := _rejection_reason(claim, holders[provider], project.state.owned, snapshot):
            yield UnsupportedEntry(str(claim.address), reason)
            continue
        live = snapshot.readings[claim.address.kind].objects[claim.identity]
        key = (claim.address.kind, claim.identity, provider)
        if (owner := read_owners().find(key, snapshot.cluster_id, live.uid)) is not None:
            yield UnsupportedEntry(str(claim.address), owner.sentence)
            continue
        at = SourceRange("", 0, 0, 0, 0) if resource is None else resource.declared_at
        rules = Lifecycle() if resource is None else resource.lifecycle
        claimed = Resource(claim.address, claim.identity, claim.value, at, rules, provider=provider)
        if resource is not None and resource.identity == claim.identity:
            claimed = replace(claimed, others=resource.others)
        owned = adopt_object(claimed, live)
        holders[provider][claim.address.kind, claim.identity] = owned
        yield owned if resource is not None else replace(owned, declared_at="")


def _rejection_reason(
    claim: TfstateObject,
    holders: Mapping[tuple[str, Identity], OwnedObject],
    owned: Mapping[Address, OwnedObject],
    snapshot: Snapshot,
) -> str:
    """Say why an object cannot be owned, "" where it can."""
    kind, identity = claim.address.kind, claim.identity
    if (holder := holders.get((kind, identity))) is not None:
        return f"{identity} is owned at {holder.address} already"
    if claim.address in owned:
        return f"the address owns {owned[claim.address].identity} already"
    if kind in snapshot.unread:
        return f"{kind} objects could not be read: {snapshot.unread[kind]}"
    reading = snapshot.readings[kind]
    if identity in reading.hidden:
        return f"the cluster will not show {identity} ({reading.hidden[identity]})"
    return "" if identity in reading.objects else f"{identity} is not on the cluster"
