"""HCL blocks for live objects; topics and ACLs that are alike share one with `for_each`."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from unicodedata import is_normalized

from kplan.config.format.formatter import format_text
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields, to_document
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic
from kplan.report.documents.notation import hcl_text, quote_hcl

_INVALID_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME_LENGTH = 60


class BlockNames:
    """Names for blocks of one kind, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._used_names = set(taken)

    def unique_name(self, text: str) -> str:
        """Make the name of a block out of that of an object."""
        plain = _INVALID_NAME_CHARACTERS.sub("_", text)[:_MAX_NAME_LENGTH].strip("_") or "any"
        name = stem = plain if plain[0].isalpha() else f"_{plain}"
        number = 1
        while name in self._used_names:
            number += 1
            name = f"{stem}_{number}"
        self._used_names.add(name)
        return name


def render_block(kind: ResourceKind, name: str, arguments: Iterable[str]) -> str:
    """Write a block."""
    body = "\n".join(arguments)
    return f"resource {quote_hcl(kind.name)} {quote_hcl(name)} {{\n{body}\n}}\n"


def render_arguments(value: object, instead: Mapping[str, str] | None = None) -> Iterator[str]:
    """Write what is not left to its default, and no secret.

    `instead` holds expressions for attributes that are not the same in all instances.
    """
    expressions = instead or {}
    held_by = to_document(value)
    for each in schema_fields(type(value)):
        name, held = each.name, held_by[each.name]
        if name in expressions:
            yield f"{name} = {expressions[name]}"
        elif held in (None, {}, each.default) or each.attribute.is_sensitive:
            continue
        elif isinstance(held, Mapping):
            yield f"{name} = {render_map({key: hcl_text(each) for key, each in held.items()})}"
        else:
            yield f"{name} = {hcl_text(held)}"


def render_map(expressions: Mapping[str, str]) -> str:
    """Write a map of expressions, an element a line."""
    lines = "\n".join(f"{quote_hcl(key)} = {each}" for key, each in expressions.items())
    return f"{{\n{lines}\n}}"


def render_string_set(texts: Iterable[str]) -> str:
    """Write a set of strings, one a line."""
    lines = "\n".join(f"{quote_hcl(each)}," for each in texts)
    return f"toset([\n{lines}\n])"


MAX_ACL_MAP = 20
"""More ACLs that differ in several things are split by sort of resource and operation."""

_SHORT: Mapping[str, str] = {
    "acl_operation": "operation",
    "resource_type": "type",
    "resource_name": "name",
}
"""What may vary inside a block, as it is called in the map that the block goes through."""


def render_acl_blocks(kind: ResourceKind, acls: Sequence[Acl], names: BlockNames) -> Iterator[str]:
    """Write ACLs in order of principal."""
    for _, members in groupby(sorted(acls, key=_acl_group_key), key=_acl_group_key):
        yield from _render_acl_group(kind, sorted(members, key=_acl_key), names)


def _acl_group_key(acl: Acl) -> tuple[str, ...]:
    pattern = acl.resource_pattern_type_filter
    return (acl.acl_principal, acl.acl_permission_type, acl.acl_host, pattern)


def _render_acl_group(kind: ResourceKind, acls: Sequence[Acl], names: BlockNames) -> Iterator[str]:
    if len(_varying_attributes(acls)) < len(_SHORT) - 1 or len(acls) <= MAX_ACL_MAP:
        yield _render_acl_block(kind, acls, names.unique_name(_acl_block_name(acls[0])))
        return
    for words, members in groupby(sorted(acls, key=_acl_sort_key), key=_acl_sort_key):
        alike = sorted(members, key=_acl_key)
        yield _render_acl_block(
            kind, alike, names.unique_name(f"{_acl_block_name(alike[0])} {' '.join(words)}".lower())
        )


def _acl_sort_key(acl: Acl) -> tuple[str, str]:
    return acl.resource_type, acl.acl_operation


def _varying_attributes(acls: Sequence[Acl]) -> list[str]:
    return [each for each in _SHORT if len({getattr(acl, each) for acl in acls}) > 1]


def _acl_block_name(acl: Acl) -> str:
    principal = acl.acl_principal.removeprefix("User:")
    parts = [
        "everyone" if principal == "*" else principal,
        "prefixed" if acl.resource_pattern_type_filter == "Prefixed" else "",
        "denied" if acl.acl_permission_type == "Deny" else "",
        f"from {acl.acl_host}" if acl.acl_host != "*" else "",
    ]
    return " ".join(part for part in parts if part)


