"""A state of Terraform's Kafka provider, as far as it says who owns what."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import SchemaField, from_document, schema_fields
from kplan.model.address import Address, instance_key
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.resource import Identity

VERSION = 4
"""The format of Terraform 0.12 and later, and of OpenTofu."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An object that Terraform owned, at its address there. No secret is ever in `value`."""

    address: Address
    identity: Identity
    value: object


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """An entry that is none of ours, and why."""

    address: str
    reason: str


def claims(
    path: Path, data: bytes, kinds: Sequence[ResourceKind]
) -> tuple[tuple[Claim, ...], tuple[Unclaimed, ...]]:
    """Read the managed objects of kinds that kplan knows; data sources do not count.

    Raises:
        UsageError: the bytes are no state of Terraform in a format that is known.

    """
    document = _document(path, data)
    by_name = {kind.name: kind for kind in kinds}
    found: list[Claim] = []
    others: list[Unclaimed] = []
    try:
        instances = tuple(_instances(document))
    except (AttributeError, TypeError) as fault:
        raise UsageError(f"{path} is damaged: {fault}.") from None
    for place, kind, attributes in instances:
        if kind not in by_name:
            others.append(Unclaimed(place, f"kplan does not know {kind}"))
            continue
        try:
            found.append(_claim(place, by_name[kind], attributes))
        except (AttributeError, KeyError, TypeError, ValueError) as fault:
            others.append(Unclaimed(place, f"its entry lacks or misplaces {fault}"))
    return tuple(found), tuple(others)


def _document(path: Path, data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "terraform_version" not in found:
        raise UsageError(
            f"{path} is no state of Terraform.",
            "For a remote backend: terraform state pull > terraform.tfstate",
        )
    if found.get("version") != VERSION:
        raise UsageError(
            f"{path} has the format {found.get('version')}; kplan reads {VERSION}.",
            "Terraform 0.12 or later, or OpenTofu, writes it anew with its next apply.",
        )
    return found


def _instances(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Give address, type and attributes of every instance that is the current one."""
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


def _claim(place: str, kind: ResourceKind, attributes: Mapping[str, Any]) -> Claim:
    """Take the attributes that kplan has too, but for secrets; null is the same as absent."""
    known = {
        each.name: "" if each.attribute.is_sensitive else _fitting(each, attributes[each.name])
        for each in schema_fields(kind.schema)
        if attributes.get(each.name) is not None
    }
    value = kind.normalize(from_document(kind.schema, known))
    return Claim(Address.parse(place), kind.identify(value), value)


def _fitting(field: SchemaField, held: object) -> object:
    """Give the value of an attribute; raises TypeError where it is none of its type."""
    if not _fits(field.attribute.type, held):
        raise TypeError(repr(field.name))
    return held


def _fits(type_: str, held: object) -> bool:
    """Whether it is of the type, in HCL's notation; quotas are numbers in maps there."""
    outer, _, inner = type_.removesuffix(")").partition("(")
    match outer, held:
        case "map", dict():
            return all(isinstance(each, str | int | float) for each in held.values())
        case (("list" | "set"), list()):
            return all(_fits(inner, each) for each in held)
        case "bool", _:
            return isinstance(held, bool)
        case "number", _:
            return isinstance(held, int | float) and not isinstance(held, bool)
        case _:
            return outer == "string" and isinstance(held, str)
