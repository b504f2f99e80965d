"""Use cases over many clusters: taking and querying snapshots of a fleet."""

import os
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kplan.config.fleet_file import (
    FleetConfiguration,
    file_name_problems,
    load_fleet,
    load_trusted_fleet,
)
from kplan.fleet import dataframe, figures, history, inventory, plan
from kplan.fleet.jars import KAFKA_CONNECTOR
from kplan.fleet.reader import DEADLINE_S, SnapshotSource, read_clusters
from kplan.fleet.snapshot import CLUSTER, UNREAD, save_snapshots
from kplan.fleet.spark.few_rows import expect_few_rows
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.spark.joined import environment_remote, has_spark
from kplan.fleet.spark.server import find_server
from kplan.fleet.spark.session import SparkSettings, open_session, table_settings
from kplan.fleet.store import Store, is_small_store
from kplan.model.diagnostic import Diagnostic, has_errors, sort_diagnostics
from kplan.model.errors import ConfigError, UsageError
from kplan.model.log_layout import KAFKA_SCHEME
from kplan.model.table import Figures, FigureTable
from kplan.report.documents.notation import count_text
from kplan.workflow.fleet.desired import RequestedObjects, load_desired, load_desired_names
from kplan.workflow.fleet.open_run import OpenSnapshot, read_few, run_lineage, unread_notes
from kplan.workflow.fleet.owners import OwnerReader
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession


def read_fleet(options: FleetOptions) -> FleetConfiguration:
    """Load the fleet file.

    Raises:
        ConfigError: it has errors, or a name of a cluster is none of a file that is to be written.
        UsageError: a cluster is named that it does not declare; it is not trusted, and there is no
            other.

    """
    trust = options.inputs.trust
    if trust is None:
        found = load_fleet(options.folder, options.inputs)
    elif trust.ref is None:
        raise UsageError(
            "With -untrusted the clusters are not those of this fleet.hcl.",
            "Give a checkout of the branch that the change is for with -trusted-ref=DIR.",
        )
    else:
        found = load_trusted_fleet(trust.ref, options.inputs)
    problems = found.diagnostics
    if options.names_files:
        problems = (*problems, *file_name_problems(options.selected_clusters(found)))
    if has_errors(problems):
        raise ConfigError(problems, found.sources)
    if not found.clusters:
        raise UsageError(
            "The fleet file names no cluster.",
            'Write a cluster "NAME" block with a provider "kafka" block; see kplan help fleets.',
        )
    known = {each.name for each in found.clusters}
    if strange := [name for name in options.cluster_names if name not in known]:
        raise UsageError(
            f"The fleet has no cluster {', '.join(strange)}.",
            f"It has: {', '.join(sorted(known))}. Clusters that left it are in drift -since, "
            "history and inventory of runs that have them, without -cluster.",
        )
    return found


def choose_engine(fleet: FleetConfiguration, engine: SparkSettings) -> SparkSettings:
    """Say which Spark works; the command line wins over the fleet file.

    So does the Spark of this process. Where none is named, it is that of SPARK_REMOTE, then the
    server of `kplan fleet spark start`, if it suits the fleet, else one of this command alone.

    Raises:
        FleetError: SPARK_REMOTE is no address.
        UsageError: there is a Spark of this process, and -master names another.

    """
    is_named = engine.master or engine.remote
    chosen = SparkSettings(
        engine.master if is_named else fleet.spark_master,
        engine.remote if is_named else fleet.spark_remote,
        {**fleet.spark_conf, **engine.conf},
        fleet.store_format,
    )
    if not engine.remote and has_spark(os.environ):
        if engine.master:
            raise UsageError(
                "-master cannot be used here, because this process has a Spark already.",
                "Name the master where that is started, for example: spark-submit --master URL",
            )
        return replace(chosen, master="", remote="", is_joined=True)
    if chosen.master or chosen.remote:
        return chosen
    if remote := environment_remote(os.environ):
        return replace(chosen, remote=remote)
    return _find_server(server_settings(fleet, chosen.conf), fleet.store_format) or chosen


