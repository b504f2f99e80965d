"""Holding a plan, or a single question, against what clusters can be asked for at all (KIP-97)."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.kinds.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError, UnsupportedError
from kplan.model.plan import Plan
from kplan.workflow.clusters import Clusters


def with_capabilities(plan: Plan, clusters: Clusters) -> Plan:
    """Refuse a plan that takes an API that its cluster lacks, before anything is done (K117-21)."""
    found = tuple(_problems(plan, clusters))
    return (
        replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *found])) if found else plan
    )


def check_served(cluster: Cluster, methods: Collection[str]) -> None:
    """Stop before anything is sent where the cluster lacks an API (K117-21). Raises Unsupported."""
    lacks = cluster.missing_apis(methods)
    if lacks:
        raise UnsupportedError(f"{'. '.join(dict.fromkeys(map(str, lacks.values())))}.")


def _problems(plan: Plan, clusters: Clusters) -> Iterator[Diagnostic]:
    for key, connection in clusters.connections.items():
        batches = [each for each in plan.batches if each.provider == key]
        try:
            lacks = connection.cluster.missing_apis({each.step.name for each in batches})
        except ClusterError:
            continue  # it does not answer now; apply will tell
        for method, lack in lacks.items():
            first = next(each for each in batches if each.step.name == method).changes[0]
            count = sum(len(each.changes) for each in batches if each.step.name == method)
            yield Diagnostic(
                "KP229",
                Severity.ERROR,
                SUMMARIES["KP229"],
                f"{lack}. {count} of the planned changes take it.",
                "" if lack.reason else "kplan cluster versions tells what the brokers offer.",
                first.address,
                first.declared_at,
            )
