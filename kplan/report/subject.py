"""Every subject as a report, which any format writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import cast

from kplan.model.diagnostic import Diagnostic, has_errors
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Change, Plan
from kplan.model.table import Figures
from kplan.report.data import Data, Gauge
from kplan.report.document import Document
from kplan.report.documents import access, case, drift, gauge, impact, message, policy, table
from kplan.report.documents.diagnostic import problem_blocks, problems_document, validation_data
from kplan.report.documents.drift import DriftCoverage
from kplan.report.documents.message import stream_message, version_message
from kplan.report.documents.outcome import applied_blocks, outcomes_document
from kplan.report.documents.outcome_total import applied_counts, unplanned_names
from kplan.report.documents.plan import plan_document
from kplan.report.documents.plan_data import plan_data
from kplan.report.documents.tally import change_counts, plan_tallies
from kplan.report.render import Report


class PlanPart(StrEnum):
    """A matter that a plan is about."""

    ACCESS = "access"
    POLICIES = "policies"
    BLAST = "blast"


def plan_part_report(plan: Plan, part: PlanPart, at: str) -> Report:
    """Report one matter of a plan; `at` is the time of its messages."""
    return _PART_REPORTS[part](plan, at)


def _access(plan: Plan, at: str) -> Report:
    diff, cluster = plan.access, plan.cluster_label
    data = access.access_data(diff)
    shifts = cast("dict[str, Sequence[Data]]", data)["shifts"] if data else ()
    return Report(
        lambda: access.access_document(diff),
        lambda: data or {"shifts": [], "unknown": []},
        lambda: access.access_cases(diff),
        lambda: _stream("access_shift", "Access shifts", shifts, at),
        gauges=lambda: (*access.access_gauges(diff, cluster), *_plan_run_gauges(plan, at)),
    )


def _policies(plan: Plan, at: str) -> Report:
    found, cluster = plan.violations, plan.cluster_label
    return Report(
        lambda: policy.policies_document(found),
        lambda: {"policies": policy.policies_data(found)},
        lambda: policy.policy_cases(found),
        lambda: _stream("policy", "A policy rule fired", policy.policies_data(found), at),
        gauges=lambda: (*policy.policy_gauges(found, cluster), *_plan_run_gauges(plan, at)),
    )


def _impact(plan: Plan, at: str) -> Report:
    data = impact.impacts_data(plan)
    changes = cast("dict[str, Sequence[Data]]", data)["changes"]
    return Report(
        lambda: impact.impacts_document(plan),
        lambda: data,
        lambda: impact.impact_cases(plan),
        lambda: _stream("impact", "Records are at risk", changes, at),
        gauges=lambda: (*impact.impact_gauges(plan), *_plan_run_gauges(plan, at)),
    )


_PART_REPORTS: dict[PlanPart, Callable[[Plan, str], Report]] = {
    PlanPart.ACCESS: _access,
    PlanPart.POLICIES: _policies,
    PlanPart.BLAST: _impact,
}


def answer_report(
    document: Callable[[], Document], data: Callable[[], Data], rows: Sequence[Data], at: str
) -> Report:
    """Report the answer to a query; `rows` are the items of a stream."""
    return Report(document, data, tuple, lambda: _stream("answer", "Found", rows, at))


def figures_report(figures: Figures, at: str) -> Report:
    """Report the tables of a job over many clusters; a stream begins with their source."""
    rows: list[Data] = [
        {"table": each.name, **table.row_data(each.columns, row)}
        for each in figures.tables
        for row in each.rows
    ]
    about: dict[str, Data] = {"lineage": dict(figures.lineage), "notes": list(figures.all_notes)}

    def messages() -> tuple[Data, ...]:
        version, *found = _stream("answer", "Found", rows, at)
        return (version, {**stream_message("figures", figures.title, at), **about}, *found)

    return Report(
        lambda: table.figures_document(figures),
        lambda: table.figures_data(figures),
        tuple,
        messages,
    )


def _stream(sort: str, said: str, rows: Sequence[Data], at: str) -> tuple[Data, ...]:
    items = ({**stream_message(sort, said, at), sort: each} for each in rows)
    return (version_message(at), *items)


def _plan_run_gauges(plan: Plan, at: str) -> Sequence[Gauge]:
    is_whole = not plan.has_errors and not plan.unread
    return tuple(gauge.run_gauges("plan", plan.cluster_label, at, is_whole=is_whole))


Sources = Mapping[str, str]


_MOST_NAMES = 500
"""A report has room for so many names of what is done to many objects alike."""


def plan_report(plan: Plan, sources: Sources, at: str) -> Report:
    """Report a plan with its problems; `sources` maps file to its text."""

    def document() -> Document:
        found = plan_document(plan, most_names=_MOST_NAMES)
        first, *rest = found.blocks
        return replace(found, blocks=(first, *problem_blocks(plan.all_diagnostics, sources), *rest))

    return Report(
        document,
        lambda: plan_data(plan),
        lambda: case.plan_cases(plan, sources),
        lambda: (
            message.version_message(at),
            *message.plan_messages(plan, at),
            *_messages(plan.all_diagnostics, sources, at),
        ),
        change_counts(plan.allowed_changes),
        lambda: gauge.plan_gauges(plan, at),
    )


def apply_report(
    plan: Plan, outcomes: Sequence[Outcome], sources: Sources, at: str, again: str
) -> Report:
    """Report the outcome of a plan; `again` is the command that continues an incomplete one."""
    done = [each for each in outcomes if each.status is OutcomeStatus.APPLIED]
    made = [each.change for each in done if not each.is_adopted]
    unplanned = unplanned_names(plan)

    def document() -> Document:
        result = outcomes_document(outcomes, again, plan.import_count, unplanned)
        found = tuple(problem_blocks(plan.all_diagnostics, sources))
        counts = tuple(replace(each, title=f"Done, by {each.noun}") for each in plan_tallies(made))
        *blocks, totals = result.blocks
        blocks = [*found, *blocks, *applied_blocks(outcomes), totals]
        title = f"{result.title} on {plan.cluster_name}"
        return replace(result, blocks=tuple(blocks), title=title, tallies=counts)

    return Report(
        document,
        lambda: message.outcomes_data(outcomes, unplanned),
        lambda: case.outcome_cases(plan, outcomes, sources),
        lambda: (
            message.version_message(at),
            *(result for each in outcomes for result in message.outcome_messages(each, at)),
            message.summary_message(outcomes, at, unplanned),
        ),
        applied_counts(done),
        lambda: gauge.outcome_gauges(plan.cluster_label, outcomes, at, unplanned),
    )


def drift_report(changes: Sequence[Change], coverage: DriftCoverage, at: str) -> Report:
    """Report changes made outside kplan."""
    return Report(
        lambda: drift.drift_document(changes, coverage),
        lambda: drift.drift_data(changes, coverage),
        lambda: case.drift_cases(changes, coverage),
        lambda: (message.version_message(at), *message.drift_messages(changes, at)),
        change_counts(changes),
        lambda: gauge.drift_gauges(changes, coverage, at),
    )


def problems_report(
    title: str,
    diagnostics: Sequence[Diagnostic],
    sources: Sources,
    at: str,
    sound: str = "The configuration is valid",
    cluster: str = "",
) -> Report:
    """Report checks, or why a command had no result; `sound` means no problems.

    `cluster` is the name of the cluster in metrics, "" where it is not known.
    """
    return Report(
        lambda: problems_document(title, diagnostics, sources, sound),
        lambda: validation_data(diagnostics, sources),
        lambda: case.validation_cases(diagnostics, sources),
        lambda: (message.version_message(at), *_messages(diagnostics, sources, at)),
        gauges=lambda: tuple(
            gauge.run_gauges(
                title.removeprefix("kplan "), cluster, at, is_whole=not has_errors(diagnostics)
            )
        ),
    )


def _messages(
    diagnostics: Sequence[Diagnostic], sources: Sources, at: str
) -> list[message.StreamMessage]:
    return [message.diagnostic_message(each, sources, at) for each in diagnostics]
