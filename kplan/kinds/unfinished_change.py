"""What the executed steps of changes have done that were not applied as a whole."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.kinds.base import CreateFirstKind, ResourceKind, StepwiseKind
from kplan.model.address import Address
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change
from kplan.model.state import OwnedObject, owned_after

_RESUMED = frozenset({OutcomeStatus.SKIPPED, OutcomeStatus.IN_PROGRESS})


def is_half_replaced(kinds: Sequence[ResourceKind], outcome: Outcome) -> bool:
    """Whether the new object was created, and the one that it replaces is perhaps there still."""
    return _is_begun_replacement(outcome) and _is_created_first(kinds, outcome)


def creates_object(
    kinds: Sequence[ResourceKind], change: Change, steps: Sequence[str], done: int
) -> bool:
    """Whether a change creates its object with the step that follows those that are `done`."""
    if change.action is not Action.REPLACE:
        return change.action is Action.CREATE
    is_first = _creating_step(kinds, change) == steps[0]
    return is_first is (done == 0)


def owned_after_outcomes(
    kinds: Sequence[ResourceKind],
    owned: Mapping[Address, OwnedObject],
    settled: Iterable[tuple[Change, Outcome | None]],
    outcomes: Sequence[Outcome],
) -> dict[Address, OwnedObject]:
    """Return the owned objects after the `settled` changes and the begun ones of the outcomes.

    Of a replacement the new object is owned if it was created, and the old one is not any more if
    it was deleted: else either would count as a change by someone else. The steps of updates count
    for the same reason.
    """
    pairs = list(settled)
    for each in filter(_is_begun_replacement, outcomes):
        if _is_created_first(kinds, each):
            pairs.append((replace(each.change, action=Action.CREATE), each))
        elif not (each.change.is_recreated and each.status in _RESUMED):
            # A resume deletes an object again that its cluster still shows.
            pairs.append((replace(each.change, after=None), each))
    return _fold_steps(kinds, owned_after(owned, pairs), outcomes)


def _is_begun_replacement(outcome: Outcome) -> bool:
    is_open = outcome.status is not OutcomeStatus.APPLIED
    return is_open and outcome.change.action is Action.REPLACE and bool(outcome.done_steps)


def _is_created_first(kinds: Sequence[ResourceKind], outcome: Outcome) -> bool:
    return outcome.done_steps[0] == _creating_step(kinds, outcome.change)


def _creating_step(kinds: Sequence[ResourceKind], change: Change) -> str | None:
    kind = next(each for each in kinds if each.name == change.kind)
    return kind.creating_step if isinstance(kind, CreateFirstKind) else None


def _fold_steps(
    kinds: Sequence[ResourceKind],
    owned: Mapping[Address, OwnedObject],
    outcomes: Iterable[Outcome],
) -> dict[Address, OwnedObject]:
    """Return owned objects with what the executed steps of unfinished updates have changed."""
    stepwise = {each.name: each for each in kinds if isinstance(each, StepwiseKind)}
    begun = {
        each.change.key: each
        for each in outcomes
        if each.done_steps and each.change.action is Action.UPDATE and each.change.kind in stepwise
    }

    def fold(held: OwnedObject) -> OwnedObject:
        if (found := begun.get(held.key)) is None:
            return held
        kind, after = stepwise[held.address.kind], found.change.after
        return replace(held, value=kind.value_after(held.value, after, found.done_steps))

    return {at: fold(each) for at, each in owned.items()}
