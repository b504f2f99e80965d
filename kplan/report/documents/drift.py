"""What changed on the cluster behind kplan's back."""

from collections.abc import Iterator

from kplan.model.plan import Action, Change, Reason
from kplan.report.document import Mark, Row, line, strong
from kplan.report.documents.body import ABSENT, SENSITIVE, Entry, Verbatim, rows
from kplan.report.documents.notation import path_text

_SAID = frozenset({Reason.RECREATED_OUTSIDE, Reason.DELETED_OUTSIDE})


def drift_rows(change: Change) -> Iterator[Row]:
    """Show one drifted object, before as last applied, after as it is live."""
    mark = Mark.REMOVE if change.action is Action.DELETE else Mark.CHANGE
    why = f"  ({change.reason.value})" if change.reason in _SAID else ""
    yield Row(line(strong(str(change.address)), why), mark)
    entries = [
        Entry(
            path_text(each.path),
            _side(each.before, "before", is_hidden=each.sensitive),
            _side(each.after, "after", is_hidden=each.sensitive),
            each.path[-1],
        )
        for each in change.attributes
    ]
    yield from rows(entries, 8)


def _side(value: object, which: str, *, is_hidden: bool) -> object:
    if value is None:
        return ABSENT
    return Verbatim(SENSITIVE, which) if is_hidden else value
