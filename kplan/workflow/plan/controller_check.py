"""Say that brokers are bypassed, and refuse it unless it is allowed (KIP-919)."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.request import ControllerAccess
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError
from kplan.model.plan import Plan
from kplan.model.resource import connection_name
from kplan.workflow.clusters import Clusters
from kplan.workflow.threads import map_in_threads

BYPASSED, FORBIDDEN = "KP245", "KP246"


def check_plan_controller_access(plan: Plan, clusters: Clusters) -> Plan:
    """Warn that brokers are bypassed, and refuse changes unless that is allowed (K919-06)."""
    others = [each for each in plan.diagnostics if each.code not in {BYPASSED, FORBIDDEN}]
    diagnostics = sort_diagnostics([*others, *_controller_diagnostics(plan, clusters)])
    return plan if diagnostics == plan.diagnostics else replace(plan, diagnostics=diagnostics)


def _controller_diagnostics(plan: Plan, clusters: Clusters) -> Iterator[Diagnostic]:
    for key, connection in clusters.connections.items():
        direct = connection.description.controller_access
        if direct is None:
            continue
        silent = _silent_controllers(connection.cluster, direct)
        yield Diagnostic(
            BYPASSED,
            Severity.WARNING,
            SUMMARIES[BYPASSED],
            _prefix_connection(
                key, f"{_controllers_text(direct, silent)} What only brokers check is not checked."
            ),
            f"Controllers change {direct.supported_changes}; the rest has to wait for brokers.",
        )
        if not direct.is_allowed and any(each.provider == key for each in plan.batches):
            yield Diagnostic(
                FORBIDDEN,
                Severity.ERROR,
                SUMMARIES[FORBIDDEN],
                _prefix_connection(
                    key, "The connection is directly to controllers, and allow_direct is not true."
                ),
                'Set allow_direct = true in provider "kafka". KPLAN_ALLOW_DIRECT=true counts only '
                "where the block does not set it.",
            )


def _prefix_connection(key: str, text: str) -> str:
    return f"{connection_name(key)}: {text}" if key else text


def _controllers_text(direct: ControllerAccess, silent: Collection[int]) -> str:
    at = {each.id: f"{each.id} at {each.host}:{each.port}" for each in direct.controllers}
    others = [text for each, text in at.items() if each != direct.active and each not in silent]
    rest = f"; inactive: {', '.join(others)}" if others else ""
    down = ", ".join(at[each] for each in sorted(silent))
    rest += f"; without an answer: {down}" if down else ""
    return f"Connected directly to controllers. Active: {at[direct.active]}{rest}."


def _silent_controllers(cluster: Cluster, direct: ControllerAccess) -> set[int]:
    """Ask those that are registered whether they answer; that one is active is known.

    They are asked at the same time: each that does not answer costs its whole timeout.
    """

    def is_silent(node: int) -> bool:
        try:
            cluster.versions(broker=node)
        except ClusterError:
            return True
        return False

    others = [each.id for each in direct.controllers if each.id != direct.active]
    answers = map_in_threads(is_silent, others, [cluster])
    return {node for node, silent in zip(others, answers, strict=True) if silent}
