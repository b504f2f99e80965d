"""What became of a plan: every change in one of four boxes, failures with the way out."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.cluster.errors import ERRORS, Handling, handling
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Reason
from kplan.model.refusal import Refusal
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
    faint,
    line,
    strong,
)
from kplan.report.documents.change import MARKS
from kplan.report.documents.notation import count_text

MAX_FAILURES = 20
_MAX_DONE = 100
_STATUSES: Mapping[OutcomeStatus, tuple[str, Tone]] = {
    OutcomeStatus.APPLIED: ("ok", Tone.ADD),
    OutcomeStatus.FAILED: ("failed", Tone.ERROR),
    OutcomeStatus.UNKNOWN: ("unknown", Tone.WARNING),
    OutcomeStatus.SKIPPED: ("not attempted", Tone.FAINT),
}
_ACTIONS = (Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE)
_LOSSES: Mapping[Action, int] = {Action.DELETE: 0, Action.REPLACE: 1}
_DONE: Mapping[Action, str] = {
    Action.CREATE: "created",
    Action.UPDATE: "updated",
    Action.REPLACE: "replaced",
    Action.DELETE: "destroyed",
    Action.FORGET: "forgotten",
    Action.NO_OP: "unchanged",
}
_WAYS_OUT: Mapping[Handling, str] = {
    Handling.RETRY: "Apply again; this passes by itself.",
    Handling.THROTTLED: "Apply again later, or raise controller_mutation_rate for this principal.",
    Handling.SPLIT: "Apply again with fewer records in a request.",
    Handling.IN_DOUBT: "Plan again: reading the cluster tells whether it was done.",
    Handling.COMPARE: "Plan again: somebody else changed the object meanwhile.",
    Handling.STALE: "Plan again: the object is another one than planned.",
    Handling.DENIED: "Grant the right to the principal kplan runs as.",
    Handling.CONVERGED: "Plan again: the goal is reached already.",
    Handling.REJECTED: "Change the configuration: the same request will be refused again.",
}
_PASSING = frozenset({Handling.RETRY, Handling.THROTTLED, Handling.SPLIT, Handling.IN_DOUBT})


def is_retriable(refused: Refusal) -> bool:
    """Whether the same request may succeed when it is sent again."""
    return handling(refused) in _PASSING


def outcome_hint(refused: Refusal) -> str:
    """Say what to do about a refusal."""
    row = ERRORS.get(refused.error)
    return (row.remedy if row else "") or _WAYS_OUT[handling(refused)]


def outcomes_document(outcomes: Sequence[Outcome], again: str, imported: int = 0) -> Document:
    """Sum up an apply. `again` is the command that goes on where this one stopped.

    `imported` counts objects that import blocks took over without a request.
    """
    bad = [
        each for each in outcomes if each.status in {OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN}
    ]
    done = [each for each in outcomes if each.status is OutcomeStatus.APPLIED]
    blocks: list[Block] = [_counts(outcomes)] if outcomes else []
    if bad:
        blocks.append(_failures(bad))
    if waiting := sum(1 for each in done if not each.is_verified):
        blocks.append(
            Paragraph(
                f"Note: {count_text(waiting, 'change')} accepted by the controller but not seen on "
                "every broker yet. kplan wait waits for that; the next plan takes it into account.",
                Tone.WARNING,
            )
        )
    if len(done) == len(outcomes):
        totals = Totals((line(Span(_complete(done, imported), Tone.ADD)),))
    else:
        totals = Totals(_incomplete(outcomes, again))
    return Document((*blocks, totals), "kplan destroy" if _is_destroy(outcomes) else "kplan apply")


def _is_destroy(outcomes: Sequence[Outcome]) -> bool:
    return bool(outcomes) and all(each.change.reason is Reason.DESTROY for each in outcomes)


def _counts(outcomes: Sequence[Outcome]) -> Table:
    """Count by what became of it and by what it was to be; empty columns are left out."""
    used = [each for each in _ACTIONS if any(one.change.action is each for one in outcomes)]
    return Table(
        tuple(
            TableRow((line(Span(word, tone)), *_numbers(outcomes, status, used)))
            for status, (word, tone) in _STATUSES.items()
        ),
        columns=("outcome", *(f"{each.value:>8}" for each in used), f"{'all':>8}"),
        column=0,
    )


def _numbers(
    outcomes: Sequence[Outcome], status: OutcomeStatus, used: Sequence[Action]
) -> Iterator[Line]:
    these = [each.change.action for each in outcomes if each.status is status]
    for action in used:
        yield line(f"{these.count(action):>8,}")
    yield line(f"{len(these):>8,}")


def _failures(bad: Sequence[Outcome]) -> Rows:
    rows = [row for each in bad[:MAX_FAILURES] for row in failure_rows(each)]
    if (more := len(bad) - MAX_FAILURES) > 0:
        rows.append(Row(line(faint(f"and {more:,} more; -json tells each of them"))))
    return Rows(tuple(rows), title=line(strong("What was not done:")))


def failure_rows(each: Outcome) -> Iterator[Row]:
    """Say why a change was not done, and what to do about it."""
    change, refused = each.change, each.refusal
    word, tone = _STATUSES[each.status]
    at = f"  {change.declared_at}" if change.declared_at else ""
    yield Row(
        line(strong(str(change.address)), f" {change.action.value} ", Span(word, tone), faint(at)),
        Mark.ALARM,
    )
    if refused is not None:
        sends = count_text(each.attempts, "attempt")
        passing = "retriable" if is_retriable(refused) else "not retriable"
        told = f"  ({passing}, {sends}, {each.elapsed_ms:,} ms)"
        yield Row(line(str(refused), faint(told)), column=6)
        yield Row(line(f"hint: {outcome_hint(refused)}"), column=6)
    elif each.status is OutcomeStatus.UNKNOWN:
        yield Row(line("No answer came, and the cluster could not be asked."), column=6)
    if each.note:
        yield Row(line(faint(each.note)), column=6)


def applied_rows(outcomes: Sequence[Outcome]) -> Iterator[Rows]:
    """Name what was done, what is gone first; for those who did not see it happen."""
    done = [each for each in outcomes if each.status is OutcomeStatus.APPLIED]
    done.sort(key=lambda each: _LOSSES.get(each.change.action, len(_LOSSES)))
    rows = [Row(outcome_words(each), MARKS[each.change.action]) for each in done[:_MAX_DONE]]
    if (more := len(done) - _MAX_DONE) > 0:
        rows.append(Row(line(faint(f"and {more:,} more; the report as JSON has all"))))
    if rows:
        yield Rows(tuple(rows), title=line(strong("What was done:")))


def _complete(done: Sequence[Outcome], imported: int) -> str:
    """Say it in Terraform's sentence, which tools look for."""
    actions = [each.change.action for each in done]
    replaced = actions.count(Action.REPLACE)
    destroyed = actions.count(Action.DELETE) + replaced
    if _is_destroy(done):
        return f"Destroy complete! Resources: {destroyed} destroyed."
    added, changed = actions.count(Action.CREATE) + replaced, actions.count(Action.UPDATE)
    taken = f"{imported} imported, " if imported else ""
    told = f"{taken}{added} added, {changed} changed, {destroyed} destroyed."
    return f"Apply complete! Resources: {told}"


def _incomplete(outcomes: Sequence[Outcome], again: str) -> tuple[Line, ...]:
    statuses = [each.status for each in outcomes]
    told = ", ".join(
        f"{statuses.count(status):,} {word}" for status, (word, _) in _STATUSES.items()
    )
    return (
        line(Span(f"Apply incomplete: {told}.", Tone.ERROR)),
        line("To go on: ", strong(again), "  (what is done is not done again)"),
    )


def outcome_words(outcome: Outcome) -> Line:
    """Say on one line what became of a change, as soon as that is known."""
    address, action = outcome.change.address, outcome.change.action
    word, tone = _STATUSES[outcome.status]
    if outcome.status is OutcomeStatus.APPLIED:
        word = _DONE[action]
    said = (
        f": {outcome.refusal}"
        if outcome.refusal and outcome.status is not OutcomeStatus.APPLIED
        else ""
    )
    note = f" ({outcome.note})" if outcome.note else ""
    return line(f"{address}: ", Span(word, tone), f"{said}{note}", faint(_took(outcome)))


def _took(outcome: Outcome) -> str:
    if outcome.status is OutcomeStatus.SKIPPED:
        return ""
    sends = f", {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    return f" [{outcome.elapsed_ms:,} ms{sends}]"
