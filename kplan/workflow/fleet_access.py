"""Use cases over many clusters: who may do what, who did it, what a plan would have denied."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet import access, audit, lint, shown
from kplan.fleet.engine import session
from kplan.fleet.replay import planned_acls, replayed
from kplan.fleet.rows import CLUSTER
from kplan.fleet.store import Store
from kplan.model.errors import FleetError, UsageError
from kplan.model.plan import Change, Plan
from kplan.model.tables import Figures
from kplan.policy.access import OPERATIONS
from kplan.state.file_store import FileStore
from kplan.state.plan_file import read_plan
from kplan.workflow.fleet import (
    FleetOptions,
    FleetPorts,
    Looked,
    chosen,
    engine_of,
    figures,
    fleet_of,
    looked,
)

if TYPE_CHECKING:
    from kplan.fleet.engine import DataFrame


def who_can(options: FleetOptions, ports: FleetPorts, operation: str, resource: str) -> Figures:
    """List who may do something to a resource (`TOPIC:orders`, or a topic's name) anywhere.

    Raises:
        UsageError: Kafka asks for no such operation on that type of resource.

    """
    kind, _, name = resource.rpartition(":")
    kind = (kind or "TOPIC").upper()
    operation = operation.upper()
    if operation not in OPERATIONS.get(kind, ()):
        known = ", ".join(OPERATIONS.get(kind, OPERATIONS))
        raise UsageError(f"Nobody asks Kafka to {operation} a {kind}.", f"One of: {known}.")
    with looked(options, ports) as found:
        told = access.who_can(found.objects, operation, kind, name)
        return _one_table(f"Who can {operation} {kind}:{name}", "who_can", told, (options, found))


def access_of(options: FleetOptions, ports: FleetPorts, principal: str) -> Figures:
    """List what a principal may do to the topics of every cluster."""
    with looked(options, ports) as found:
        told = access.access_of(found.objects, principal)
        return _one_table(f"Access of {principal}", "access", told, (options, found))


def linted(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Find ACLs that do nothing: duplicates of wider ones, and those that match nothing."""
    with looked(options, ports) as found:
        told = lint.findings(found.objects)
        return _one_table("ACLs of the fleet that do nothing", "findings", told, (options, found))


def ingested(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Read the authorizer logs that the fleet file names, and keep their sums.

    A log that was read before is read anew, and takes its own place.
    """
    fleet = fleet_of(options)
    logging = [
        each
        for each in fleet.clusters
        if each.audit and (not options.only or each.name in options.only)
    ]
    if not logging:
        raise UsageError(
            "The fleet file names no authorizer log.", 'In a cluster block: audit = ["logs/*.log"]'
        )
    ports.progress.stage("Starting Spark")
    with session(engine_of(fleet, options.engine), ports.progress.tasks) as spark:
        store = Store(spark, fleet.store, fleet.store_format)
        for each in logging:
            ports.progress.stage(f"Reading logs of {each.name}")
            _check_there(each.name, each.audit)
            store.append_audit(audit.parsed(audit.lines(spark, each.name, each.audit)))
        counts = store.audit().groupBy("cluster").sum("count").orderBy("cluster")
        tables = (
            shown.table("requests", counts.toDF("cluster", "requests"), options.limit),
            shown.table("malformed", store.malformed(), options.limit),
        )
    return Figures("Authorizer logs", tables, {"store": fleet.store})


def _check_there(cluster: str, patterns: Sequence[str]) -> None:
    """Refuse names of files of this machine that fit nothing; raises FleetError."""
    for each in patterns:
        path = Path(each)
        if "://" not in each and not any(path.parent.glob(path.name)):
            raise FleetError(f"Cluster {cluster}: there is no log {each}.")


def used(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Tell who used what last, and which ACLs and topics nobody used.

    For owned ones among these `removed` blocks are written, for review.
    """
    with looked(options, ports) as found:
        history = chosen(options, found.store.audit())
        acls = audit.unused_acls(found.objects, history)
        if options.output:
            shown.write_out(acls, options.output)
        tables = (
            shown.table("used", audit.last_used(history), options.limit),
            shown.table("unused_acls", acls, options.limit),
            shown.table(
                "unused_topics", audit.unused_topics(found.objects, history), options.limit
            ),
        )
        return figures("Use of the fleet", tables, found)


def removals(options: FleetOptions, told: Figures) -> Mapping[str, str]:
    """Write `removed` blocks, by cluster, for the unused objects that kplan owns there."""
    fleet = fleet_of(options)
    unused: dict[str, set[str]] = {}
    for table in told.tables:
        if table.name.startswith("unused"):
            for row in table.rows:
                unused.setdefault(str(row[0]), set()).add(str(row[1]))
    return {
        each.name: text
        for each in fleet.clusters
        if each.state is not None and (text := _removed(each.state, unused.get(each.name, set())))
    }


def _removed(state: Path, unused: set[str]) -> str:
    found = FileStore(state).read()
    if found is None:
        return ""
    addresses = sorted(
        (each.address for each in found.owned.values() if str(each.identity) in unused),
        key=lambda each: each.sort_key,
    )
    return "\n".join(
        f"removed {{\n  from = {each}\n  lifecycle {{\n    destroy = true\n  }}\n}}\n"
        for each in addresses
    )


def replay(options: FleetOptions, ports: FleetPorts, files: Sequence[Path]) -> Figures:
    """Weigh the history of requests with the ACLs as the saved plans would leave them.

    Raises:
        UsageError: a plan is for a cluster that the run does not hold.

    """
    plans = [read_plan(each).plan for each in files]
    with looked(options, ports) as found:
        by_cluster = _placed(plans, found)
        gone, coming = planned_acls(found.spark, by_cluster)
        history = chosen(options, found.store.audit())
        told = replayed(history, found.objects, gone, coming)
        if options.output:
            shown.write_out(told, options.output)
        counts = told.groupBy("cluster", "effect").sum("count").orderBy("cluster", "effect")
        tables = (
            shown.table("replay", told, options.limit),
            shown.table("totals", counts.toDF("cluster", "effect", "requests"), options.limit),
        )
        return figures("What the plans would have changed", tables, found)


def _placed(plans: Sequence[Plan], found: Looked) -> dict[str, list[Change]]:
    """Find the clusters of plans by their ids."""
    rows = found.objects.where(found.objects["kind"] == CLUSTER).select("cluster", "identity")
    names = {row["identity"]: row["cluster"] for row in rows.collect()}
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
            placed.setdefault(names[cluster_id], []).append(change)
    return placed


def _one_table(
    title: str, name: str, told: "DataFrame", at: tuple[FleetOptions, Looked]
) -> Figures:
    options, found = at
    if options.output:
        shown.write_out(told, options.output)
    return figures(title, (shown.table(name, told, options.limit),), found)
