"""Use cases over many clusters: what they cost, how they grow, and what is new in their logs."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kplan.fleet.dataframe import Keep, ask_once
from kplan.fleet.insight import anomalies, costs, trends
from kplan.fleet.insight.ownership import Ownership, owner_sizes
from kplan.fleet.insight.spans import (
    days_of_runs,
    last_runs_of_days,
    run_day,
    run_spans,
    topic_sizes,
)
from kplan.fleet.inventory import cluster_aliases, cluster_names
from kplan.fleet.reads import TOPICS
from kplan.fleet.store import Run
from kplan.model.dataclass import dataclass
from kplan.model.fleet import AnomalyRow, CostRow, CostRules, TrendRow
from kplan.model.table import Figures, FigureTable
from kplan.workflow.fleet.fleet import render_figures
from kplan.workflow.fleet.inputs import ReportInputs, open_inputs
from kplan.workflow.fleet.open_run import OpenSnapshot
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

INCOMPLETE = "incomplete"
"""A finding: something could not be read, so that figures are too low."""
TEAM_LABEL = "team"
Found = TypeVar("Found", CostRow, TrendRow, AnomalyRow)


@dataclass(frozen=True, slots=True)
class InsightTables:
    """Tables of one question, before they are shown. The first one has the rows of the answer.

    `notes` say what a reader must know; `is_incomplete` that states could not be read. `lineage` is
    what the tables are made of beside the run. Notes may ask Spark, when they are shown.
    """

    tables: "Mapping[str, DataFrame]"
    notes: Callable[[], tuple[str, ...]] = tuple
    is_incomplete: bool = False
    lineage: Mapping[str, str] | None = None


# ---- costs


def read_costs(options: FleetOptions, ports: FleetPorts, months: int) -> Figures:
    """Show what owners use and cost in the last calendar months, the month of the run too."""
    with open_inputs(options, ports, reads_owners=True) as given:
        made = cost_tables(given, months, given.found.compute)
        ports.progress.stage("Adding up")
        currency = _cost_rules(given.found).currency
        title = f"Costs of the fleet in {currency}" if currency else "Costs of the fleet"
        return _show(title, made, (options, given.found))


def cost_tables(
    given: ReportInputs,
    months: int,
    compute: Keep = ask_once,
    history: "TopicHistory | None" = None,
) -> InsightTables:
    """Prepare `costs` (the columns of CostRow), `clusters`, `coverage` and `unknown_requests`.

    `compute` is for what is asked more than once where all of them and the notes are shown.
    `history` is that since the first of these months, or longer.
    """
    found, used, lineage = given.found, given.history, given.log_lineage
    last = run_day(found.run)
    first = first_of_costs(last, months)
    history = history or topic_history(given, first)
    rules, notes = _cost_rules(found), history.notes
    span = (f"{first:%Y-%m}", f"{last:%Y-%m}")
    sums = None if used is None else given.log_sums
    spans = costs.month_spans(history.spans)
    is_any_unsized = found.is_read or found.is_explain or history.has_unsized()
    unsized = (
        costs.unsized_topics(history.sizes, spans, history.ownership) if is_any_unsized else None
    )
    requests = None if used is None else costs.owner_requests(used, history.ownership)
    usage = costs.monthly_usage(history.by_owner, spans, unsized, requests, sums)
    priced = compute(costs.price_usage(usage, rules, span))
    coverage = compute(costs.month_coverage(spans, span))
    values = {
        "costs": costs.cost_table(priced),
        "clusters": costs.cost_table(priced, ("month", "cluster")),
        "coverage": coverage,
        "unknown_requests": costs.unknown_requests(given.of_fleet(found.objects), sums, coverage),
    }

    def said() -> tuple[str, ...]:
        names = cluster_names(notes.rows)
        missing = given.clusters_without_run(names)
        others = given.other_clusters(names | found.store.logs.clusters)
        own = (
            *_partial_notes(coverage),
            *_price_notes(found),
            *_idle_teams(given, priced),
            *_alias_notes(given),
        )
        return (*notes.said, *own, *missing, *others)

    return InsightTables(values, said, notes.is_incomplete, lineage)


def first_of_costs(last: date, months: int) -> date:
    """Return the first day of the months up to that of a day."""
    return costs.first_of_month(last, months - 1)


def _cost_rules(found: OpenSnapshot) -> CostRules:
    return found.fleet.rules.costs or CostRules()


def _partial_notes(coverage: "DataFrame") -> list[str]:
    """Say of each month that is not known in full for how many days its costs are."""
    return [
        f"{each.month} is prorated: {_day_range(each.least, each.most)} of {each.month_days} days "
        f"are known, {each.first_day} to {each.last_day}."
        if each.most
        else f"No day of {each.month} is known."
        for each in costs.partial_months(coverage)
    ]


def _day_range(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most} (see coverage)"


def _price_notes(found: OpenSnapshot) -> list[str]:
    rules = _cost_rules(found)
    if rules.prices.is_empty and all(each.is_empty for each in rules.by_cluster.values()):
        return ["No prices are set: fleet.hcl has no costs block with a price."]
    return []


def _idle_teams(given: ReportInputs, priced: "DataFrame") -> list[str]:
    """Name the teams without a topic; nothing where some clusters are selected."""
    teams = {each.name for each in given.found.fleet.rules.teams}
    if not teams or given.options.cluster_names:
        return []
    met = {row["team"] for row in priced.select("team").distinct().collect()}
    return [f'Team "{each}" applies to no topic.' for each in sorted(teams - met)]


def _alias_notes(given: ReportInputs) -> list[str]:
    return [
        f"{', '.join(each)} are one cluster: its topics count and cost under each of the names."
        for each in cluster_aliases(given.of_fleet(given.found.objects))
    ]


# ---- trends


def read_trends(options: FleetOptions, ports: FleetPorts, days: int) -> Figures:
    """Show how clusters, teams and owners grew in the last days, and when they meet limits.

    `findings` holds `over` and `near` where a limit is met, or soon will be.
    """
    with open_inputs(options, ports, reads_owners=True) as given:
        made = trend_tables(given, days)
        ports.progress.stage("Fitting lines")
        return _show("Trends of the fleet", made, (options, given.found), "standing")


def trend_tables(given: ReportInputs, days: int) -> InsightTables:
    """Prepare `trends` (the columns of TrendRow)."""
    found, options = given.found, given.options
    grown = daily_growth(given, days)
    rules, notes = found.fleet.rules.trends, grown.notes
    table = found.compute(trends.trend_table(grown.figures, rules, grown.days))

    def said() -> tuple[str, ...]:
        idle = _idle_limits(table, rules.limits.keys(), options.cluster_names)
        names = cluster_names(notes.rows)
        missing = given.clusters_without_run(names)
        return (*notes.said, *idle, *missing, *given.other_clusters(names))

    return InsightTables({"trends": table}, said, notes.is_incomplete)


class DailyGrowth(NamedTuple):
    """What `trends.daily_figures` gives, and the days that it is of."""

    figures: "DataFrame"
    days: Sequence[date]
    notes: "OwnerNotes"


def daily_growth(
    given: ReportInputs, days: int, history: "TopicHistory | None" = None
) -> DailyGrowth:
    """Return the sizes of clusters, teams and owners on each of the last days with a run.

    `history` is that since the first of these days, or longer.
    """
    first = first_of_trends(run_day(given.found.run), days)
    history = history or topic_history(given, first)
    known = [each for each in days_of_runs(history.runs) if each >= first]
    figures = trends.daily_figures(history.by_owner, history.spans, known)
    return DailyGrowth(given.found.compute(figures), known, history.notes)


def first_of_trends(last: date, days: int) -> date:
    """Return the first of so many days up to a day."""
    return last - timedelta(days=days - 1)


def _idle_limits(
    table: "DataFrame", limits: AbstractSet[tuple[str, str]], cluster_names: Sequence[str]
) -> list[str]:
    with_limit = table.where("limit is not null").select("scope", "name").distinct()
    met = {(row["scope"], row["name"]) for row in with_limit.limit(len(limits)).collect()}
    return [
        f'The limit of {scope} "{name}" applies to no topic.'
        for scope, name in sorted(limits - met)
        if not (scope == "cluster" and cluster_names and name not in cluster_names)
    ]


# ---- anomalies


def read_anomalies(options: FleetOptions, ports: FleetPorts, until: date | None) -> Figures:
    """Show what the logs of the last days have that those before have not.

    `until` is the last day, by default today. `findings` holds the sorts of anomalies.
    """
    with open_inputs(options, ports) as given:
        made = anomaly_tables(given, until, given.found.compute)
        ports.progress.stage("Comparing days")
        return _show("Anomalies of the fleet", made, (options, given.found), "finding")


def anomaly_tables(
    given: ReportInputs, until: date | None, compute: Keep = ask_once
) -> InsightTables:
    """Prepare `anomalies` (the columns of AnomalyRow) and `left_out`.

    `compute` is as for `cost_tables`.

    Raises:
        FleetError: no log is stored.

    """
    found, used, lineage = given.found, given.logs, given.log_lineage
    rules = found.fleet.rules.anomalies
    watch = anomalies.Watch.until(until or given.ports.now().date(), rules)
    clusters = found.compute(anomalies.cluster_history(used, watch, rules))
    history = anomalies.subject_history(used, watch, rules)
    values = {
        "anomalies": anomalies.anomaly_table(history, clusters, watch, rules, compute),
        "left_out": anomalies.unjudged_clusters(
            clusters, given.of_fleet(found.objects), watch, rules
        ),
    }
    days = {"watched": f"{watch.first} to {watch.last}", "baseline_from": str(watch.baseline)}
    return InsightTables(values, given.other_logs, lineage={**lineage, **days})


# ---- what they share


def typed_rows(table: FigureTable, row_type: Callable[..., Found]) -> tuple[Found, ...]:
    """Return the rows of the first table of an answer as values."""
    return tuple(row_type(*row) for row in table.rows)


@dataclass(frozen=True, slots=True)
class OwnerNotes:
    """What a reader must know of owners; whether states could not be read.

    `rows` are those of the runs, of clusters that the fleet file does not have, too.
    """

    said: tuple[str, ...]
    is_incomplete: bool
    rows: "DataFrame"


class TopicHistory(NamedTuple):
    """What `topic_sizes`, `owner_sizes` and `run_spans` give of runs, and who owns their topics."""

    runs: Sequence[Run]
    sizes: "DataFrame"
    by_owner: "DataFrame"
    spans: "DataFrame"
    ownership: Ownership
    notes: OwnerNotes

    def has_unsized(self) -> bool:
        """Whether the bytes of a topic are not known: this adds up what owners have."""
        return not self.by_owner.where("unsized > 0").isEmpty()


def topic_history(given: ReportInputs, first: date) -> TopicHistory:
    """Return the topics of the clusters of the fleet file since a day, and who owns them."""
    found, owned = given.found, given.owned
    runs = _runs_between(given, first, run_day(found.run))
    rows = given.objects_of_runs(runs)
    objects = given.of_fleet(rows)
    labels = {
        each.name: each.labels[TEAM_LABEL]
        for each in found.fleet.clusters
        if TEAM_LABEL in each.labels
    }
    ownership = Ownership(owned.rows, owned.has_topics, found.fleet.rules.teams, labels)
    notes = owned.unknown
    if not ownership.is_known:
        notes = (
            *owned.unknown,
            "No owner of a topic is known: topics are grouped by the prefix of their names.",
        )
    sizes = topic_sizes(objects, has_sizes=all(each.has_sizes for each in runs))
    by_owner = found.keep_of_large(owner_sizes(sizes, ownership))
    said = OwnerNotes(notes, bool(owned.unknown), rows)
    return TopicHistory(runs, sizes, by_owner, run_spans(objects), ownership, said)


def _runs_between(given: ReportInputs, first: date, last: date) -> list[Run]:
    """Choose runs up to the one that is asked: the last one of each day, and of each cluster.

    A run of some clusters alone, or one that met one which was down, is not the last of the others.
    """
    older = [each for each in given.found.runs if each.at <= given.found.run.at]
    chosen = {*last_runs_of_days(older, first, last)}
    if len(older) > len(chosen):
        for runs in {*given.reads(TOPICS).values()}:
            chosen |= {*last_runs_of_days(runs, first, last)}
    return [each for each in older if each in chosen]


def _show(
    title: str,
    made: InsightTables,
    at: tuple[FleetOptions, OpenSnapshot],
    finding_column: str = "",
) -> Figures:
    """Show tables; findings are the different values of a column of the first one."""
    if at[0].is_explain:
        return render_figures(title, made.tables, at)
    figures = render_figures(title, made.tables, at, made.lineage)
    findings = {INCOMPLETE} if made.is_incomplete or figures.notes else set()
    if finding_column:
        first = next(iter(made.tables.values()))
        rows = first.select(finding_column).distinct().collect()
        findings |= {row[finding_column] for row in rows}
    return replace(figures, notes=(*figures.notes, *made.notes()), findings=frozenset(findings))