def _render_acl_block(kind: ResourceKind, acls: Sequence[Acl], name: str) -> str:
    """Write what the ACLs share once, and the rest in a set or a map."""
    varying = _varying_attributes(acls)
    if not varying:
        return render_block(kind, name, render_arguments(acls[0]))
    if len(varying) == 1:
        each = render_string_set(getattr(acl, varying[0]) for acl in acls)
        instead = {varying[0]: "each.key"}
    else:
        each = render_map({_acl_key(acl): _render_acl_element(acl, varying) for acl in acls})
        instead = {name: f"each.value.{_SHORT[name]}" for name in varying}
    return render_block(kind, name, [f"for_each = {each}", "", *render_arguments(acls[0], instead)])


def _render_acl_element(acl: Acl, varying: Sequence[str]) -> str:
    return (
        f"{{ {', '.join(f'{_SHORT[each]} = {hcl_text(getattr(acl, each))}' for each in varying)} }}"
    )


def _acl_key(acl: Acl) -> str:
    """Return the ACLs of a block apart."""
    return f"{acl.resource_type} {acl.resource_name} {acl.acl_operation}"


MIN_GROUPED_TOPICS = 100
"""From so many topics on those that are alike share a block: that is short, and fast to read."""


def render_topic_blocks(
    kind: ResourceKind, topics: Sequence[Topic], names: BlockNames
) -> Iterator[str]:
    """Write topics in order of name."""
    ordered = sorted(topics, key=lambda each: each.name)
    groups = [[each] for each in ordered]
    if len(ordered) >= MIN_GROUPED_TOPICS:
        alike = sorted(ordered, key=_topic_group_key)
        groups = [list(members) for _, members in groupby(alike, key=_topic_group_key)]
    for members in sorted(groups, key=lambda group: (len(group) == 1, group[0].name)):
        yield _render_topic_block(kind, members, names)


def _topic_group_key(topic: Topic) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return what topics must have in common to share a block: all but name and partitions."""
    return topic.replication_factor or 0, tuple(sorted(topic.config.items()))


def _render_topic_block(kind: ResourceKind, alike: Sequence[Topic], names: BlockNames) -> str:
    first = alike[0]
    if len(alike) == 1:
        return render_block(kind, names.unique_name(first.name), render_arguments(first))
    instead = {"name": "each.key"}
    each = render_string_set(topic.name for topic in alike)
    if len({topic.partitions for topic in alike}) > 1:
        instead["partitions"] = "each.value"
        each = render_map({topic.name: str(topic.partitions) for topic in alike})
    config = " ".join(f"{key} {value}" for key, value in sorted(first.config.items()))
    lines = [f"for_each = {each}", "", *render_arguments(first, instead)]
    name = f"topics rf {first.replication_factor} {config}".strip()
    return render_block(kind, names.unique_name(name), lines)


def declarable_value(value: object) -> object:
    """Return what is declared of a live value: where replicas are is left to the cluster.

    So are the throttles of a reassignment, which go when it ends.
    """
    if not isinstance(value, Topic):
        return value
    config = {key: each for key, each in value.config.items() if key not in THROTTLED_REPLICAS}
    return replace(value, replica_assignment=None, moving_to=None, config=config)


def is_writable(value: object) -> bool:
    """Whether HCL can say the value: whatever is written there is read in composed form."""
    return is_normalized("NFC", json.dumps(to_document(value), ensure_ascii=False))


def generate_blocks(
    values: Mapping[str, Sequence[object]],
    kinds: Sequence[ResourceKind],
    taken: Mapping[str, Iterable[str]],
    file: str,
) -> str:
    """Write resource blocks for live values of each kind, laid out as `terraform fmt` does.

    `taken` holds the names that blocks of a kind have already.
    """
    blocks = [
        each
        for kind in sorted(kinds, key=lambda each: (each.schema is Acl, each.name))
        for each in _render_kind_blocks(
            kind, values.get(kind.name, ()), BlockNames(taken.get(kind.name, ()))
        )
    ]
    return format_text("\n".join(blocks), file)


def _render_kind_blocks(
    kind: ResourceKind, values: Sequence[object], names: BlockNames
) -> Iterator[str]:
    declared = [declarable_value(each) for each in values]
    yield from render_topic_blocks(
        kind, [each for each in declared if isinstance(each, Topic)], names
    )
    yield from render_acl_blocks(kind, [each for each in declared if isinstance(each, Acl)], names)
    others = [each for each in declared if not isinstance(each, Topic | Acl)]
    for value in sorted(others, key=kind.identify):
        yield render_block(kind, names.unique_name(kind.identify(value)), render_arguments(value))
