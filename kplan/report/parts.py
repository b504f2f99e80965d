"""What a plan says of one matter, and answers to questions, as reports of their own."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import cast

from kplan.model.plan import Plan
from kplan.model.table import Figures
from kplan.report.data import Data
from kplan.report.document import Document
from kplan.report.documents import access, figures, gauges, impacts, policies
from kplan.report.documents.stream import message, version_message
from kplan.report.gauge import Gauge
from kplan.report.report import Report


class Part(StrEnum):
    """A matter that a plan speaks of."""

    ACCESS = "access"
    POLICIES = "policies"
    BLAST = "blast"


def part_report(plan: Plan, part: Part, at: str) -> Report:
    """Report what a plan says of one matter; `at` is the time that messages carry."""
    return _PARTS[part](plan, at)


def _access(plan: Plan, at: str) -> Report:
    diff, cluster = plan.access, plan.based_on.cluster_id
    data = access.access_data(diff)
    shifts = cast("dict[str, Sequence[Data]]", data)["shifts"] if data else ()
    return Report(
        lambda: access.access_document(diff),
        lambda: data or {"shifts": [], "unknown": []},
        lambda: access.access_cases(diff),
        lambda: _stream("access_shift", "Access shifts", shifts, at),
        gauges=lambda: (*access.access_gauges(diff, cluster), *_ended(plan, at)),
    )


def _policies(plan: Plan, at: str) -> Report:
    found, cluster = plan.violations, plan.based_on.cluster_id
    return Report(
        lambda: policies.policies_document(found),
        lambda: {"policies": policies.policies_data(found)},
        lambda: policies.policy_cases(found),
        lambda: _stream("policy", "A policy spoke", policies.policies_data(found), at),
        gauges=lambda: (*policies.policy_gauges(found, cluster), *_ended(plan, at)),
    )


def _blast(plan: Plan, at: str) -> Report:
    data = impacts.impacts_data(plan)
    changes = cast("dict[str, Sequence[Data]]", data)["changes"]
    return Report(
        lambda: impacts.impacts_document(plan),
        lambda: data,
        lambda: impacts.impact_cases(plan),
        lambda: _stream("impact", "Records are at risk", changes, at),
        gauges=lambda: (*impacts.impact_gauges(plan), *_ended(plan, at)),
    )


_PARTS: dict[Part, Callable[[Plan, str], Report]] = {
    Part.ACCESS: _access,
    Part.POLICIES: _policies,
    Part.BLAST: _blast,
}


def answer_report(
    document: Callable[[], Document], data: Callable[[], Data], rows: Sequence[Data], at: str
) -> Report:
    """Report the answer to a question; `rows` is what a stream tells one by one."""
    return Report(document, data, tuple, lambda: _stream("answer", "Found", rows, at))


def figures_report(found: Figures, at: str) -> Report:
    """Report the tables of a job over many clusters; a stream tells first what they are of."""
    rows: list[Data] = [
        {"table": each.name, **dict(zip(each.columns, row, strict=True))}
        for each in found.tables
        for row in each.rows
    ]
    about: dict[str, Data] = {"lineage": dict(found.lineage), "notes": list(found.notes)}

    def messages() -> tuple[Data, ...]:
        version, *told = _stream("answer", "Found", rows, at)
        return (version, {**message("figures", found.title, at), **about}, *told)

    return Report(
        lambda: figures.figures_document(found),
        lambda: figures.figures_data(found),
        tuple,
        messages,
    )


def _stream(sort: str, said: str, rows: Sequence[Data], at: str) -> tuple[Data, ...]:
    told = ({**message(sort, said, at), sort: each} for each in rows)
    return (version_message(at), *told)


def _ended(plan: Plan, at: str) -> Sequence[Gauge]:
    return tuple(gauges.run_gauges("plan", at, is_whole=not plan.has_errors and not plan.unread))
