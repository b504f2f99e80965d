"""What goes when records are deleted, and what became of it."""

from collections.abc import Iterable, Mapping, Sequence

from kplan.model.outcome import OutcomeStatus
from kplan.model.record_deletion import (
    PartitionDeletion,
    PartitionDeletionOutcome,
    RecordDeletionPlan,
)
from kplan.report.data import Data
from kplan.report.document import (
    Block,
    Document,
    Mark,
    Row,
    Rows,
    Span,
    Table,
    TableRow,
    Tone,
    Totals,
    faint,
    line,
    strong,
)
from kplan.report.documents.notation import count_text, size_text
from kplan.report.documents.outcome import outcome_hint
from kplan.report.documents.policy import policies_data, policy_blocks

_COLUMNS = ("partition", "first offset", "end", "first to stay", "records to go", "bytes to go")
_WORDS: Mapping[OutcomeStatus, tuple[str, Tone]] = {
    OutcomeStatus.APPLIED: ("ok", Tone.ADD),
    OutcomeStatus.FAILED: ("failed", Tone.ERROR),
    OutcomeStatus.UNKNOWN: ("unknown", Tone.WARNING),
    OutcomeStatus.SKIPPED: ("not attempted", Tone.FAINT),
}


def deletion_plan_document(plan: RecordDeletionPlan) -> Document:
    """Show what is to go, partition by partition, and what policies say of it."""
    granted = frozenset(plan.allowed)
    table = Table(
        tuple(_row(each, is_sent=each in granted) for each in plan.deletions),
        columns=_COLUMNS,
        title=(Row(line(strong("Records that will be deleted:")), column=0),),
    )
    blocks: tuple[Block, ...] = (
        table,
        *policy_blocks(plan.violations),
        Totals((line(_sum(plan.allowed)),)),
    )
    return Document(blocks, "kplan records delete")


def _row(cut: PartitionDeletion, *, is_sent: bool) -> TableRow:
    numbers = (cut.start, cut.end, max(cut.target, cut.start), cut.records)
    return TableRow(
        (
            line(f"{cut.topic}:{cut.partition}"),
            *(line(f"{each:,}") for each in numbers),
            line(_bytes(cut.bytes)),
        ),
        Mark.REMOVE if is_sent else Mark.NONE,
    )


def _bytes(count: int | None) -> str:
    return "UNKNOWN" if count is None else size_text(count) or f"{count:,} B"


def _sum(cuts: Sequence[PartitionDeletion]) -> str:
    if not cuts:
        return "No records will be deleted."
    records = sum(each.records for each in cuts)
    total = _total(cuts)
    told = "size UNKNOWN" if total is None else _bytes(total)
    return (
        f"Plan: up to {count_text(records, 'record')} ({told}) of "
        f"{count_text(len(cuts), 'partition')} to delete. There is no undo."
    )


def _total(cuts: Iterable[PartitionDeletion]) -> int | None:
    sizes = [each.bytes for each in cuts]
    known = [each for each in sizes if each is not None]
    return sum(known) if len(known) == len(sizes) else None


def deletion_outcome_document(outcomes: Sequence[PartitionDeletionOutcome]) -> Document:
    """Return what became of each partition."""
    done = sum(1 for each in outcomes if each.status is OutcomeStatus.APPLIED)
    rows = tuple(row for each in outcomes for row in _outcome_rows(each))
    if done == len(outcomes):
        gone = sum(each.deletion.records for each in outcomes)
        told = Span(f"Deletion complete! Up to {count_text(gone, 'record')} deleted.", Tone.ADD)
    else:
        told = Span(f"Deletion incomplete: {done:,} of {len(outcomes):,} ok.", Tone.ERROR)
    return Document((Rows(rows), Totals((line(told),))), "kplan records delete")


def _outcome_rows(each: PartitionDeletionOutcome) -> Iterable[Row]:
    word, tone = _WORDS[each.status]
    now = "" if each.start is None else f"  first offset is {each.start:,}"
    mark = Mark.ALARM if each.status in {OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN} else Mark.NONE
    at = f"{each.deletion.topic}:{each.deletion.partition}"
    yield Row(line(strong(at), " ", Span(word, tone), faint(now)), mark)
    if each.refusal is not None:
        yield Row(line(str(each.refusal)), column=6)
        yield Row(line(f"hint: {outcome_hint(each.refusal)}"), column=6)


def deletion_data(plan: RecordDeletionPlan, outcomes: Sequence[PartitionDeletionOutcome]) -> Data:
    """Write the plan and what became of it; without outcomes nothing was sent."""
    granted = frozenset(plan.allowed)
    return {
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "low_watermark": each.start,
                "high_watermark": each.end,
                "before": each.target,
                "records": each.records,
                "bytes": each.bytes,
                "granted": each in granted,
            }
            for each in plan.deletions
        ],
        "policies": policies_data(plan.violations),
        "outcomes": [_outcome_data(each) for each in outcomes],
    }


def _outcome_data(each: PartitionDeletionOutcome) -> Data:
    return {
        "topic": each.deletion.topic,
        "partition": each.deletion.partition,
        "status": each.status.value,
        "low_watermark": each.start,
        "error": each.refusal.error if each.refusal else None,
        "message": each.refusal.message if each.refusal else None,
    }
