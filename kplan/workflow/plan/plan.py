"""Use case: make a plan, and save it."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from kplan.cluster.request import ClusterDescription
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import sort_diagnostics
from kplan.model.plan import Plan
from kplan.model.snapshot import Snapshot
from kplan.model.state import OutputValue, State
from kplan.plan.build import build_plans
from kplan.plan.request import PlanRequest
from kplan.policy.risk import add_risks
from kplan.state.plan_file import PlanMeta, plan_meta, write_plan
from kplan.workflow.access import AccessContext, add_access
from kplan.workflow.acl_order import add_first_connections
from kplan.workflow.clusters import Clusters
from kplan.workflow.moves.moves import add_moves
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.broker_check import check_with_brokers
from kplan.workflow.plan.capability import check_direct_plan, check_plan_apis
from kplan.workflow.plan.impact import add_impact
from kplan.workflow.plan.settled import read_settled_snapshots, settle_state
from kplan.workflow.policy.lint import lint_plan
from kplan.workflow.policy.policies import PolicyInput, apply_policies
from kplan.workflow.ports import PlanOptions, Ports, Project


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan with everything it was made from: `snapshots` by the key of the connection.

    `saved` is what its file says, where it has one.
    """

    plan: Plan
    configuration: Configuration
    state: State
    snapshots: Mapping[str, Snapshot]
    saved: PlanMeta | None = None


def make_plan(project: Project, options: PlanOptions, ports: Ports) -> PlanResult:
    """Compare configuration, state and cluster; changes nothing anywhere."""
    with open_project(project, ports) as found:
        if found.journal is not None:
            ports.progress.note("To finish it: kplan apply -resume")
        return plan_open_project(found, options, ports)


def plan_open_project(found: OpenProject, options: PlanOptions, ports: Ports) -> PlanResult:
    """Plan on what is open already."""
    ports.progress.stage("Reading the cluster")
    snapshots = read_settled_snapshots(found, options, ports)
    found = replace(found, state=settle_state(found, snapshots))
    ports.progress.stage("Planning")
    made = add_risks(build_plans(_request(found, options, ports), snapshots, KINDS))
    warnings = found.configuration.diagnostics
    made = replace(made, diagnostics=sort_diagnostics([*warnings, *made.diagnostics]))
    made = check_direct_plan(check_plan_apis(made, found.clusters), found.clusters)
    if options.is_to_be_applied and not made.has_errors:
        for key in sorted({each.provider for each in made.batches}):
            found.clusters.connections[key].cluster.prepare_writes()
    if options.asks_broker and made.batches:
        ports.progress.stage("Asking the broker", sum(len(each.changes) for each in made.batches))
        made = check_with_brokers(made, found.clusters, KINDS, ports)
        made = add_moves(made, found.clusters)
    made = add_impact(made, found.clusters, options, ports)
    hearing = PolicyInput(found.configuration, snapshots)
    made, configuration = apply_policies(made, hearing, options.policies, ports)
    for key, connection in found.clusters.connections.items():
        ground = AccessContext(connection.cluster, snapshots[key], configuration, key)
        made = add_access(made, ground, options.accepts)
        odd = lint_plan(made, ground)
        made = replace(made, diagnostics=sort_diagnostics([*made.diagnostics, *odd]))
    return PlanResult(made, configuration, found.state, snapshots)


def output_values(configuration: Configuration) -> dict[str, OutputValue]:
    """Return the outputs in the form in which the state keeps them."""
    return {
        each.name: OutputValue(
            None if each.sensitive else each.value, each.type, is_sensitive=each.sensitive
        )
        for each in configuration.outputs
    }


def _address(description: ClusterDescription) -> str:
    """Name one node by what people call it; that is easier to tell apart than cluster ids."""
    if not description.nodes:
        return ""
    asked = [each for each in description.nodes if each.id in description.verifying_node_ids]
    first = min(asked or description.nodes, key=lambda each: each.id)
    return f"{first.host}:{first.port}"


def _request(found: OpenProject, options: PlanOptions, ports: Ports) -> PlanRequest:
    configuration = found.configuration
    clusters = _facts(found.clusters)
    return PlanRequest(
        resources=() if options.is_destroy else configuration.resources,
        outputs=output_values(configuration),
        state=found.state,
        config_digest=configuration.digest,
        targets=options.targets,
        only=options.only,
        is_destroy=options.is_destroy,
        max_deletes=options.max_deletes,
        adds_first=add_first_connections(configuration),
        replaced=options.replaced,
        acknowledged=options.acknowledged,
        moved=configuration.refactorings.moved,
        removed=configuration.refactorings.removed,
        imports=configuration.refactorings.imports,
        cluster=next(iter(clusters.values())),
        clusters=clusters if found.clusters.are_several else {},
        created_at=ports.now().isoformat(timespec="seconds"),
    )


def _facts(clusters: Clusters) -> dict[str, dict[str, str]]:
    """Say what each cluster is that answers, by the key of the connection."""
    return {
        key: {
            "at": _address(found.description),
            "brokers": str(len(found.description.brokers)),
            "id": found.description.cluster_id,
            "principal": found.description.principal,
            "version": found.description.version,
        }
        for key, found in sorted(clusters.connections.items())
    }


DEFAULT_TTL = timedelta(hours=24)


def save_plan(
    planned: PlanResult,
    path: Path,
    ports: Ports,
    *,
    show: bytes = b"",
    ttl: timedelta = DEFAULT_TTL,
) -> None:
    """Write the plan to a file that is good for `ttl`; `show` is the plan's JSON for other tools.

    Raises:
        KplanError: the file cannot be written.

    """
    expires = (ports.now() + ttl).isoformat(timespec="seconds")
    given = planned.configuration.variables
    meta = plan_meta(
        planned.plan,
        expires_at=expires,
        nonce=uuid.uuid4().hex,
        variables={name: each.value for name, each in given.items() if not each.is_sensitive},
    )
    write_plan(path, planned.plan, meta, show)
