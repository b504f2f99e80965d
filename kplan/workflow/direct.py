"""What is said of a plan for controllers that are asked directly, in place of brokers (KIP-919)."""

from collections.abc import Iterator
from dataclasses import replace

from kplan.cluster.request import ControllerAccess
from kplan.kinds.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.plan import Plan
from kplan.model.resource import connection_name
from kplan.workflow.clusters import Clusters

BYPASSED, FORBIDDEN = "KP245", "KP246"


def with_direct(plan: Plan, clusters: Clusters) -> Plan:
    """Warn that brokers are bypassed, and refuse changes unless that is allowed (K919-06)."""
    others = [each for each in plan.diagnostics if each.code not in {BYPASSED, FORBIDDEN}]
    told = sort_diagnostics([*others, *_problems(plan, clusters)])
    return plan if told == plan.diagnostics else replace(plan, diagnostics=told)


def _problems(plan: Plan, clusters: Clusters) -> Iterator[Diagnostic]:
    for key, connection in clusters.connections.items():
        direct = connection.description.controller_access
        if direct is None:
            continue
        yield Diagnostic(
            BYPASSED,
            Severity.WARNING,
            SUMMARIES[BYPASSED],
            _on(key, f"{_asked(direct)} What only brokers check is not checked."),
            f"Controllers change {direct.supported_changes}; the rest has to wait for brokers.",
        )
        if not direct.is_allowed and any(each.provider == key for each in plan.batches):
            yield Diagnostic(
                FORBIDDEN,
                Severity.ERROR,
                SUMMARIES[FORBIDDEN],
                _on(key, "Controllers are asked directly, and allow_direct is not set."),
                'Set allow_direct = true in provider "kafka", or KPLAN_ALLOW_DIRECT=true.',
            )


def _on(key: str, text: str) -> str:
    return f"{connection_name(key)}: {text}" if key else text


def _asked(direct: ControllerAccess) -> str:
    at = {each.id: f"{each.id} at {each.host}:{each.port}" for each in direct.controllers}
    others = [told for number, told in at.items() if number != direct.active]
    rest = f"; inactive: {', '.join(others)}" if others else ""
    return f"Controllers are asked directly. Active: {at[direct.active]}{rest}."
