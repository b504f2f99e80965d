"""Outcomes of an apply: counts by status, failures with their hint."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kplan.cluster.errors import ERRORS, Handling, handling
from kplan.kinds.service_status import SERVICES
from kplan.kinds.throttle import CANCEL_MOVES
from kplan.model.errors import Refusal, RefusalOrigin
from kplan.model.outcome import (
    Outcome,
    OutcomeStatus,
    PartitionDeletion,
    PartitionDeletionOutcome,
    RecordDeletionPlan,
)
from kplan.model.plan import Action
from kplan.report.data import Data
from kplan.report.document import (
    Block,
    Document,
    Line,
    Mark,
    Paragraph,
    Row,
    Rows,
    Span,
    Table,
    TableRow,
    Tone,
    Totals,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.change import ACTION_MARKS
from kplan.report.documents.notation import count_text, size_text
from kplan.report.documents.outcome_total import complete_text, is_destroy
from kplan.report.documents.policy import policies_data, policy_blocks

MAX_FAILURES = 20
_MAX_APPLIED = 100
_STATUSES: Mapping[OutcomeStatus, tuple[str, Tone]] = {
    OutcomeStatus.APPLIED: ("ok", Tone.ADD),
    OutcomeStatus.FAILED: ("failed", Tone.ERROR),
    OutcomeStatus.UNKNOWN: ("unknown", Tone.WARNING),
    OutcomeStatus.SKIPPED: ("not attempted", Tone.FAINT),
    OutcomeStatus.IN_PROGRESS: ("in progress", Tone.WARNING),
}
_RARE = frozenset({OutcomeStatus.IN_PROGRESS})
"""Statuses that are named only where there are some."""
_ACTIONS = (Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE)
_ADOPT = "adopt"
_DESTRUCTIVE_ORDER: Mapping[Action, int] = {Action.DELETE: 0, Action.REPLACE: 1}
_APPLIED_WORDS: Mapping[Action, str] = {
    Action.CREATE: "created",
    Action.UPDATE: "updated",
    Action.REPLACE: "replaced",
    Action.DELETE: "destroyed",
    Action.FORGET: "forgotten",
    Action.NO_OP: "unchanged",
}
_HINTS: Mapping[Handling, str] = {
    Handling.RETRY: "Apply again; the condition is temporary.",
    Handling.THROTTLED: "Apply again later, or raise controller_mutation_rate for this principal.",
    Handling.SPLIT: "Apply again with fewer records in a request.",
    Handling.IN_DOUBT: "Plan again: kplan reads whether it was done.",
    Handling.COMPARE: "Plan again: another client changed the object.",
    Handling.STALE: "Plan again: the object is not the planned one.",
    Handling.DENIED: "Grant the right to the principal kplan runs as.",
    Handling.CONVERGED: "Plan again: the object already has the planned value.",
    Handling.REJECTED: "Change the configuration: the same request will be refused again.",
}
_RETRIABLE = frozenset({Handling.RETRY, Handling.THROTTLED, Handling.SPLIT, Handling.IN_DOUBT})


def is_retriable(refused: Refusal) -> bool:
    """Whether the same request may succeed when it is sent again."""
    return handling(refused) in _RETRIABLE


def outcome_hint(refused: Refusal) -> str:
    """Return the fix for a refusal."""
    row = ERRORS.get(refused.error)
    return refused.hint or (row.remedy if row else "") or _HINTS[handling(refused)]


def outcomes_document(
    outcomes: Sequence[Outcome], again: str, imported: int = 0, unplanned: Sequence[str] = ()
) -> Document:
    """Summarize an apply. `again` is the command that continues it.

    `imported` counts objects that import blocks took over without a request. `unplanned` names
    clusters and kinds that could not be read.
    """
    bad = [
        each for each in outcomes if each.status in {OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN}
    ]
    done = [each for each in outcomes if each.status is OutcomeStatus.APPLIED]
    blocks: list[Block] = [_counts(outcomes)] if outcomes else []
    if bad:
        blocks.append(_failures_block(bad))
    if moving := [each for each in outcomes if each.status is OutcomeStatus.IN_PROGRESS]:
        blocks.append(_moves_block(moving))
    blocks += _pending_notes([each for each in done if not each.is_verified])
    pending = sum(1 for each in done if each.pending_reason)
    if pending and len(done) == len(outcomes):
        said = f"Apply incomplete: {count_text(pending, 'change')} accepted, but not in effect."
        totals = Totals((line(Span(said, Tone.ERROR)), line("To go on: ", strong_span(again))))
    elif len(done) == len(outcomes):
        said = complete_text(done, imported)
        totals = Totals((line(Span(said, Tone.ADD)),))
        if unplanned:
            said = said.replace(" complete!", " incomplete!").removesuffix(".")
            said += f"; nothing was planned for {', '.join(unplanned)}."
            totals = Totals((line(Span(said, Tone.ERROR)),))
    else:
        totals = Totals(_incomplete_lines(outcomes, again))
    return Document((*blocks, totals), "kplan destroy" if is_destroy(outcomes) else "kplan apply")


def _pending_notes(pending: Sequence[Outcome]) -> Iterator[Paragraph]:
    """Say what brokers, or the services that serve other kinds, do not have yet."""
    for service in sorted({SERVICES.get(each.change.kind, "") for each in pending}):
        these = [each for each in pending if SERVICES.get(each.change.kind, "") == service]
        where = f"in {service}" if service else f"on {_pending_text(these)}"
        yield Paragraph(
            f"Note: {count_text(len(these), 'change')} accepted by {service or 'the controller'} "
            f"but not seen {where} yet. kplan wait waits for that; the next plan takes it "
            "into account.",
            Tone.WARNING,
        )
        for each in [each for each in these if each.pending_reason][:MAX_FAILURES]:
            yield Paragraph(f"{each.change.address}: {each.pending_reason}", Tone.WARNING)


def _pending_text(outcomes: Sequence[Outcome]) -> str:
    """Name the brokers that were asked and do not serve a change yet."""
    brokers = sorted({broker for each in outcomes for broker in each.pending_brokers})
    named = ", ".join(map(str, brokers))
    return (
        f"broker {named}"
        if len(brokers) == 1
        else f"brokers {named}"
        if brokers
        else ("every broker")
    )


def _counts(outcomes: Sequence[Outcome]) -> Table:
    """Count by outcome and action; empty columns are left out."""
    columns = [
        each
        for each in (*map(str, _ACTIONS), _ADOPT)
        if any(_column(one) == each for one in outcomes)
    ]
    return Table(
        tuple(
            TableRow((line(Span(word, tone)), *_count_cells(outcomes, status, columns)))
            for status, (word, tone) in _named_statuses(outcomes)
        ),
        columns=("outcome", *(f"{each:>8}" for each in columns), f"{'all':>8}"),
        column=0,
    )


def _column(outcome: Outcome) -> str:
    """Name the column that counts an outcome; what existed already was not created."""
    return _ADOPT if outcome.is_adopted else outcome.change.action.value


def _named_statuses(
    outcomes: Sequence[Outcome],
) -> Iterator[tuple[OutcomeStatus, tuple[str, Tone]]]:
    met = {each.status for each in outcomes}
    return (each for each in _STATUSES.items() if each[0] in met or each[0] not in _RARE)


def _moves_block(moving: Sequence[Outcome]) -> Rows:
    """Describe the moves in progress, and the commands for them."""
    rows = [Row(outcome_words(each), ACTION_MARKS[each.change.action]) for each in moving]
    hints = (
        "To see how far it is: kplan reassign status",
        CANCEL_MOVES,
    )
    rows += [Row(line(each), column=2) for each in hints]
    return Rows(tuple(rows), title=line(strong_span("The cluster still moves replicas:")))


def _count_cells(
    outcomes: Sequence[Outcome], status: OutcomeStatus, columns: Sequence[str]
) -> Iterator[Line]:
    these = [_column(each) for each in outcomes if each.status is status]
    for column in columns:
        yield line(f"{these.count(column):>8,}")
    yield line(f"{len(these):>8,}")


def _failures_block(bad: Sequence[Outcome]) -> Rows:
    rows = [row for each in bad[:MAX_FAILURES] for row in failure_rows(each)]
    if (more := len(bad) - MAX_FAILURES) > 0:
        rows.append(Row(line(faint_span(f"and {more:,} more; -json lists all of them"))))
    return Rows(tuple(rows), title=line(strong_span("What was not done:")))


def failure_rows(each: Outcome) -> Iterator[Row]:
    """Explain why a change was not applied, and how to fix it."""
    change, refused = each.change, each.refusal
    word, tone = _STATUSES[each.status]
    at = f"  {change.declared_at}" if change.declared_at else ""
    yield Row(
        line(
            strong_span(str(change.address)),
            f" {change.action.value} ",
            Span(word, tone),
            faint_span(at),
        ),
        Mark.ALARM,
    )
    if refused is not None:
        sends = count_text(each.attempts, "attempt")
        passing = "retriable" if is_retriable(refused) else "not retriable"
        detail = f"  ({passing}, {sends}, {each.elapsed_ms:,} ms)"
        yield Row(line(str(refused), faint_span(detail)), column=6)
        yield Row(line(f"hint: {outcome_hint(refused)}"), column=6)
    elif each.status is OutcomeStatus.UNKNOWN:
        yield Row(line("No answer came, and the cluster could not be asked."), column=6)
    if each.note:
        yield Row(line(faint_span(each.note)), column=6)


def applied_blocks(outcomes: Sequence[Outcome]) -> Iterator[Rows]:
    """Name the applied changes, deletions first; for readers who did not watch."""
    done = [each for each in outcomes if each.status is OutcomeStatus.APPLIED]
    done.sort(key=lambda each: _DESTRUCTIVE_ORDER.get(each.change.action, len(_DESTRUCTIVE_ORDER)))
    rows = [
        Row(outcome_words(each), ACTION_MARKS[each.change.action]) for each in done[:_MAX_APPLIED]
    ]
    if (more := len(done) - _MAX_APPLIED) > 0:
        rows.append(Row(line(faint_span(f"and {more:,} more; the report as JSON has all"))))
    if rows:
        yield Rows(tuple(rows), title=line(strong_span("What was done:")))


def _incomplete_lines(outcomes: Sequence[Outcome], again: str) -> tuple[Line, ...]:
    statuses = [each.status for each in outcomes]
    detail = ", ".join(
        f"{statuses.count(status):,} {word}" for status, (word, _) in _named_statuses(outcomes)
    )
    said = line(Span(f"Apply incomplete: {detail}.", Tone.ERROR))
    rest = [each.refusal for each in outcomes if each.status is not OutcomeStatus.APPLIED]
    if all(each is not None and each.origin is RefusalOrigin.POLICY for each in rest):
        return (said,)  # the same command would be refused again
    return (
        said,
        line("To go on: ", strong_span(again), "  (completed changes are not repeated)"),
    )


def outcome_words(outcome: Outcome) -> Line:
    """Say on one line the outcome of a change, as soon as that is known."""
    address, action = outcome.change.address, outcome.change.action
    word, tone = _STATUSES[outcome.status]
    if outcome.status is OutcomeStatus.APPLIED:
        word = "adopted" if outcome.is_adopted else _APPLIED_WORDS[action]
    said = (
        f": {outcome.refusal}"
        if outcome.refusal and outcome.status is not OutcomeStatus.APPLIED
        else ""
    )
    note = f" ({outcome.note})" if outcome.note else ""
    return line(
        f"{address}: ", Span(word, tone), f"{said}{note}", faint_span(_elapsed_text(outcome))
    )


def _elapsed_text(outcome: Outcome) -> str:
    if outcome.status is OutcomeStatus.SKIPPED:
        return ""
    sends = f", {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    return f" [{outcome.elapsed_ms:,} ms{sends}]"


_COLUMNS = ("partition", "first offset", "end", "first remaining", "records to go", "bytes to go")
_WORDS: Mapping[OutcomeStatus, tuple[str, Tone]] = {
    OutcomeStatus.APPLIED: ("ok", Tone.ADD),
    OutcomeStatus.FAILED: ("failed", Tone.ERROR),
    OutcomeStatus.UNKNOWN: ("unknown", Tone.WARNING),
    OutcomeStatus.SKIPPED: ("not attempted", Tone.FAINT),
}


def deletion_plan_document(plan: RecordDeletionPlan) -> Document:
    """Show the deletions, partition by partition, with the findings of policies."""
    granted = frozenset(plan.allowed_deletions)
    table = Table(
        tuple(_deletion_row(each, is_sent=each in granted) for each in plan.deletions),
        columns=_COLUMNS,
        title=(Row(line(strong_span("Records that will be deleted:")), column=0),),
    )
    blocks: tuple[Block, ...] = (
        table,
        *policy_blocks(plan.violations),
        Totals((line(_total_text(plan.allowed_deletions)),)),
    )
    return Document(blocks, "kplan records delete")


def _deletion_row(cut: PartitionDeletion, *, is_sent: bool) -> TableRow:
    numbers = (cut.start, cut.end, max(cut.target, cut.start), cut.records)
    return TableRow(
        (
            line(f"{cut.topic}:{cut.partition}"),
            *(line(f"{each:,}") for each in numbers),
            line(_size_or_unknown(cut.bytes)),
        ),
        Mark.REMOVE if is_sent else Mark.NONE,
    )


def _size_or_unknown(count: int | None) -> str:
    return "UNKNOWN" if count is None else size_text(count) or f"{count:,} B"


def _total_text(cuts: Sequence[PartitionDeletion]) -> str:
    if not cuts:
        return "No records will be deleted."
    records = sum(each.records for each in cuts)
    total = _total_bytes(cuts)
    detail = "size UNKNOWN" if total is None else _size_or_unknown(total)
    return (
        f"Plan: up to {count_text(records, 'record')} ({detail}) of "
        f"{count_text(len(cuts), 'partition')} to delete. There is no undo."
    )


def _total_bytes(cuts: Iterable[PartitionDeletion]) -> int | None:
    sizes = [each.bytes for each in cuts]
    known = [each for each in sizes if each is not None]
    return sum(known) if len(known) == len(sizes) else None


def deletion_outcome_document(outcomes: Sequence[PartitionDeletionOutcome]) -> Document:
    """Return the outcome of each partition."""
    done = sum(1 for each in outcomes if each.status is OutcomeStatus.APPLIED)
    rows = tuple(row for each in outcomes for row in _outcome_rows(each))
    if done == len(outcomes):
        gone = sum(each.deletion.records for each in outcomes)
        found = Span(f"Deletion complete! Up to {count_text(gone, 'record')} deleted.", Tone.ADD)
    else:
        found = Span(f"Deletion incomplete: {done:,} of {len(outcomes):,} ok.", Tone.ERROR)
    return Document((Rows(rows), Totals((line(found),))), "kplan records delete")


def _outcome_rows(each: PartitionDeletionOutcome) -> Iterable[Row]:
    word, tone = _WORDS[each.status]
    now = "" if each.start is None else f"  first offset is {each.start:,}"
    mark = Mark.ALARM if each.status in {OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN} else Mark.NONE
    at = f"{each.deletion.topic}:{each.deletion.partition}"
    yield Row(line(strong_span(at), " ", Span(word, tone), faint_span(now)), mark)
    if each.refusal is not None:
        yield Row(line(str(each.refusal)), column=6)
        yield Row(line(f"hint: {outcome_hint(each.refusal)}"), column=6)


def deletion_data(plan: RecordDeletionPlan, outcomes: Sequence[PartitionDeletionOutcome]) -> Data:
    """Write the plan and the outcome of it; without outcomes nothing was sent."""
    granted = frozenset(plan.allowed_deletions)
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
