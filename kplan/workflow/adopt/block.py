"""HCL blocks for live objects; topics and ACLs that are alike share one with `for_each`."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, takewhile
from unicodedata import is_normalized

from kplan.config.format.formatter import format_text
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields, to_document
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic
from kplan.model.resource import Identity
from kplan.report.documents.notation import hcl_comment, hcl_text, quote_hcl

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


Comments = Mapping[Identity, Sequence[str]]
"""What is written about objects above them, line by line: labels, owners."""


def render_block(
    kind: ResourceKind, name: str, arguments: Iterable[str], comments: Iterable[str] = ()
) -> str:
    """Write a block with comments above it."""
    lines = "".join(map(hcl_comment, comments))
    body = "\n".join(arguments)
    return f"{lines}resource {quote_hcl(kind.name)} {quote_hcl(name)} {{\n{body}\n}}\n"


def render_arguments(value: object, instead: Mapping[str, str] | None = None) -> Iterator[str]:
    """Write the attributes that differ from defaults and are not secret.

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


def render_map(expressions: Mapping[str, str], comments: Comments | None = None) -> str:
    """Write a map of expressions, an element a line, each below its comments."""
    lines = "\n".join(
        f"{_comment_lines(key, comments)}{quote_hcl(key)} = {each}"
        for key, each in expressions.items()
    )
    return f"{{\n{lines}\n}}"


def render_string_set(texts: Iterable[str], comments: Comments | None = None) -> str:
    """Write a set of strings, one a line, each below its comments."""
    lines = "\n".join(f"{_comment_lines(each, comments)}{quote_hcl(each)}," for each in texts)
    return f"toset([\n{lines}\n])"


def _comment_lines(name: str, comments: Comments | None) -> str:
    return "".join(map(hcl_comment, (comments or {}).get(Identity(name), ())))


MAX_ACL_MAP = 20
"""More ACLs that differ in several things are split by sort of resource and operation."""

_SHORT: Mapping[str, str] = {
    "acl_operation": "operation",
    "resource_type": "type",
    "resource_name": "name",
}
"""What may vary inside a block, as it is called in the map that the block goes through."""


def render_acl_blocks(
    kind: ResourceKind, acls: Sequence[Acl], names: BlockNames, comments: Comments
) -> Iterator[str]:
    """Write ACLs in order of principal."""
    for _, members in groupby(sorted(acls, key=_acl_group_key), key=_acl_group_key):
        yield from _render_acl_group(kind, sorted(members, key=_acl_key), names, comments)


def _acl_group_key(acl: Acl) -> tuple[str, ...]:
    pattern = acl.resource_pattern_type_filter
    return (acl.acl_principal, acl.acl_permission_type, acl.acl_host, pattern)


def _render_acl_group(
    kind: ResourceKind, acls: Sequence[Acl], names: BlockNames, comments: Comments
) -> Iterator[str]:
    if len(_varying_attributes(acls)) < len(_SHORT) - 1 or len(acls) <= MAX_ACL_MAP:
        name = names.unique_name(_acl_block_name(acls[0]))
        yield _render_acl_block(kind, acls, name, comments)
        return
    for words, members in groupby(sorted(acls, key=_acl_sort_key), key=_acl_sort_key):
        alike = sorted(members, key=_acl_key)
        name = names.unique_name(f"{_acl_block_name(alike[0])} {' '.join(words)}".lower())
        yield _render_acl_block(kind, alike, name, comments)


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


def _render_acl_block(
    kind: ResourceKind, acls: Sequence[Acl], name: str, comments: Comments
) -> str:
    """Write the common part of the ACLs once, and the rest in a set or a map."""
    varying = _varying_attributes(acls)
    above = dict.fromkeys(
        chain.from_iterable(comments.get(kind.identify(each), ()) for each in acls)
    )
    if not varying:
        return render_block(kind, name, render_arguments(acls[0]), above)
    if len(varying) == 1:
        each = render_string_set(getattr(acl, varying[0]) for acl in acls)
        instead = {varying[0]: "each.key"}
    else:
        each = render_map({_acl_key(acl): _render_acl_element(acl, varying) for acl in acls})
        instead = {name: f"each.value.{_SHORT[name]}" for name in varying}
    lines = [f"for_each = {each}", "", *render_arguments(acls[0], instead)]
    return render_block(kind, name, lines, above)


def _render_acl_element(acl: Acl, varying: Sequence[str]) -> str:
    return (
        f"{{ {', '.join(f'{_SHORT[each]} = {hcl_text(getattr(acl, each))}' for each in varying)} }}"
    )


def _acl_key(acl: Acl) -> str:
    """Return the ACLs of a block apart."""
    return f"{acl.resource_type} {acl.resource_name} {acl.acl_operation}"


MIN_GROUPED_TOPICS = 100
"""From so many topics on those that are alike share a block: that is short, and fast to read."""

_MIN_REMAINDER = 10
"""So many topics that are alike and share no beginning of their names share a block too."""

_FIRST_WORD = re.compile(r"[._-]*(?:[^._\-\d]+|\d+)")


