"""Order of a plan: batches by rank; ACL deletes right before the adds that replace them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from kplan.kinds.base import ResourceKind
from kplan.model.plan import Action, Batch, Change, Step


def build_batches(
    changes: Sequence[Change], kinds: Sequence[ResourceKind], max_records: int
) -> tuple[Batch, ...]:
    """Cut the changes into requests of at most `max_records` controller records, in rank order.

    The two steps of a replacement follow each other chunk by chunk, so that as little time as
    possible passes between the delete of an ACL and the add that replaces it (design law 4).
    """
    by_name = {kind.name: kind for kind in kinds}
    groups: dict[tuple[str, tuple[Step, ...]], list[Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda each: (each.kind, each.identity)):
        steps = by_name[change.kind].steps(change)
        if change.action is Action.REPLACE:
            groups[change.kind, steps].append(change)
        else:
            for step in steps:
                groups[change.kind, (step,)].append(change)
    ordered = sorted(groups.items(), key=lambda item: (item[0][1], item[0][0]))
    return tuple(
        Batch(name, step, chunk)
        for (name, steps), members in ordered
        for chunk in split_changes(by_name[name], steps, members, max_records)
        for step in steps
    )


def split_changes(
    kind: ResourceKind, steps: Sequence[Step], changes: Sequence[Change], max_records: int
) -> Iterator[tuple[Change, ...]]:
    """Cut by controller records; one change larger than the limit goes alone."""
    total = 0
    numbers: list[int] = []
    number = 0
    for change in changes:
        weight = max(kind.record_count(step, change) for step in steps)
        if total and total + weight > max_records:
            total, number = 0, number + 1
        total += weight
        numbers.append(number)
    for _, members in groupby(zip(numbers, changes, strict=True), key=lambda pair: pair[0]):
        yield tuple(change for _, change in members)
