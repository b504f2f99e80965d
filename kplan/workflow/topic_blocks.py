"""Blocks for live topics: one each, or for many of them one for all that are alike."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from kplan.kinds.base import ResourceKind
from kplan.kinds.topic_value import Topic
from kplan.workflow.blocks import BlockNames, arguments, block, mapping, string_set

MANY = 100
"""From so many topics on those that are alike share a block: that is short, and fast to read."""


def topic_blocks(kind: ResourceKind, topics: Sequence[Topic], names: BlockNames) -> Iterator[str]:
    """Write topics in order of name."""
    ordered = sorted(topics, key=lambda each: each.name)
    groups = [[each] for each in ordered]
    if len(ordered) >= MANY:
        alike = sorted(ordered, key=_shape)
        groups = [list(members) for _, members in groupby(alike, key=_shape)]
    for members in sorted(groups, key=lambda group: (len(group) == 1, group[0].name)):
        yield _block(kind, members, names)


def _shape(topic: Topic) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Give what topics must have in common to share a block: all but name and partitions."""
    return topic.replication_factor or 0, tuple(sorted(topic.config.items()))


def _block(kind: ResourceKind, alike: Sequence[Topic], names: BlockNames) -> str:
    first = alike[0]
    if len(alike) == 1:
        return block(kind, names.name(first.name), arguments(first))
    instead = {"name": "each.key"}
    each = string_set(topic.name for topic in alike)
    if len({topic.partitions for topic in alike}) > 1:
        instead["partitions"] = "each.value"
        each = mapping({topic.name: str(topic.partitions) for topic in alike})
    config = " ".join(f"{key} {value}" for key, value in sorted(first.config.items()))
    lines = [f"for_each = {each}", "", *arguments(first, instead)]
    name = f"topics rf {first.replication_factor} {config}".strip()
    return block(kind, names.name(name), lines)
