"""Use case: everything a platform team asks of its fleet, for one page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from kplan.fleet import inventory, lint, page, plan, policy, recommend
from kplan.fleet.figures import collect_tables, open_query_pool
from kplan.fleet.insight import trends
from kplan.fleet.insight.spans import run_day
from kplan.fleet.logs import requests
from kplan.fleet.spark.jobs import describe_jobs
from kplan.model.table import Figures
from kplan.report.documents.fleet.section import counts_of
from kplan.report.documents.notation import count_text
from kplan.workflow.fleet.audit import unused_objects
from kplan.workflow.fleet.fleet import render_figures
from kplan.workflow.fleet.inputs import ReportInputs, open_inputs
from kplan.workflow.fleet.insight import (
    anomaly_tables,
    cost_tables,
    daily_growth,
    first_of_costs,
    first_of_trends,
    topic_history,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.fleet.recommend import RecommendOptions, narrower_acls

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

_TOP = 20
_MONTHS = 3
_DAYS = 90
_WINDOW = timedelta(days=30)
"""ACLs that were watched for less are in no recommendation, as with `kplan fleet recommend`."""


_CHARTS = ("requests_by_day", "sizes_by_day")
"""Tables that are drawn over days, and not shown."""

SectionTables = Callable[[ReportInputs], "Mapping[str, DataFrame]"]
"""Makes the tables of a section, by the names of `report/documents/fleet/sections.py`; nothing
where their data is missing: the page then says which command makes it."""


def build_report(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Collect health, drift, sizes, access, usage, recommendations and costs of one run."""
    with open_inputs(options, ports) as given:
        found, logs = given.found, given.log_lineage
        result = _all_tables(given)
        charts = {name: result.pop(name) for name in _CHARTS if name in result}
        ports.progress.stage("Working out the page")
        title = f"Kafka fleet, {count_text(len(options.selected_clusters(found.fleet)), 'cluster')}"
        made = render_figures(title, result, (options, found), logs)
        tables = (*made.tables, found.unread)
        for name, rows in charts.items():  # drawn whole, whatever -limit says
            most = page.MAX_DAYS * (page.MAX_LINES + 1)
            tables = (*tables, options.make_table(name, rows, most))
        cut = [each.name for each in tables if each.is_truncated and each.name in page.COUNTED]
        counts = {counts_of(name): page.chart_counts(name, result[name]) for name in cut}
        tables = (*tables, *collect_tables(counts, page.MAX_COUNTS))
        notes = (*made.notes, *given.declarations.policies[1], *given.owned.unknown)
        others = given.other_logs()
        for each in others:  # of the page only its summary is printed
            ports.progress.note(f"Warning: {each}")
        return replace(made, tables=tables, notes=notes, remarks=others)


def _all_tables(given: ReportInputs) -> "dict[str, DataFrame]":
    """Prepare the tables of all sections at once: some compute what several of theirs are made of.

    What they share is read before, by one of them.
    """
    given.found.keep_acls()
    given.owned = given.declarations.owned  # they read the states, too
    _ = given.history, given.of_all_time.log_lineage
    with open_query_pool() as pool:
        found = [pool.submit(_section_tables, section, given) for section in SECTIONS]
        return {name: rows for each in found for name, rows in each.result().items()}


def _section_tables(section: SectionTables, given: ReportInputs) -> "Mapping[str, DataFrame]":
    describe_jobs(given.found.spark, "prepare tables")
    return section(given)


def _health_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    asked, _ = given.declarations.policies
    judged = given.found.keep_of_large(policy.check_policies(given.objects, asked))
    return {
        "unhealthy": page.unhealthy_topics(given.objects),
        "violations": judged.orderBy("cluster", "policy", "kind", "identity", "message"),
        "health": page.cluster_health(given.objects),
    }


def _drift_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    request = given.declarations.request
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
    largest = given.found.compute(inventory.largest_topics(given.objects, _TOP))
    return {
        "inventory": inventory.inventory(given.objects),
        "owners": inventory.owner_counts(given.objects, given.owned.rows),
        "largest": largest,
        "who_can": page.topic_holders(given.objects, largest),
    }


def _access_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    return {
        "broad_acls": page.broad_acls(given.objects),
        "idle_acls": lint.acl_findings(given.objects, given.found.keep_of_large),
    }


def _usage_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    if given.history is None:
        return {}
    return {
        "denials": page.denied_requests(given.history),
        "used": requests.last_usage(given.history),
        "requests_by_day": page.requests_by_day(given.history),
    }


def _unused_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    return {} if given.history is None else unused_objects(given, given.found.keep_of_large)


def _recommended_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    if given.history is None:
        return {}
    asked = RecommendOptions(_WINDOW)
    made = narrower_acls(given, asked)
    table = recommend.recommendation_table(made, given.objects, given.found.compute)
    return {"recommended": recommend.recommendation_counts(table), "recommendations": table}


def _size_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    last = run_day(given.found.run)
    begin = min(first_of_costs(last, _MONTHS), first_of_trends(last, _DAYS))
    history = topic_history(given, begin)
    keep, rules = given.found.keep_of_large, given.found.fleet.rules.trends
    made = cost_tables(given.of_all_time, _MONTHS, keep, history)
    grown = daily_growth(given, _DAYS, history)
    sizes = trends.sizes_by_day(grown.figures, page.MAX_LINES)
    # Notes of costs say less than the table of known days, and a report with notes is incomplete.
    return {
        **{name: made.tables[name] for name in ("costs", "coverage")},
        "trends": trends.trend_table(grown.figures, rules, grown.days),
        **({"sizes_by_day": sizes} if len(grown.days) > 1 else {}),
    }


def _anomaly_tables(given: ReportInputs) -> "Mapping[str, DataFrame]":
    if given.history is None:
        return {}
    return anomaly_tables(given.of_all_time, None, given.found.keep_of_large).tables


SECTIONS: Sequence[SectionTables] = (
    _health_tables,
    _drift_tables,
    _inventory_tables,
    _access_tables,
    _usage_tables,
    _unused_tables,
    _recommended_tables,
    _size_tables,
    _anomaly_tables,
)
