"""Refuse plans that a cluster cannot carry out, by its APIs or its connection (KIP-97, KIP-919)."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.request import ControllerAccess
from kplan.kinds.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError, UnsupportedError
from kplan.model.plan import Plan
from kplan.model.resource import connection_name
from kplan.workflow.clusters import Clusters


def check_plan_apis(plan: Plan, clusters: Clusters) -> Plan:
    """Refuse a plan that takes an API that its cluster lacks, before anything is done (K117-21)."""
    found = tuple(_missing_api_diagnostics(plan, clusters))
    return (
        replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *found])) if found else plan
    )


def check_api(cluster: Cluster, methods: Collection[str]) -> None:
    """Stop before anything is sent where the cluster lacks an API (K117-21). Raises Unsupported."""
    lacks = cluster.missing_apis(methods)
    if lacks:
        raise UnsupportedError(f"{'. '.join(dict.fromkeys(map(str, lacks.values())))}.")


def _missing_api_diagnostics(plan: Plan, clusters: Clusters) -> Iterator[Diagnostic]:
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


BYPASSED, FORBIDDEN = "KP245", "KP246"


def check_plan_controller_access(plan: Plan, clusters: Clusters) -> Plan:
    """Warn that brokers are bypassed, and refuse changes unless that is allowed (K919-06)."""
    others = [each for each in plan.diagnostics if each.code not in {BYPASSED, FORBIDDEN}]
    told = sort_diagnostics([*others, *_controller_diagnostics(plan, clusters)])
    return plan if told == plan.diagnostics else replace(plan, diagnostics=told)


def _controller_diagnostics(plan: Plan, clusters: Clusters) -> Iterator[Diagnostic]:
    for key, connection in clusters.connections.items():
        direct = connection.description.controller_access
        if direct is None:
            continue
        yield Diagnostic(
            BYPASSED,
            Severity.WARNING,
            SUMMARIES[BYPASSED],
            _prefix_connection(
                key, f"{_controllers_text(direct)} What only brokers check is not checked."
            ),
            f"Controllers change {direct.supported_changes}; the rest has to wait for brokers.",
        )
        if not direct.is_allowed and any(each.provider == key for each in plan.batches):
            yield Diagnostic(
                FORBIDDEN,
                Severity.ERROR,
                SUMMARIES[FORBIDDEN],
                _prefix_connection(
                    key, "Controllers are asked directly, and allow_direct is not set."
                ),
                'Set allow_direct = true in provider "kafka", or KPLAN_ALLOW_DIRECT=true.',
            )


def _prefix_connection(key: str, text: str) -> str:
    return f"{connection_name(key)}: {text}" if key else text


def _controllers_text(direct: ControllerAccess) -> str:
    at = {each.id: f"{each.id} at {each.host}:{each.port}" for each in direct.controllers}
    others = [told for number, told in at.items() if number != direct.active]
    rest = f"; inactive: {', '.join(others)}" if others else ""
    return f"Controllers are asked directly. Active: {at[direct.active]}{rest}."
