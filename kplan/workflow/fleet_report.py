"""Use case: everything a platform team asks of its fleet, for one page."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kplan.fleet import audit, inventory, lint, planning, shown
from kplan.model.errors import FleetError
from kplan.model.tables import Figures, FigureTable
from kplan.workflow.fleet import Looked, figures, looked
from kplan.workflow.fleet_ports import FleetOptions, FleetPorts
from kplan.workflow.fleet_wanted import wanted

if TYPE_CHECKING:
    from kplan.fleet.engine import DataFrame

_TOP = 20


def fleet_report(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Gather sizes, drift and risk, and what is of no use, from one run."""
    with looked(options, ports) as found:
        asked = wanted(found.fleet, options, ports, found.objects)
        history = _history(found)
        tables = tuple(_tables(options, found, asked, history))
        made = figures(f"Kafka fleet, {len(found.fleet.clusters)} clusters", tables, found)
        logs = {} if history is None else audit.heard(history)
        return replace(made, lineage={**made.lineage, **logs})


def _tables(
    options: FleetOptions, found: Looked, asked: planning.Wanted, history: "DataFrame | None"
) -> Iterator[FigureTable]:
    objects, limit = found.objects.cache(), options.limit
    yield shown.table("inventory", inventory.inventory(objects), limit)
    yield shown.table("largest", inventory.largest(objects, _TOP), limit)
    everything = planning.plans(objects, asked).cache()
    told = everything.where(everything["finding"].isin("change", "obstacle", "drift", "problem"))
    counts = told.groupBy("cluster", "finding", "risk").count()
    yield shown.table("to_do", counts.orderBy("cluster", "finding", "risk"), limit)
    columns = ["cluster", "finding", "action", "kind", "address", "identity", "reason", "risk"]
    drifted = told.where("finding in ('drift', 'problem')").select(*columns)
    yield shown.table("drift", drifted.orderBy(*planning.ORDER), limit)
    yield shown.table("idle_acls", lint.findings(objects), limit)
    if history is not None:
        yield shown.table("unused_acls", audit.unused_acls(objects, history), limit)
        yield shown.table("unused_topics", audit.unused_topics(objects, history), limit)


def _history(found: Looked) -> "DataFrame | None":
    try:
        return found.store.audit()
    except FleetError:  # no log was ever kept: then nothing is known of use
        return None