def choose_local_engine(form: str) -> SparkSettings:
    """Say which Spark works where there is no fleet file."""
    if has_spark(os.environ):
        return SparkSettings(table_format=form, is_joined=True)
    if remote := environment_remote(os.environ):
        return SparkSettings(remote=remote, table_format=form)
    wanted = table_settings(form, {}, os.environ)
    return _find_server(wanted, form) or SparkSettings(table_format=form)


def _find_server(wanted: Mapping[str, str], form: str) -> SparkSettings | None:
    running = find_server()
    if running is None or not running.suits(wanted):
        return None
    return replace(running.settings, table_format=form)


def server_settings(fleet: FleetConfiguration, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a Spark must be started with for a fleet. Raises FleetError."""
    found = dict(conf)
    found |= table_settings(fleet.store_format, found, os.environ)
    if any(log.startswith(KAFKA_SCHEME) for each in fleet.clusters for log in each.audit):
        found |= KAFKA_CONNECTOR.settings(found, os.environ)
    return found


def open_store(spark: "SparkSession", fleet: FleetConfiguration) -> Store:
    """Open the tables of a fleet; raises FleetError where their catalog cannot be used."""
    return Store(spark, fleet.store, fleet.store_format, fleet.store_catalog)


@contextmanager
def open_snapshot(
    options: FleetOptions,
    ports: FleetPorts,
    begin_reading: Callable[[FleetConfiguration], None] = lambda _: None,
    *,
    reads_once: bool = False,
) -> Iterator[OpenSnapshot]:
    """Open a stored run; raises ConfigError, UsageError and FleetError.

    `begin_reading` begins what can be done while Spark starts. What `reads_once` reads rows of a
    run or two, or sums of logs, and does little with each.
    """
    fleet = read_fleet(options)
    begin_reading(fleet)
    ports.progress.stage("Starting Spark")
    engine = choose_engine(fleet, options.engine)
    if engine.starts_java:
        is_little = reads_once or (not fleet.store_catalog and is_small_store(fleet.store))
        engine = replace(engine, reads_little=is_little)
    with open_session(engine, ports.progress, options.command) as spark:
        store = open_store(spark, fleet)
        runs = store.runs()
        run = store.choose_run(runs, options.run)
        objects = filter_clusters(options, store.objects(run))
        ports.progress.stage("Working on the run")
        stored, objects = objects, read_few(objects, run.rows, options)
        is_read = objects is not stored
        is_small = is_read and run.rows <= dataframe.MAX_INLINE_ROWS
        expect_many = expect_few_rows(spark) if is_read else lambda: None
        with figures.open_query_pool() as pool, dataframe.kept_rows() as kept:
            begin: Callable[..., Callable[[], Any]] = (
                partial if options.is_explain else lambda *work: pool.submit(*work).result
            )
            unread = begin(
                options.make_table, "unread", inventory.unread_kinds(objects), figures.MAX_ROWS
            )
            taken = begin(figures.snapshot_times, objects)
            try:
                yield OpenSnapshot(
                    fleet, spark, store, runs, run, objects, unread, taken, options.is_explain,
                    kept, is_small, is_read, expect_many,
                )  # fmt: skip
            finally:  # a Spark that others started outlives this answer
                expect_many()


def filter_clusters(options: FleetOptions, rows: "DataFrame") -> "DataFrame":
    """Keep the rows of the selected clusters."""
    return (
        rows.where(rows["cluster"].isin(*options.cluster_names)) if options.cluster_names else rows
    )


# ---- taking a run


def take_snapshot(options: FleetOptions, ports: FleetPorts, save: Path | None = None) -> Figures:
    """Read every cluster on the executors and store a run; unread parts are reported.

    `options.run` names the run, else the time does. With `save` each cluster is written to a file
    as well, for `snapshot = "FILE"`.
    """
    fleet = read_fleet(replace(options, names_files=save is not None))
    asked = load_desired_names(fleet, options, ports)
    sources = tuple(_snapshot_sources(fleet, options, asked, ports))
    ports.progress.stage("Starting Spark")
    engine = choose_engine(fleet, options.engine)
    with open_session(engine, ports.progress, options.command) as spark:
        ports.progress.stage(f"Reading {count_text(len(sources), 'cluster')}")
        store, at = open_store(spark, fleet), ports.now()
        name = options.run or at.strftime("%Y%m%dT%H%M%SZ")
        run = store.add_run(read_clusters(spark, sources), name, at)
        objects = store.objects(run)
        if save is not None:
            save_snapshots(objects, [each.name for each in sources], save)
        lineage = run_lineage(run, figures.snapshot_times(objects), store.name)
        values = {
            "inventory": inventory.inventory(objects),
            "unread": inventory.unread_kinds(objects),
        }
        tables = _write_tables(options, lineage, values)
        return Figures(f"Run {run.run}", tables, lineage, unread_notes(tables[1]))


def _snapshot_sources(
    fleet: FleetConfiguration,
    options: FleetOptions,
    requested_objects: RequestedObjects,
    ports: FleetPorts,
) -> Iterator[SnapshotSource]:
    problems: list[Diagnostic] = []
    found: list[SnapshotSource] = []
    for each in options.selected_clusters(fleet):
        connect = None
        if each.provider is not None:
            connect, result = ports.connector(each)
            problems.extend(result)
        deadline = each.deadline_s or DEADLINE_S
        rules = each.super_users, each.allow_everyone
        file = None if each.snapshot is None else each.snapshot.absolute()  # Spark is elsewhere
        meant = requested_objects.get(each.name, {})
        found.append(SnapshotSource(each.name, each.labels, connect, file, deadline, *rules, meant))
    if has_errors(problems):
        raise ConfigError(sort_diagnostics(problems), fleet.sources)
    yield from found


# ---- asking a run


def read_inventory(
    options: FleetOptions, ports: FleetPorts, by: str = "", top: int = 10
) -> Figures:
    """Count objects by cluster or by a label, and by owner.

    Raises:
        UsageError: no cluster has such a label.

    """
    owners = OwnerReader(options, ports)
    with open_snapshot(options, ports, owners.begin, reads_once=True) as found:
        if by and by not in (known := inventory.label_names(found.objects)):
            raise UsageError(
                f"No cluster has the label {by}.", f"There are: {', '.join(known) or 'none'}."
            )
        owned = owners.finish(found.spark)
        ports.progress.stage("Counting")
        values = {
            "inventory": inventory.inventory(found.objects, by),
            "owners": inventory.owner_counts(found.objects, owned.rows, by),
            "largest": inventory.largest_topics(found.objects, top),
        }
        made = render_figures("Inventory of the fleet", values, (options, found))
        return replace(
            made, tables=(*made.tables, found.unread), notes=(*made.notes, *owned.unknown)
        )


def plan_fleet(options: FleetOptions, ports: FleetPorts, *, is_drift: bool) -> Figures:
    """Compare every cluster with its configuration (plan), or with its state (drift)."""
    with open_snapshot(options, ports) as found:
        asked = load_desired(found.fleet, options, ports, found.objects, lists_undeclared=is_drift)
        ports.progress.stage("Planning")
        describe_jobs(found.spark, "plan clusters")
        everything = found.compute(plan.plan_clusters(found.objects, asked))
        kinds = ("drift", "hidden") if is_drift else ("change", "obstacle")
        stateless = asked.stateless if is_drift else ()
        rows = everything.where(everything["finding"].isin(*kinds, "problem", "unread"))
        tables = {
            "findings": rows.drop("count").orderBy(*plan.FINDING_ORDER),
            "counts": plan.finding_counts(rows),
            "coverage": plan.coverage(everything),
            "undeclared": plan.undeclared_clusters(found.objects, asked.clusters, stateless),
        }
        if is_drift:
            tables["unmanaged"] = plan.undeclared_objects(everything)
        title = "Drift of the fleet" if is_drift else "Plan of the fleet"
        if options.is_explain:
            return render_figures(title, tables, (options, found))
        # First, so that every cluster is planned once and not for each of the tables.
        sorts = frozenset(row["finding"] for row in rows.select("finding").distinct().collect())
        made = render_figures(title, tables, (options, found))
        sorts |= {"stateless"} if stateless else frozenset()
        return replace(made, findings=sorts, notes=(*made.notes, *asked.notes))


def compare_snapshots(options: FleetOptions, ports: FleetPorts, since: str) -> Figures:
    """Return the differences to an earlier run; a note says what that run could not read."""
    with open_snapshot(options, ports, reads_once=True) as found:
        earlier = found.store.choose_run(found.runs, since)
        before = filter_clusters(options, found.store.objects(earlier))
        both = before, found.objects
        differences = history.changes(*both).unionByName(history.cluster_changes(*both))
        ordered = differences.orderBy("cluster", "kind", "identity")
        title = f"Changes since run {earlier.run}"
        more = {"since": earlier.run}
        made = render_figures(title, {"changes": ordered}, (options, found), more)
        if options.is_explain:
            return made
        unread = options.make_table("unread", inventory.unread_kinds(before), figures.MAX_ROWS)
        return replace(made, notes=(*made.notes, *unread_notes(unread, f" in run {earlier.run}")))


def read_history(options: FleetOptions, ports: FleetPorts, what: str) -> Figures:
    """Return which values one object had from when to when, and which runs saw them."""
    with open_snapshot(options, ports) as found:
        every = filter_clusters(options, found.store.objects_of_runs(found.runs))
        meant = (every["identity"] == what) | every["kind"].isin(CLUSTER, UNREAD)
        spans = history.history(every.where(meant))
        ordered = spans.orderBy("cluster", "kind", "attribute", "valid_from", "uid", "value")
        return render_figures(f"History of {what}", {"history": ordered}, (options, found))


def render_figures(
    title: str,
    tables: "Mapping[str, DataFrame]",
    at: tuple[FleetOptions, OpenSnapshot],
    more: Mapping[str, str] | None = None,
    *,
    first_tables: "FirstTables | None" = None,
    before_whole: Callable[[AbstractSet[str]], None] = lambda _: None,
) -> Figures:
    """Show tables, and write them to files on request, with their source; or explain them.

    `more` is lineage beside that of the run. What could not be read is a note. Of a large fleet
    `first_tables` are asked first; those with too few rows to show are asked as a whole, after
    `before_whole` heard their names.
    """
    options, found = at
    if options.is_explain:
        return Figures(title, figures.explain_tables(tables, options.limit))
    lineage = {**found.lineage, **(more or {})}
    begun: dict[str, FigureTable] = {}
    if first_tables is not None and asks_first_clusters(*at):
        made = first_tables(_first_clusters(*at)[-1])
        begun = {each.name: each for each in figures.collect_tables(made, options.limit)}
    known = {name: each for name, each in begun.items() if each.is_truncated}
    rest = {name: rows for name, rows in tables.items() if name not in known}
    before_whole(rest.keys())
    shown = known | {each.name: each for each in _write_tables(options, lineage, rest)}
    notes = unread_notes(found.unread)
    return Figures(title, tuple(shown[name] for name in tables), lineage, notes)


FirstTables = Callable[[str], "Mapping[str, DataFrame]"]
"""Makes the tables that are in order of cluster, of the clusters up to this one alone."""

_FIRST_SHARE = 16
"""Of so many clusters one is asked for the first rows: if they are too few, little was in vain."""
_FINDING_SHARE = 10
"""Of so many objects one is a row of such a table, for that to be tried: a query takes seconds."""


def asks_first_clusters(options: FleetOptions, found: OpenSnapshot) -> bool:
    """Whether the first clusters are likely to have all rows that are shown."""
    least = options.limit * _FIRST_SHARE * _FINDING_SHARE
    return found.run.rows >= least and not options.output and bool(_first_clusters(options, found))


def _first_clusters(options: FleetOptions, found: OpenSnapshot) -> list[str]:
    names = sorted(each.name for each in options.selected_clusters(found.fleet))
    return names[: len(names) // _FIRST_SHARE]


def until_cluster(rows: "DataFrame", last: str) -> "DataFrame":
    """Keep the rows of clusters up to one, in the order in which they are shown."""
    return rows.where(rows["cluster"] <= last)


def _write_tables(
    options: FleetOptions, lineage: Mapping[str, str], tables: "Mapping[str, DataFrame]"
) -> tuple[FigureTable, ...]:
    """Show and write out; the first table has the name that was given, further ones their own."""
    for place, (name, rows) in enumerate(tables.items()):
        figures.write_table(rows, options.output, lineage, name if place else "")
    return figures.collect_tables(tables, options.limit)
