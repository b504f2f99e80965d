"""What changed on the cluster behind kplan's back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kplan.model.plan import Action, Change, Reason
from kplan.report.data import Data
from kplan.report.document import (
    Block,
    Document,
    Mark,
    Paragraph,
    Row,
    Rows,
    Tone,
    Totals,
    line,
    strong,
)
from kplan.report.documents.body import ABSENT, SENSITIVE, Entry, Verbatim, rows
from kplan.report.documents.notation import path_text
from kplan.report.documents.plan_data import change_data
from kplan.report.documents.tallies import tallies
from kplan.report.documents.units import counted

_SAID = frozenset({Reason.RECREATED_OUTSIDE, Reason.DELETED_OUTSIDE})


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the cluster the drift speaks of: live objects per kind, and what stayed dark."""

    managed: Mapping[str, int] = field(default_factory=dict)
    unmanaged: Mapping[str, int] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def drift_document(changes: Sequence[Change], coverage: Coverage) -> Document:
    """Show every drifted object, what is not managed, and what could not be seen."""
    blocks: list[Block] = []
    if changes:
        blocks.append(
            Rows(
                tuple(row for each in changes for row in drift_rows(each)),
                title=line(strong("Objects have changed outside of kplan:")),
            )
        )
    blocks += _notes(coverage)
    verdict = Totals((line(strong(_verdict(changes, coverage))),))
    return Document((*blocks, verdict), "kplan drift", tallies(changes))


def _verdict(changes: Sequence[Change], coverage: Coverage) -> str:
    if changes:
        gone = sum(1 for each in changes if each.action is Action.DELETE)
        return f"Drift: {len(changes) - gone:,} changed, {gone:,} gone."
    if coverage.unread or coverage.hidden:
        return "No drift in what could be read."
    return "No drift. What kplan owns is as it was last applied."


def _notes(coverage: Coverage) -> Iterator[Block]:
    kinds = sorted(coverage.managed.keys() | coverage.unmanaged.keys())
    told = ", ".join(
        f"{kind} {coverage.managed.get(kind, 0):,} of {total:,}"
        for kind in kinds
        if (total := coverage.managed.get(kind, 0) + coverage.unmanaged.get(kind, 0))
    )
    if told:
        yield Paragraph(f"Managed by kplan: {told}.")
    for kind, reason in sorted(coverage.unread.items()):
        yield Paragraph(
            f"Note: {kind} objects could not be read ({reason.rstrip('.')}).", Tone.WARNING
        )
    if coverage.hidden:
        names = ", ".join(coverage.hidden[:20]) + (" ..." if len(coverage.hidden) > 20 else "")  # noqa: PLR2004 - a line's worth
        count = counted(len(coverage.hidden), "object")
        yield Paragraph(f"Note: the cluster hides {count} from us: {names}.", Tone.WARNING)


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


def drift_data(changes: Sequence[Change], coverage: Coverage) -> Data:
    """Write the drift; each entry of `resource_drift` has the shape it has in a plan."""
    return {
        "format_version": "1.0",
        "drifted": bool(changes),
        "complete": not coverage.unread and not coverage.hidden,
        "resource_drift": [change_data(each, frozenset()) for each in changes],
        "managed": dict(sorted(coverage.managed.items())),
        "unmanaged": dict(sorted(coverage.unmanaged.items())),
        "unread": dict(sorted(coverage.unread.items())),
        "hidden": list(coverage.hidden),
    }
