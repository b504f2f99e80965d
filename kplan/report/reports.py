"""The third door of the room: every subject as a report, which any format writes.

`at` is the time that messages of a stream carry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kplan.model.diagnostic import Diagnostic, has_errors
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan
from kplan.report.document import Document
from kplan.report.documents import cases, drift, gauges, stream
from kplan.report.documents.diagnostics import problems
from kplan.report.documents.drift import Coverage
from kplan.report.documents.outcomes import done_rows, outcomes_document
from kplan.report.documents.plan import plan_document
from kplan.report.documents.plan_data import plan_data
from kplan.report.documents.tallies import tallies
from kplan.report.documents.validation import problems_document, validation_data
from kplan.report.report import Counts, Report

Sources = Mapping[str, str]


def plan_report(plan: Plan, sources: Sources, at: str, *, group_acls: bool = True) -> Report:
    """Report a plan with its problems; `sources` maps file to its text."""

    def document() -> Document:
        told = plan_document(plan, group_acls=group_acls)
        first, *rest = told.blocks
        return replace(told, blocks=(first, *problems(plan.all_diagnostics, sources), *rest))

    return Report(
        document,
        lambda: plan_data(plan),
        lambda: cases.plan_cases(plan, sources),
        lambda: (
            stream.version_message(at),
            *stream.plan_messages(plan, at),
            *_messages(plan.all_diagnostics, sources, at),
        ),
        _counts(plan.count),
        lambda: gauges.plan_gauges(plan, at),
    )


def apply_report(
    plan: Plan, outcomes: Sequence[Outcome], sources: Sources, at: str, again: str
) -> Report:
    """Report what became of a plan; `again` is the command that goes on after an incomplete one."""
    done = [each.change for each in outcomes if each.status is OutcomeStatus.APPLIED]

    def document() -> Document:
        told = outcomes_document(outcomes, again, plan.import_count)
        found = tuple(problems(plan.all_diagnostics, sources))
        counts = tuple(replace(each, title=f"Done, by {each.noun}") for each in tallies(done))
        *blocks, totals = told.blocks
        blocks = [*found, *blocks, *done_rows(outcomes), totals]
        cluster = plan.based_on.cluster_id
        title = f"{told.title} on {cluster}" if cluster else told.title
        return replace(told, blocks=tuple(blocks), title=title, tallies=counts)

    return Report(
        document,
        lambda: stream.outcomes_data(outcomes),
        lambda: cases.outcome_cases(outcomes),
        lambda: (
            stream.version_message(at),
            *(told for each in outcomes for told in stream.outcome_messages(each, at)),
            stream.summary_message(outcomes, at),
        ),
        _counts(partial(_count, done)),
        lambda: gauges.outcome_gauges(plan.based_on.cluster_id, outcomes, at),
    )


def drift_report(changes: Sequence[Change], coverage: Coverage, at: str) -> Report:
    """Report what changed behind kplan's back."""
    return Report(
        lambda: drift.drift_document(changes, coverage),
        lambda: drift.drift_data(changes, coverage),
        lambda: cases.drift_cases(changes, coverage),
        lambda: (stream.version_message(at), *stream.drift_messages(changes, at)),
        _counts(partial(_count, changes)),
        lambda: gauges.drift_gauges(changes, coverage, at),
    )


def problems_report(
    title: str,
    diagnostics: Sequence[Diagnostic],
    sources: Sources,
    at: str,
    sound: str = "The configuration is valid",
) -> Report:
    """Report what was checked, or why a command came to no result; `sound` says all is well."""
    return Report(
        lambda: problems_document(title, diagnostics, sources, sound),
        lambda: validation_data(diagnostics, sources),
        lambda: cases.validation_cases(diagnostics, sources),
        lambda: (stream.version_message(at), *_messages(diagnostics, sources, at)),
        gauges=lambda: tuple(
            gauges.run_gauges(
                title.removeprefix("kplan "), at, is_whole=not has_errors(diagnostics)
            )
        ),
    )


def _messages(diagnostics: Sequence[Diagnostic], sources: Sources, at: str) -> list[stream.Message]:
    return [stream.diagnostic_message(each, sources, at) for each in diagnostics]


def _count(changes: Sequence[Change], *actions: Action) -> int:
    return sum(1 for each in changes if each.action in actions)


def _counts(count: Callable[..., int]) -> Counts:
    return Counts(
        count(Action.CREATE, Action.REPLACE),
        count(Action.UPDATE),
        count(Action.DELETE, Action.REPLACE),
    )
