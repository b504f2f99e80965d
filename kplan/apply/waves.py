"""What of a plan may be in flight at the same time, without a step overtaking another."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from kplan.model.plan import Batch

Lane = tuple[Batch, ...]
"""Batches that go one after the other: the delete of ACLs, and the add that replaces them."""


def waves(batches: Sequence[Batch]) -> Iterator[tuple[Lane, ...]]:
    """Cut batches, in their order, into waves of lanes that take the same steps.

    A wave begins when the one before it is settled; its lanes touch different objects.
    """
    for _, wave in groupby(_lanes(batches), key=_steps):
        yield tuple(wave)


def _lanes(batches: Sequence[Batch]) -> Iterator[Lane]:
    lane: Lane = ()
    for batch in batches:
        if lane and not _is_next(lane[-1], batch):
            yield lane
            lane = ()
        lane += (batch,)
    if lane:
        yield lane


def _is_next(before: Batch, batch: Batch) -> bool:
    """Whether both are about the same objects."""
    return before.kind == batch.kind and before.changes == batch.changes


def _steps(lane: Lane) -> tuple[object, ...]:
    return lane[0].kind, tuple(batch.step for batch in lane)
