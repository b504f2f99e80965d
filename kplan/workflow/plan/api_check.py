"""Name what a plan needs and the cluster lacks, before anything is done (K117-21)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.releases import USER_ACLS
from kplan.kinds.acl import Acl
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError, UnsupportedError
from kplan.model.plan import Action, Batch, Plan
from kplan.workflow.clusters import Clusters


def check_plan_apis(plan: Plan, clusters: Clusters) -> Plan:
    """Refuse a plan that takes an API that its cluster lacks, before anything is done (K117-21)."""
    found = tuple(_missing_api_diagnostics(plan, clusters))
    return (
        replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *found])) if found else plan
    )


def check_api(cluster: Cluster, methods: Collection[str]) -> None:
    """Raise UnsupportedError, before anything is sent, if the cluster lacks an API (K117-21)."""
    lacks = cluster.missing_apis(methods)
    if lacks:
        raise UnsupportedError(f"{'. '.join(dict.fromkeys(map(str, lacks.values())))}.")


def _missing_api_diagnostics(plan: Plan, clusters: Clusters) -> Iterator[Diagnostic]:
    for key, connection in clusters.connections.items():
        batches = [each for each in plan.batches if each.provider == key]
        try:
            lacks = connection.cluster.missing_apis({each.step.name for each in batches})
            yield from _user_acl_diagnostics(batches, connection.cluster)
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
                "" if lack.reason else "kplan cluster versions lists what the brokers support.",
                first.address,
                first.declared_at,
            )


def _user_acl_diagnostics(batches: Sequence[Batch], cluster: Cluster) -> Iterator[Diagnostic]:
    """Refuse ACLs on users where brokers know none: they would fail without a reason."""
    changes = [
        change
        for each in batches
        for change in each.changes
        if isinstance(change.after, Acl)
        and change.after.resource_type == "User"
        and change.action in {Action.CREATE, Action.REPLACE}
    ]
    if not changes:
        return
    api, version, what, since = USER_ACLS
    newest = cluster.versions().apis.get(api, (0, -1))[1]
    if newest >= version:
        return
    for change in dict.fromkeys(changes):
        yield Diagnostic(
            "KP229",
            Severity.ERROR,
            SUMMARIES["KP229"],
            f"kplan needs {api} in version {version}; the cluster offers version {newest} at most. "
            f"Kafka has {what} since {since}.",
            "kplan cluster versions lists what the brokers support.",
            change.address,
            change.declared_at,
        )
