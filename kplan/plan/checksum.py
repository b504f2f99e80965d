"""Checksum of the actions of a plan."""

import hashlib
import json
from collections.abc import Sequence

from kplan.kinds.schema import to_stored_document
from kplan.model.plan import Action, Change, OutputChange, Reason


def plan_checksum(changes: Sequence[Change], outputs: Sequence[OutputChange]) -> str:
    """Digest what apply would do, independent of time, machine and order of input."""
    digest = hashlib.sha256()
    for line in sorted(_checksum_line(each) for each in changes if _is_effective(each)):
        digest.update(line.encode())
    for output in outputs:
        if output.action is not Action.NO_OP:
            digest.update(json.dumps([output.name, output.after], sort_keys=True).encode())
    text = digest.hexdigest()[:16]
    return "-".join(text[start : start + 4] for start in range(0, 16, 4))


def _is_effective(change: Change) -> bool:
    """Whether the change alters cluster or ownership."""
    return change.action is not Action.NO_OP or change.reason is not Reason.NONE


def _checksum_line(change: Change) -> str:
    before, after = (
        None if value is None else to_stored_document(value)
        for value in (change.before, change.after)
    )
    parts = [str(change.address), change.identity, change.action, change.uid, before, after]
    parts += ["adds first"] if change.adds_first else []
    parts += [{"provider": change.provider}] if change.provider else []
    return json.dumps(parts, sort_keys=True)
