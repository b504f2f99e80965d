"""HCL blocks for live objects; topics, alike ones together."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from unicodedata import is_normalized

from kplan.config.format.formatter import format_text
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import to_document
from kplan.kinds.topic_value import THROTTLED_REPLICAS, Topic
from kplan.workflow.adopt.acl_block import render_acl_blocks
from kplan.workflow.adopt.block import (
    BlockNames,
    render_arguments,
    render_block,
    render_map,
    render_string_set,
)

MANY = 100
"""From so many topics on those that are alike share a block: that is short, and fast to read."""


def render_topic_blocks(
    kind: ResourceKind, topics: Sequence[Topic], names: BlockNames
) -> Iterator[str]:
    """Write topics in order of name."""
    ordered = sorted(topics, key=lambda each: each.name)
    groups = [[each] for each in ordered]
    if len(ordered) >= MANY:
        alike = sorted(ordered, key=_shape)
        groups = [list(members) for _, members in groupby(alike, key=_shape)]
    for members in sorted(groups, key=lambda group: (len(group) == 1, group[0].name)):
        yield _block(kind, members, names)


def _shape(topic: Topic) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return what topics must have in common to share a block: all but name and partitions."""
    return topic.replication_factor or 0, tuple(sorted(topic.config.items()))


def _block(kind: ResourceKind, alike: Sequence[Topic], names: BlockNames) -> str:
    first = alike[0]
    if len(alike) == 1:
        return render_block(kind, names.name(first.name), render_arguments(first))
    instead = {"name": "each.key"}
    each = render_string_set(topic.name for topic in alike)
    if len({topic.partitions for topic in alike}) > 1:
        instead["partitions"] = "each.value"
        each = render_map({topic.name: str(topic.partitions) for topic in alike})
    config = " ".join(f"{key} {value}" for key, value in sorted(first.config.items()))
    lines = [f"for_each = {each}", "", *render_arguments(first, instead)]
    name = f"topics rf {first.replication_factor} {config}".strip()
    return render_block(kind, names.name(name), lines)


def declarable_value(value: object) -> object:
    """Return what is declared of a live value: where replicas stand is left to the cluster.

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
        for each in _blocks(kind, values.get(kind.name, ()), BlockNames(taken.get(kind.name, ())))
    ]
    return format_text("\n".join(blocks), file)


def _blocks(kind: ResourceKind, values: Sequence[object], names: BlockNames) -> Iterator[str]:
    declared = [declarable_value(each) for each in values]
    yield from render_topic_blocks(
        kind, [each for each in declared if isinstance(each, Topic)], names
    )
    yield from render_acl_blocks(kind, [each for each in declared if isinstance(each, Acl)], names)
    others = [each for each in declared if not isinstance(each, Topic | Acl)]
    for value in sorted(others, key=kind.identify):
        yield render_block(kind, names.name(kind.identify(value)), render_arguments(value))
