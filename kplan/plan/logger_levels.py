"""Levels of loggers that are declared, and that a change of another logger would take along."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kplan.cluster.setting_keys import ROOT_LOGGER
from kplan.kinds.logger import Logger
from kplan.model.plan import Action, Change, Reason

_WITH_CHANGE = {
    Reason.ADOPTED: Reason.ADOPTED_AND_CHANGED,
    Reason.IMPORTED: Reason.IMPORTED_AND_CHANGED,
}


def keep_logger_levels(changes: Iterable[Change]) -> list[Change]:
    """Set loggers again that are as declared, and may have that from a logger which changes.

    Kafka does not say which levels are a logger's own: one that has it from its parent or from root
    would have another one after the apply.
    """
    found = list(changes)
    moving = [
        each for each in found if each.action is Action.UPDATE and isinstance(each.before, Logger)
    ]
    return [_keep_level(each, moving) for each in found] if moving else found


def _keep_level(change: Change, moving: Iterable[Change]) -> Change:
    if change.action is not Action.NO_OP or not isinstance(change.after, Logger):
        return change
    parents = [str(each.address) for each in _moving_parents(change, change.after, moving)]
    if not parents:
        return change
    note = f"set again: it may have its level from {', '.join(parents)}"
    reason = _WITH_CHANGE.get(change.reason, change.reason)
    return replace(change, action=Action.UPDATE, reason=reason, notes=(*change.notes, note))


def _moving_parents(change: Change, own: Logger, moving: Iterable[Change]) -> Iterator[Change]:
    for each in moving:
        parent = each.before
        if (
            isinstance(parent, Logger)
            and each.provider == change.provider
            and (parent.node_id, parent.level) == (own.node_id, own.level)
            and (parent.logger == ROOT_LOGGER or own.logger.startswith(f"{parent.logger}."))
        ):
            yield each
