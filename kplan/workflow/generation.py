"""Tidy HCL for objects that are live: what a person would have written to declare them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from kplan.config.format.formatter import format_text
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import document, schema_fields
from kplan.kinds.topic import Topic
from kplan.report.documents.notation import hcl, quoted

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
# The attributes of an ACL as they are called in the map that a block of several goes through.
_SHORT: Mapping[str, str] = {
    "acl_operation": "operation",
    "resource_type": "type",
    "resource_name": "name",
}


class BlockNames:
    """Names for blocks of one kind, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def name(self, text: str) -> str:
        """Make the name of a block out of that of an object."""
        plain = _NO_NAME.sub("_", text).strip("_") or "any"
        name = stem = plain if plain[0].isalpha() else f"_{plain}"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name


def declarable(value: object) -> object:
    """Give what is declared of a live value: where replicas stand is left to the cluster."""
    return replace(value, replica_assignment=None) if isinstance(value, Topic) else value


def generated(
    values: Mapping[str, Sequence[object]],
    kinds: Sequence[ResourceKind],
    taken: Mapping[str, Iterable[str]],
    file: str,
) -> str:
    """Write resource blocks for live values of each kind, laid out as `terraform fmt` does.

    `taken` holds the names that blocks of a kind have already.
    """
    blocks = [
        block
        for kind in sorted(kinds, key=lambda each: (each.schema is Acl, each.name))
        for block in _blocks(kind, values.get(kind.name, ()), BlockNames(taken.get(kind.name, ())))
    ]
    return format_text("\n".join(blocks), file)


def _blocks(kind: ResourceKind, values: Sequence[object], names: BlockNames) -> Iterator[str]:
    acls = [each for each in values if isinstance(each, Acl)]
    for _, members in groupby(sorted(acls, key=_group), key=_group):
        alike = sorted(members, key=_key)
        yield _acl_block(kind, alike, names.name(_group_name(alike[0])))
    others = [each for each in values if not isinstance(each, Acl)]
    for value in sorted(others, key=kind.identify):
        yield _block(kind, names.name(kind.identify(value)), _arguments(declarable(value)))


def _block(kind: ResourceKind, name: str, arguments: Iterable[str]) -> str:
    body = "\n".join(arguments)
    return f"resource {quoted(kind.name)} {quoted(name)} {{\n{body}\n}}\n"


def _arguments(value: object) -> Iterator[str]:
    """Write what is not left to its default, and no secret."""
    held_by = document(value)
    for each in schema_fields(type(value)):
        name, held = each.name, held_by[each.name]
        if held in (None, {}, each.default) or each.attribute.is_sensitive:
            continue
        if isinstance(held, Mapping):
            pairs = "\n".join(f"{quoted(key)} = {hcl(each)}" for key, each in held.items())
            yield f"{name} = {{\n{pairs}\n}}"
        else:
            yield f"{name} = {hcl(held)}"


# ---- ACLs: a block for those of one principal that differ in no more than what may be done


def _group(acl: Acl) -> tuple[str, ...]:
    pattern = acl.resource_pattern_type_filter
    return (acl.acl_principal, acl.acl_permission_type, acl.acl_host, pattern)


def _group_name(acl: Acl) -> str:
    principal = acl.acl_principal.removeprefix("User:")
    parts = [
        "everyone" if principal == "*" else principal,
        "prefixed" if acl.resource_pattern_type_filter == "Prefixed" else "",
        "denied" if acl.acl_permission_type == "Deny" else "",
        f"from {acl.acl_host}" if acl.acl_host != "*" else "",
    ]
    return " ".join(part for part in parts if part)


def _acl_block(kind: ResourceKind, acls: Sequence[Acl], name: str) -> str:
    """Write what the ACLs share once, and the rest in a map."""
    if len(acls) == 1:
        return _block(kind, name, _arguments(acls[0]))
    varying = [each for each in _SHORT if len({getattr(acl, each) for acl in acls}) > 1]
    lines = ["for_each = {"]
    for acl in acls:
        parts = ", ".join(f"{_SHORT[each]} = {hcl(getattr(acl, each))}" for each in varying)
        lines.append(f"{quoted(_key(acl))} = {{ {parts} }}")
    lines += ["}", ""]
    for each in schema_fields(Acl):
        held = getattr(acls[0], each.name)
        if each.name in varying:
            lines.append(f"{each.name} = each.value.{_SHORT[each.name]}")
        elif held != each.default:
            lines.append(f"{each.name} = {hcl(held)}")
    return _block(kind, name, lines)


def _key(acl: Acl) -> str:
    """Tell the ACLs of a block apart."""
    return f"{acl.resource_type} {acl.resource_name} {acl.acl_operation}"