def render_topic_blocks(
    kind: ResourceKind, topics: Sequence[Topic], names: BlockNames, comments: Comments
) -> Iterator[str]:
    """Write topics in order of name, those that share a block first."""
    ordered = sorted(topics, key=lambda each: each.name)
    groups = _topic_groups(ordered) if len(ordered) >= MIN_GROUPED_TOPICS else []
    shared = {topic.name for _, members in groups for topic in members}
    for prefix, members in groups:
        yield _render_shared_topics(kind, members, names.unique_name(prefix), comments)
    for topic in ordered:
        if topic.name not in shared:
            above = comments.get(kind.identify(topic), ())
            name = names.unique_name(topic.name)
            yield render_block(kind, name, render_arguments(topic), above)


def _topic_groups(topics: Iterable[Topic]) -> list[tuple[str, list[Topic]]]:
    """Group similar topics whose names share a beginning; return groups with their names.

    People look for a topic by its name: settings tell groups apart, and name none of them.
    """
    by_prefix: dict[tuple[str, TopicSettings], list[Topic]] = defaultdict(list)
    for topic in topics:
        by_prefix[_first_word(topic.name), _shared_settings(topic)].append(topic)
    remainder: dict[TopicSettings, list[Topic]] = defaultdict(list)
    groups: list[tuple[str, list[Topic]]] = []
    for (_, settings), members in by_prefix.items():
        if len(members) == 1:
            remainder[settings].extend(members)
        else:
            groups.append((_name_prefix([each.name for each in members]), members))
    groups.sort(key=lambda group: (group[0], -len(group[1]), group[1][0].name))
    others = [each for each in remainder.values() if len(each) >= _MIN_REMAINDER]
    return [*groups, *(("other_topics", each) for each in others)]


def _first_word(name: str) -> str:
    found = _FIRST_WORD.match(name)
    return found[0] if found else name


def _name_prefix(names: Sequence[str]) -> str:
    """Return the common beginning of names, in whole words."""
    pairs = zip(min(names), max(names), strict=False)  # all others are between these two
    shared = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    common = re.sub(r"[^._-]*$", "", shared).strip("._-")
    return common or _first_word(names[0])


TopicSettings = tuple[object, ...]


def _shared_settings(topic: Topic) -> TopicSettings:
    """Return the attributes that topics of one block share: all but name and partitions."""
    return (
        topic.replication_factor or 0,
        topic.replica_assignment,
        tuple(sorted((topic.placement or {}).items())),
        tuple(sorted(topic.config.items())),
    )


def _render_shared_topics(
    kind: ResourceKind, alike: Sequence[Topic], name: str, comments: Comments
) -> str:
    instead = {"name": "each.key"}
    each = render_string_set((topic.name for topic in alike), comments)
    if len({topic.partitions for topic in alike}) > 1:
        instead["partitions"] = "each.value"
        counts = {topic.name: hcl_text(topic.partitions) for topic in alike}
        each = render_map(counts, comments)
    lines = [f"for_each = {each}", "", *render_arguments(alike[0], instead)]
    return render_block(kind, name, lines)


def declarable_value(value: object) -> object:
    """Return the declared form of a live value, without replica assignments.

    So are the throttles of a reassignment, which go when it ends.
    """
    if not isinstance(value, Topic):
        return value
    config = {key: each for key, each in value.config.items() if key not in THROTTLED_REPLICAS}
    return replace(value, replica_assignment=None, moving_to=None, config=config)


def is_writable(value: object) -> bool:
    """Whether HCL can express the value: HCL text is read in composed form."""
    return is_normalized("NFC", json.dumps(to_document(value), ensure_ascii=False))


def generate_blocks(
    values: Mapping[str, Sequence[object]],
    kinds: Sequence[ResourceKind],
    taken: Mapping[str, Iterable[str]],
    file: str,
    comments: Mapping[str, Comments] | None = None,
) -> str:
    """Write resource blocks for values of each kind, laid out as `terraform fmt` does.

    `taken` holds the names that blocks of a kind have already, `comments` what is written above
    the objects of a kind.
    """
    blocks = [
        each
        for kind in sorted(kinds, key=lambda each: (each.schema is Acl, each.name))
        for each in _render_kind_blocks(
            kind,
            values.get(kind.name, ()),
            BlockNames(taken.get(kind.name, ())),
            (comments or {}).get(kind.name, {}),
        )
    ]
    return format_text("\n".join(blocks), file)


def _render_kind_blocks(
    kind: ResourceKind, values: Sequence[object], names: BlockNames, comments: Comments
) -> Iterator[str]:
    topics = [each for each in values if isinstance(each, Topic)]
    yield from render_topic_blocks(kind, topics, names, comments)
    acls = [each for each in values if isinstance(each, Acl)]
    yield from render_acl_blocks(kind, acls, names, comments)
    others = [each for each in values if not isinstance(each, Topic | Acl)]
    for value in sorted(others, key=kind.identify):
        name, identity = names.unique_name(kind.identify(value)), kind.identify(value)
        yield render_block(kind, name, render_arguments(value), comments.get(identity, ()))
