"""Say which clusters cannot be had: an error for each, and the others are planned."""

from collections.abc import Mapping
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.model.diagnostic import Diagnostic, connection_errors, sort_diagnostics
from kplan.model.plan import Plan
from kplan.model.resource import cluster_label
from kplan.model.state import Snapshot
from kplan.plan.desired import unread_diagnostics
from kplan.report.documents.outcome_total import lost_cluster_name, unread_cluster

_THEN = "when the plan was made: "
_PLAN_AGAIN = "To plan for it too, make the plan again."


def report_lost_clusters(
    plan: Plan, snapshots: Mapping[str, Snapshot], configuration: Configuration
) -> Plan:
    """Report a cluster once, at its provider block, and not again for each kind on it."""
    places = {each.key: each.declared_at for each in configuration.providers}
    repeated = set()
    found = []
    for key, snapshot in snapshots.items():
        labels = {cluster_label(kind, key): why for kind, why in snapshot.unread.items()}
        asked = {label: why for label, why in labels.items() if label in plan.unread}
        if snapshot.failure is not None and asked:
            repeated |= set(unread_diagnostics(asked))
            found.append(replace(snapshot.failure, subject=places.get(key)))
    kept = (each for each in plan.diagnostics if each not in repeated)
    return replace(plan, diagnostics=sort_diagnostics([*found, *kept])) if found else plan


def date_lost_clusters(plan: Plan) -> Plan:
    """Say of a plan that was made before that its clusters could not be had then.

    Whether they can be had now is not known where it is shown, and no matter where it is applied.
    """
    lost = connection_errors(plan.diagnostics)
    if not lost:
        return plan
    names = {lost_cluster_name(each) for each in lost}
    told = (_past_failure(each) if each in lost else each for each in plan.diagnostics)
    unread = {
        what: f"{_THEN}{why}" if unread_cluster(what) in names else why
        for what, why in plan.unread.items()
    }
    return replace(plan, diagnostics=sort_diagnostics(told), unread=unread)


def _past_failure(each: Diagnostic) -> Diagnostic:
    name = lost_cluster_name(each)
    why = each.detail.removeprefix(f"{name}: ")
    hint = f"{each.hint} {_PLAN_AGAIN}".lstrip()
    return replace(each, detail=f"{name}: {_THEN}{why}", hint=hint)
