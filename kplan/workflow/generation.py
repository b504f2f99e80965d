"""Tidy HCL for objects that are live: what a person would have written to declare them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from unicodedata import is_normalized

from kplan.config.format.formatter import format_text
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import to_document
from kplan.kinds.topic_value import THROTTLED_REPLICAS, Topic
from kplan.workflow.acl_blocks import acl_blocks
from kplan.workflow.blocks import BlockNames, arguments, block
from kplan.workflow.topic_blocks import topic_blocks


def declarable(value: object) -> object:
    """Give what is declared of a live value: where replicas stand is left to the cluster.

    So are the throttles of a reassignment, which go when it ends.
    """
    if not isinstance(value, Topic):
        return value
    config = {key: each for key, each in value.config.items() if key not in THROTTLED_REPLICAS}
    return replace(value, replica_assignment=None, moving_to=None, config=config)


def is_writable(value: object) -> bool:
    """Whether HCL can say the value: whatever is written there is read in composed form."""
    return is_normalized("NFC", json.dumps(to_document(value), ensure_ascii=False))


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
        each
        for kind in sorted(kinds, key=lambda each: (each.schema is Acl, each.name))
        for each in _blocks(kind, values.get(kind.name, ()), BlockNames(taken.get(kind.name, ())))
    ]
    return format_text("\n".join(blocks), file)


def _blocks(kind: ResourceKind, values: Sequence[object], names: BlockNames) -> Iterator[str]:
    declared = [declarable(each) for each in values]
    yield from topic_blocks(kind, [each for each in declared if isinstance(each, Topic)], names)
    yield from acl_blocks(kind, [each for each in declared if isinstance(each, Acl)], names)
    others = [each for each in declared if not isinstance(each, Topic | Acl)]
    for value in sorted(others, key=kind.identify):
        yield block(kind, names.name(kind.identify(value)), arguments(value))
