"""Use case: everything a platform team asks of its fleet, for one page."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kplan.fleet import audit, inventory, lint, plan
from kplan.model.errors import FleetError
from kplan.model.table import Figures
from kplan.report.documents.notation import count_text
from kplan.workflow.fleet.audit import unused_objects
from kplan.workflow.fleet.desired import FleetOptions, FleetPorts, list_owners, load_desired
from kplan.workflow.fleet.fleet import (
    OpenSnapshot,
    count_owners,
    open_snapshot,
    read_audit,
    render_figures,
)

if TYPE_CHECKING:
    from kplan.fleet.session import DataFrame

_TOP = 20


def build_report(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Collect sizes, owners, drift, risk and unused objects from one run."""
    with open_snapshot(options, ports) as found:
        asked = load_desired(found.fleet, options, ports, found.objects)
        owned, unknown = list_owners(found.fleet, options, ports)
        ports.progress.stage("Working out the page")
        history = _read_history(options, ports, found)
        told = {
            **_size_tables(found, owned),
            **_finding_tables(found.objects.cache(), asked),
            **({} if history is None else unused_objects(found.objects, history)),
        }
        title = f"Kafka fleet, {count_text(len(found.fleet.clusters), 'cluster')}"
        logs = {} if history is None else audit.log_lineage(history)
        made = render_figures(title, told, (options, found), logs)
        return replace(made, notes=(*made.notes, *unknown))


def _size_tables(
    found: OpenSnapshot, owned: Sequence[tuple[str, str, str, str]]
) -> "dict[str, DataFrame]":
    return {
        "inventory": inventory.inventory(found.objects),
        "owners": count_owners(found, owned),
        "largest": inventory.largest_topics(found.objects, _TOP),
    }


def _finding_tables(objects: "DataFrame", request: plan.FleetPlanRequest) -> "dict[str, DataFrame]":
    everything = plan.plan_clusters(objects, request).cache()
    told = everything.where(everything["finding"].isin("change", "obstacle", "drift", "problem"))
    counts = told.groupBy("cluster", "finding", "risk").count()
    columns = [
        *("cluster", "finding", "action", "kind", "address", "identity"),
        *("attributes", "reason", "risk"),
    ]
    drifted = told.where("finding in ('drift', 'problem')").select(*columns)
    return {
        "to_do": counts.orderBy("cluster", "finding", "risk"),
        "drift": drifted.orderBy(*plan.FINDING_ORDER),
        "idle_acls": lint.acl_findings(objects),
        "undeclared": plan.undeclared_clusters(objects, request.clusters),
    }


def _read_history(
    options: FleetOptions, ports: FleetPorts, found: OpenSnapshot
) -> "DataFrame | None":
    try:
        return read_audit(options, ports, found.store)
    except FleetError:  # no log was ever kept: then nothing is known of use
        return None
