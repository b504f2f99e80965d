"""Blocks for live ACLs: those of one principal that differ in no more than what may be done."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.report.documents.notation import hcl_text
from kplan.workflow.adopt.block import (
    BlockNames,
    render_arguments,
    render_block,
    render_map,
    render_string_set,
)

LARGEST_MAP = 20
"""More ACLs that differ in several things are split by sort of resource and operation."""

_SHORT: Mapping[str, str] = {
    "acl_operation": "operation",
    "resource_type": "type",
    "resource_name": "name",
}
"""What may vary inside a block, as it is called in the map that the block goes through."""


def render_acl_blocks(kind: ResourceKind, acls: Sequence[Acl], names: BlockNames) -> Iterator[str]:
    """Write ACLs in order of principal."""
    for _, members in groupby(sorted(acls, key=_group), key=_group):
        yield from _alike(kind, sorted(members, key=_key), names)


def _group(acl: Acl) -> tuple[str, ...]:
    pattern = acl.resource_pattern_type_filter
    return (acl.acl_principal, acl.acl_permission_type, acl.acl_host, pattern)


def _alike(kind: ResourceKind, acls: Sequence[Acl], names: BlockNames) -> Iterator[str]:
    if len(_varying(acls)) < len(_SHORT) - 1 or len(acls) <= LARGEST_MAP:
        yield _block(kind, acls, names.name(_name(acls[0])))
        return
    for words, members in groupby(sorted(acls, key=_sort), key=_sort):
        alike = sorted(members, key=_key)
        yield _block(kind, alike, names.name(f"{_name(alike[0])} {' '.join(words)}".lower()))


def _sort(acl: Acl) -> tuple[str, str]:
    return acl.resource_type, acl.acl_operation


def _varying(acls: Sequence[Acl]) -> list[str]:
    return [each for each in _SHORT if len({getattr(acl, each) for acl in acls}) > 1]


def _name(acl: Acl) -> str:
    principal = acl.acl_principal.removeprefix("User:")
    parts = [
        "everyone" if principal == "*" else principal,
        "prefixed" if acl.resource_pattern_type_filter == "Prefixed" else "",
        "denied" if acl.acl_permission_type == "Deny" else "",
        f"from {acl.acl_host}" if acl.acl_host != "*" else "",
    ]
    return " ".join(part for part in parts if part)


def _block(kind: ResourceKind, acls: Sequence[Acl], name: str) -> str:
    """Write what the ACLs share once, and the rest in a set or a map."""
    varying = _varying(acls)
    if not varying:
        return render_block(kind, name, render_arguments(acls[0]))
    if len(varying) == 1:
        each = render_string_set(getattr(acl, varying[0]) for acl in acls)
        instead = {varying[0]: "each.key"}
    else:
        each = render_map({_key(acl): _parts(acl, varying) for acl in acls})
        instead = {name: f"each.value.{_SHORT[name]}" for name in varying}
    return render_block(kind, name, [f"for_each = {each}", "", *render_arguments(acls[0], instead)])


def _parts(acl: Acl, varying: Sequence[str]) -> str:
    return (
        f"{{ {', '.join(f'{_SHORT[each]} = {hcl_text(getattr(acl, each))}' for each in varying)} }}"
    )


def _key(acl: Acl) -> str:
    """Return the ACLs of a block apart."""
    return f"{acl.resource_type} {acl.resource_name} {acl.acl_operation}"
