"""Use case: what a plan would have done to the requests in the tables of a fleet."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.config.declarations.file import FLEET_FILE
from kplan.config.inputs import Inputs
from kplan.fleet.dataframe import create_dataframe, kept_rows
from kplan.fleet.logs.requests import clusters_with_log, log_sums
from kplan.fleet.replay import acl_changes, merge_names, replay_requests, replay_summary
from kplan.fleet.snapshot import ALLOW_EVERYONE, CLUSTER, OBJECT_SCHEMA, Row, object_row
from kplan.fleet.spark.progress import SessionProgress
from kplan.fleet.spark.session import SparkSettings, open_session
from kplan.fleet.store import Run, Store
from kplan.fleet.tables import DELTA, ICEBERG, PARQUET
from kplan.kinds.acl import AclKind
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import FleetError, UsageError
from kplan.model.file_url import is_url, local_path
from kplan.model.plan import Change, Plan, Replay
from kplan.model.resource import connection_name
from kplan.report.documents.plan import replay_text
from kplan.workflow.fleet.fleet import (
    choose_engine,
    choose_local_engine,
    open_store,
    read_fleet,
)
from kplan.workflow.fleet.ports import FleetOptions
from kplan.workflow.ports import ReplayBasis

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

DENIED, UNKNOWN = "KP370", "KP371"
_EXAMPLES = 5
_ACL_KIND = AclKind()
_COMMAND = "kplan plan -replay"
_NO_INPUTS = Inputs()
_FOLDER_HINT = f"Name the folder of the {FLEET_FILE} that says what they are: -replay=DIR"
_FOLDERS = {PARQUET: "runs", DELTA: DELTA, ICEBERG: ICEBERG}


def check_tables(tables: str) -> None:
    """Check that there are tables where a replay is to read some; elsewhere only Spark sees them.

    Raises:
        UsageError: a folder of this machine is no store, and has no fleet file.

    """
    path = local_path(tables)
    places = [FLEET_FILE, *_FOLDERS.values()]
    if path is not None and not any((path / each).exists() for each in places):
        raise UsageError(
            f"There are no tables of a fleet in {tables}.",
            f"Name their store or the folder of its {FLEET_FILE}: -replay=TABLES",
        )


def replay_plan(
    tables: str,
    progress: SessionProgress,
    plan: Plan,
    bases: Mapping[str, ReplayBasis],
    inputs: Inputs = _NO_INPUTS,
) -> Plan:
    """Add to a plan what the logged requests of its clusters would meet.

    `tables` is the store of a fleet or the folder of its fleet file, `bases` are the live ACLs of
    the clusters whose ACLs the plan changes, by the key of their connection. Names of clusters are
    those of the latest run. `inputs` are for the fleet file.

    Raises:
        ConfigError: the fleet file has errors.
        FleetError: there are no such tables, or Spark does not answer.
        UsageError: the latest run has none of the clusters, or it is not clear which tables are
            meant.

    """
    if not Path(tables, FLEET_FILE).is_file():
        root = tables if is_url(tables) else str(Path(tables).absolute())
        form = _table_format(root)
        with open_session(choose_local_engine(form), progress, _COMMAND) as spark:
            store = Store(spark, root, form)
            if local_path(root) is None and not store.runs():
                raise FleetError(f"There is no run of Parquet tables in {root}.", _FOLDER_HINT)
            return compare_plan(spark, store, plan, bases)
    if inputs.trust is not None:
        raise UsageError(
            f"With -untrusted {tables}/{FLEET_FILE} is not read: Spark runs what it says.",
            "Name its store: -replay=TABLES",
        )
    fleet = read_fleet(FleetOptions(Path(tables), inputs))
    with open_session(choose_engine(fleet, SparkSettings()), progress, _COMMAND) as spark:
        return compare_plan(spark, open_store(spark, fleet), plan, bases)


def _table_format(root: str) -> str:
    """Find the format of the tables in a store by its folders; elsewhere it is Parquet.

    Raises:
        UsageError: there are several.

    """
    path = local_path(root)
    found = [form for form, name in _FOLDERS.items() if path and (path / name).is_dir()]
    if len(found) > 1:
        raise UsageError(f"{root} has tables of several formats: {', '.join(found)}.", _FOLDER_HINT)
    return next(iter(found), PARQUET)


def compare_plan(
    spark: "SparkSession", store: Store, plan: Plan, bases: Mapping[str, ReplayBasis]
) -> Plan:
    """Do the same on a Spark that is open; a cluster is a warning where others are known."""
    clusters = _known_clusters(store)
    placed: dict[str, list[Row]] = {}
    unknown: dict[str, UsageError] = {}
    for key, basis in bases.items():
        try:
            placed[key] = _names(clusters, basis, store.root)
        except UsageError as failure:
            unknown[key] = failure
    if not placed:
        raise next(iter(unknown.values()))
    changes: dict[str, list[Change]] = {}
    rows: dict[tuple[str, str, str], Row] = {}
    for key, (first, *_) in placed.items():
        own = changes.setdefault(first.cluster, [])
        own += (each for each in plan.changes if each.provider == key)
        rows |= {each[:3]: each for each in _live_rows(first, bases[key])}
    objects = create_dataframe(spark, [tuple(each) for each in rows.values()], OBJECT_SCHEMA)
    names = {found[0].cluster: [each.cluster for each in found] for found in placed.values()}
    with kept_rows() as kept:
        used = merge_names(store.usage(), names).cache()
        kept.append(used)
        found = replay_requests(used, objects, *acl_changes(spark, changes)).cache()
        kept.append(found)
        made = _with_replay(plan, used, found, changes)
    return _with_unknown(made, unknown) if unknown else made


def _known_clusters(store: Store) -> list[Row]:
    """Return the rows of the clusters of the latest run; raises FleetError where there is none.

    One that it could not read is the cluster that it was when a run last read it.
    """
    runs = store.runs()
    objects = store.objects(store.choose_run(runs))
    rows = objects.where(objects["kind"] == CLUSTER).select(*Row._fields).collect()
    clusters = {each.cluster: Row(*each) for each in rows}
    reads: dict[str, Run] = {}
    for each in runs:
        for name in {name for group in each.kinds_read or () for name in group.clusters}:
            if name in clusters and not clusters[name].identity:
                reads[name] = each
    if reads:
        earlier = store.objects_of_runs([each for each in runs if each in reads.values()])
        asked = (earlier["kind"] == CLUSTER) & earlier["cluster"].isin(*reads)
        found = earlier.where(asked).select("run", *Row._fields).collect()
        for run, *values in found:
            before = Row(*values)
            if before.cluster in reads and run == reads[before.cluster].run:
                attributes = {**before.attributes, **clusters[before.cluster].attributes}
                clusters[before.cluster] = before._replace(attributes=attributes)
    return list(clusters.values())


def _names(clusters: Sequence[Row], basis: ReplayBasis, tables: str) -> list[Row]:
    """Find the rows of a cluster, which may have several names."""
    found = [each for each in clusters if each.identity == basis.cluster_id]
    if not found:
        unread = sorted(each.cluster for each in clusters if not each.identity)
        has_none = f"The latest run in {tables} has no cluster {basis.cluster_id}."
        if unread:
            raise UsageError(
                f"{has_none} No run has read {', '.join(unread)} yet.",
                "Take a run when that can be read, or add the cluster to fleet.hcl: kplan fleet "
                "snapshot",
            )
        raise UsageError(
            has_none, "Add the cluster to fleet.hcl and take a run: kplan fleet snapshot"
        )
    return sorted(found, key=lambda each: each.cluster)


def _live_rows(known: Row, basis: ReplayBasis) -> list[Row]:
    """Return the ACLs of now; rules that brokers do not show are those of the fleet file."""
    found = dict(known.attributes)
    if basis.super_users is not None:
        found["super_users"] = json.dumps(sorted(basis.super_users))
    if basis.allow_everyone is not None:
        found[ALLOW_EVERYONE] = json.dumps(basis.allow_everyone)
    acls = (object_row(known.cluster, _ACL_KIND, each) for each in basis.acls)
    return [known._replace(attributes=found), *acls]


def _with_unknown(plan: Plan, unknown: Mapping[str, UsageError]) -> Plan:
    """Warn of clusters that the tables lack: what the plan denies in all is not known then."""
    warnings = (
        Diagnostic(
            *(UNKNOWN, Severity.WARNING, SUMMARIES[UNKNOWN]),
            f"{connection_name(key)}: {failure.detail}",
            failure.hint,
        )
        for key, failure in unknown.items()
    )
    return replace(
        plan,
        replay=plan.replay and replace(plan.replay, denied=None),
        diagnostics=sort_diagnostics([*plan.diagnostics, *warnings]),
    )


def _with_replay(
    plan: Plan,
    used: "DataFrame",
    found: "DataFrame",
    changes: Mapping[str, Sequence[Change]],
) -> Plan:
    summary = replay_summary(found, used)
    unheard = sorted(changes.keys() - clusters_with_log(log_sums(used)))
    replay = Replay(
        None if unheard else summary.denied,
        summary.allowed,
        summary.requests,
        summary.since,
        summary.principals,
    )
    diagnostics: list[Diagnostic] = []
    if unheard:
        detail = f"The tables have no allowed requests of {', '.join(unheard)}."
        hint = "Ingest the logs of its brokers: kplan fleet audit ingest"
        diagnostics.append(Diagnostic(UNKNOWN, Severity.WARNING, SUMMARIES[UNKNOWN], detail, hint))
    if summary.denied:
        shown = found.where("effect = 'denied'").limit(_EXAMPLES).collect()
        examples = "; ".join(
            f"{each.principal} {each.operation} on {each.resource_type} {each.resource_name} "
            f"({each['count']:,}, last {each.last_at})"
            for each in shown
        )
        sentence = replay_text(replace(replay, denied=summary.denied))
        detail = f"The plan {sentence}: {examples}."
        hint = "kplan fleet replay lists all of them for a saved plan."
        diagnostics.append(Diagnostic(DENIED, Severity.WARNING, SUMMARIES[DENIED], detail, hint))
    return replace(
        plan, replay=replay, diagnostics=sort_diagnostics([*plan.diagnostics, *diagnostics])
    )
