"""Use cases over many clusters: permissions, and the effect of plans on real requests."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet import access, lint
from kplan.fleet.logs.requests import clusters_with_log
from kplan.fleet.policy import check_policies
from kplan.fleet.replay import acl_changes, replay_requests
from kplan.fleet.snapshot import ALL_KINDS, CLUSTER
from kplan.fleet.spark.jobs import describe_jobs
from kplan.model.errors import UsageError
from kplan.model.plan import Change, Plan
from kplan.model.table import Figures
from kplan.state.plan_file import read_plan
from kplan.workflow.access import KIND
from kplan.workflow.fleet.fleet import open_snapshot, render_figures, until_cluster
from kplan.workflow.fleet.inputs import open_inputs
from kplan.workflow.fleet.open_run import OpenSnapshot
from kplan.workflow.fleet.policies import load_policies
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.inspect.access import parse_question

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame


def who_can(options: FleetOptions, ports: FleetPorts, operation: str, resource: str) -> Figures:
    """List who may do something to a resource (`TOPIC:orders`, or a topic's name) anywhere.

    Raises:
        UsageError: there is no such type, or Kafka asks for no such operation on it.

    """
    is_typed = ":" in resource or resource.upper() == "CLUSTER"
    asked, (kind, name) = parse_question(operation, resource if is_typed else f"topic:{resource}")
    with open_snapshot(options, ports, reads_once=True) as found:
        values = {"who_can": access.who_can(found.objects, asked, kind, name)}
        return render_figures(f"Who can {asked} {kind}:{name}", values, (options, found))


def access_of(options: FleetOptions, ports: FleetPorts, principal: str) -> Figures:
    """List the operations of a principal on the topics of every cluster."""
    with open_snapshot(options, ports, reads_once=True) as found:
        values = {"access": access.topic_access(found.objects, principal)}
        return render_figures(f"Access of {principal}", values, (options, found))


def lint_fleet(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Find problems: ACLs without effect, and objects that policies would refuse.

    The policies are those of each cluster's configuration.
    """
    with open_snapshot(options, ports, reads_once=True) as found:
        idle = lint.acl_findings(found.objects)
        asked, left_out = load_policies(found.fleet, options, ports, found.objects)
        ports.progress.stage("Asking policies")
        describe_jobs(found.spark, "check policies")
        judged = found.compute(check_policies(found.objects, asked))
        ordered = judged.orderBy("cluster", "policy", "kind", "identity", "message", "standing")
        tables, title = {"findings": idle, "violations": ordered}, "Lint of the fleet"
        if options.is_explain:
            return render_figures(title, tables, (options, found))
        sorts = frozenset(row["standing"] for row in judged.select("standing").distinct().collect())

        def first_tables(last: str) -> "Mapping[str, DataFrame]":
            return {"findings": lint.acl_findings(until_cluster(found.objects, last))}

        def keep(names: AbstractSet[str]) -> None:
            if "findings" in names:
                found.keep_acls()

        result = render_figures(
            title, tables, (options, found), first_tables=first_tables, before_whole=keep
        )
        acls = frozenset({"acl"} if result.tables[0].rows else ())
        return replace(result, findings=sorts | acls, notes=(*result.notes, *left_out))


def replay_audit(options: FleetOptions, ports: FleetPorts, files: Sequence[Path]) -> Figures:
    """Weigh the history of requests with the ACLs as the saved plans would leave them.

    Raises:
        UsageError: a plan is for a cluster that the run does not hold.

    """
    plans = [read_plan(each).plan for each in files]
    with open_inputs(options, ports, keeps_logs=True) as given:
        found = given.found
        by_cluster = _changes_by_cluster(plans, found)
        gone, coming = acl_changes(found.spark, by_cluster)
        describe_jobs(found.spark, "replay requests")
        history, logs = given.logs, given.log_lineage
        found.keep_acls()
        rows = found.compute(replay_requests(history, found.objects, gone, coming))
        counts = rows.groupBy("cluster", "effect").sum("count").orderBy("cluster", "effect")
        tables = {"replay": rows, "totals": counts.toDF("cluster", "effect", "requests")}
        title = "What the plans would have changed"
        if options.is_explain:
            return render_figures(title, tables, (options, found))
        names = ", ".join(
            f"{file} ({each.checksum[:12]})" for file, each in zip(files, plans, strict=True)
        )
        lineage = {**logs, "plans": names}
        sorts = {row[0] for row in rows.select("effect").distinct().collect()}
        made = render_figures(title, tables, (options, found), lineage)
        unknown = _unknown_effects(by_cluster, found, given.log_sums)
        return replace(
            made,
            notes=(*made.notes, *unknown),
            findings=frozenset(sorts | ({"unknown"} if unknown else set())),
        )


def _unknown_effects(
    plans: Mapping[str, Sequence[Change]], found: OpenSnapshot, sums: "DataFrame"
) -> tuple[str, ...]:
    """Name the clusters whose ACLs a plan changes and whose requests are unknown."""
    concerned = {
        name
        for name, changes in plans.items()
        if any(each.kind == KIND and each.touches_cluster for each in changes)
    }
    blind = {name for name, kind, _ in found.unread.rows if kind in {ALL_KINDS, KIND}}
    unheard = concerned - clusters_with_log(sums)
    return (
        *(f"{name}: the run does not know its ACLs." for name in sorted(concerned & blind)),
        *(f"{name}: the logs do not contain allowed requests." for name in sorted(unheard)),
    )


def _changes_by_cluster(plans: Sequence[Plan], found: OpenSnapshot) -> dict[str, list[Change]]:
    """Find the clusters of plans by their ids; the fleet may know one under two names."""
    rows = found.objects.where(found.objects["kind"] == CLUSTER).select("cluster", "identity")
    names: dict[str, list[str]] = {}
    for row in rows.collect():
        names.setdefault(row["identity"], []).append(row["cluster"])
    placed: dict[str, list[Change]] = {}
    for plan in plans:
        for change in plan.changes:
            based_on = plan.based_on
            own = based_on.clusters.get(change.provider) if change.provider else None
            cluster_id = own or based_on.cluster_id
            if cluster_id not in names:
                raise UsageError(
                    f"A plan is for cluster {cluster_id}, which run {found.run.run} does not hold.",
                    "Take a run with that cluster: kplan fleet snapshot",
                )
            for name in names[cluster_id]:
                placed.setdefault(name, []).append(change)
    return placed
