"""The impact of a plan: lost data, and its consumers."""

from collections.abc import Iterator

from kplan.model.impact import Impact
from kplan.model.plan import Action, Change, Plan, Risk
from kplan.model.table import RunStatus
from kplan.report.data import Case, Data, Gauge
from kplan.report.document import (
    Document,
    Line,
    Mark,
    Paragraph,
    Table,
    TableRow,
    Totals,
    line,
    strong_span,
)
from kplan.report.documents.diagnostic import risk_findings
from kplan.report.documents.notation import count_text, duration_text, known_sum, size_text
from kplan.report.documents.plan_data import impact_data

GROUP, UNKNOWN = "blast radius", "unknown"
_COLUMNS = ("change", "records", "size", "newest record", "groups", "producers")


def _impacts(plan: Plan) -> list[tuple[Change, Impact]]:
    return [(each, each.impact) for each in plan.changes if each.impact is not None]


def impacts_document(plan: Plan) -> Document:
    """List the losses of each change; unknown ones are marked as unknown."""
    found, title = _impacts(plan), "Blast radius"
    if not found:
        return Document((Paragraph("No change of this plan can destroy records."),), title)
    items = [impact for _, impact in found]
    records, bytes_ = (
        known_sum([each.records for each in items]),
        known_sum([each.size_bytes for each in items]),
    )
    sums = (
        f"{count_text(len(found), 'change')}: {_count(records)} records, {_size(bytes_)} at risk."
    )
    table = Table(tuple(_row(*each) for each in found), _COLUMNS)
    return Document((table, Totals((line(sums),))), title)


def _row(change: Change, impact: Impact) -> TableRow:
    going = change.action in {Action.DELETE, Action.REPLACE}
    return TableRow(
        (
            line(strong_span(str(change.address))),
            _count_line(impact.records),
            line(_size(impact.size_bytes)),
            line(_age_text(impact)),
            line(_groups_text(impact)),
            _count_line(impact.producers),
        ),
        Mark.REMOVE if going else Mark.CHANGE,
    )


def _count_line(count: int | None) -> Line:
    return line(_count(count))


def _count(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def _size(count: int | None) -> str:
    return UNKNOWN if count is None else size_text(count) or f"{count:,} bytes"


def _age_text(impact: Impact) -> str:
    if impact.age_ms is None:
        return "none" if impact.records == 0 else UNKNOWN
    return f"{duration_text(impact.age_ms)} ago"


def _groups_text(impact: Impact) -> str:
    if impact.groups is None:
        return UNKNOWN
    return ", ".join(f"{each.group}{' (live)' if each.is_live else ''}" for each in impact.groups)


def impacts_data(plan: Plan) -> Data:
    """Write the same for machines."""
    return {
        "checksum": plan.checksum,
        "changes": [
            {
                "address": str(change.address),
                "identity": str(change.identity),
                "action": change.action.value,
                "risk": change.risk.value,
                "impact": impact_data(impact),
            }
            for change, impact in _impacts(plan)
        ],
    }


def impact_cases(plan: Plan) -> tuple[Case, ...]:
    """Make a case of each change that can destroy records; to destroy is no failure by itself."""
    found = [
        Case(
            str(change.address),
            GROUP,
            RunStatus.PASS,
            change.risk.value,
            tuple(risk_findings(change)),
            details=Document((Table((_row(change, impact),), _COLUMNS),)),
        )
        for change, impact in _impacts(plan)
    ]
    return tuple(found) or (Case("Nothing is destroyed", GROUP, RunStatus.PASS),)


def impact_gauges(plan: Plan) -> Iterator[Gauge]:
    """Sum records and bytes at risk; if one change is unknown, the sum is."""
    found, of = _impacts(plan), {"cluster": plan.cluster_label}
    dangerous = sum(1 for change, _ in found if change.risk is Risk.DANGEROUS)
    yield Gauge("kplan_plan_dangerous", "Changes that destroy objects in use.", dangerous, of)
    for name, said, parts in (
        ("records", "Records that the plan destroys.", [each.records for _, each in found]),
        ("bytes", "Bytes that the plan destroys.", [each.size_bytes for _, each in found]),
    ):
        if (total := known_sum(parts)) is not None:
            yield Gauge(f"kplan_plan_{name}_at_risk", said, total, of)
