"""Say which clusters cannot be had: an error for each, and the others are planned."""

from collections.abc import Mapping
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.model.diagnostic import sort_diagnostics
from kplan.model.plan import Plan
from kplan.model.resource import cluster_label
from kplan.model.state import Snapshot
from kplan.plan.desired import unread_diagnostics


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
