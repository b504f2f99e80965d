"""Use case: everything a platform team asks of its fleet, for one page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from kplan.fleet import inventory, lint, page, plan, policy, recommend
from kplan.fleet.logs import requests
from kplan.model.table import Figures
from kplan.report.documents.notation import count_text
from kplan.workflow.fleet.audit import unused_objects
from kplan.workflow.fleet.desired import (
    FleetOptions,
    FleetPorts,
    load_desired,
    load_policies,
)
from kplan.workflow.fleet.fleet import count_owners, render_figures
from kplan.workflow.fleet.inputs import ReportInputs, open_inputs
from kplan.workflow.fleet.insight import anomaly_tables, cost_tables, trend_tables
from kplan.workflow.fleet.recommend import RecommendOptions, narrower_acls

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

_TOP = 20
_MONTHS = 3
_DAYS = 90
_WINDOW = timedelta(days=30)
"""ACLs that were watched for less are in no recommendation, as with `kplan fleet recommend`."""


SectionTables = Callable[[ReportInputs], "Mapping[str, DataFrame]"]
"""Makes the tables of a section, by the names of `report/documents/fleet/sections.py`; nothing
where their data is missing: the page then says which command makes it."""


def build_report(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Collect health, drift, sizes, access, usage, recommendations and costs of one run."""
    with open_inputs(options, ports) as given:
        found, logs = given.found, given.log_lineage
        result: dict[str, DataFrame] = {}
        for section in SECTIONS:
            result |= section(given)
        ports.progress.stage("Working out the page")
        title = f"Kafka fleet, {count_text(len(options.selected_clusters(found.fleet)), 'cluster')}"
        made = render_figures(title, result, (options, found), logs)
        tables = (*made.tables, found.unread)
        if given.history is not None:  # a chart is drawn whole, whatever -limit says
            days = page.requests_by_day(given.history)
            most = page.MAX_DAYS * (page.MAX_LINES + 1)
            tables = (*tables, options.make_table("requests_by_day", days, most))
        return replace(made, tables=tables, notes=(*made.notes, *given.notes))


def _health_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    asked, left_out = load_policies(
        given.found.fleet, given.options, given.ports, given.found.objects
    )
    given.notes += left_out
    judged = policy.check_policies(given.objects, asked)
    return {
        "unhealthy": page.unhealthy_topics(given.objects),
        "violations": judged.orderBy("cluster", "policy", "kind", "identity", "message"),
        "health": page.cluster_health(given.objects),
    }


def _drift_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    request = load_desired(given.found.fleet, given.options, given.ports, given.found.objects)
    everything = given.found.compute(plan.plan_clusters(given.objects, request))
    rows = everything.where(everything["finding"].isin("change", "obstacle", "drift", "problem"))
    counts = rows.groupBy("cluster", "finding", "risk").count()
    columns = [
        *("cluster", "finding", "action", "kind", "address", "identity"),
        *("attributes", "reason", "risk"),
    ]
    drifted = rows.where("finding in ('drift', 'problem')").select(*columns)
    return {
        "drift": drifted.orderBy(*plan.FINDING_ORDER),
        "to_do": counts.orderBy("cluster", "finding", "risk"),
        "undeclared": plan.undeclared_clusters(given.objects, request.clusters, request.stateless),
    }


def _inventory_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    owned, unknown = given.owned
    given.notes += unknown
    return {
        "inventory": inventory.inventory(given.objects),
        "owners": count_owners(given.found, owned),
        "largest": inventory.largest_topics(given.objects, _TOP),
    }


def _access_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    largest = inventory.largest_topics(given.objects, _TOP)
    return {
        "who_can": page.topic_holders(given.objects, largest),
        "broad_acls": page.broad_acls(given.objects),
        "idle_acls": lint.acl_findings(given.objects),
    }


def _usage_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    if given.history is None:
        return {}
    return {
        "denials": page.denied_requests(given.history),
        "used": requests.last_usage(given.history),
    }


def _unused_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    return {} if given.history is None else unused_objects(given.objects, given.history)


def _recommended_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    if given.history is None:
        return {}
    asked = RecommendOptions(_WINDOW)
    made = narrower_acls(given, asked)
    table = given.found.compute(recommend.recommendation_table(made, given.objects))
    return {"recommended": recommend.recommendation_counts(table), "recommendations": table}


def _cost_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    made = cost_tables(given, _MONTHS)
    # Its notes say less than the table of known days, and a report with notes is incomplete.
    return {"costs": made.tables["costs"], "coverage": made.tables["coverage"]}


def _trend_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    return {"trends": trend_tables(given, _DAYS).tables["trends"]}


def _anomaly_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    if given.history is None:
        return {}
    made = anomaly_tables(given, None)
    return {"anomalies": made.tables["anomalies"]}


SECTIONS: Sequence[SectionTables] = (
    _health_tables,
    _drift_tables,
    _inventory_tables,
    _access_tables,
    _usage_tables,
    _unused_tables,
    _recommended_tables,
    _cost_tables,
    _trend_tables,
    _anomaly_tables,
)
