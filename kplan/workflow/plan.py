"""Use case: make a plan."""

from collections.abc import Mapping
from dataclasses import replace

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
from kplan.state.plan_file import PlanMeta
from kplan.workflow.access import Ground, with_access
from kplan.workflow.acl_order import adds_first
from kplan.workflow.blast import with_blast
from kplan.workflow.broker_check import broker_checked
from kplan.workflow.capabilities import with_capabilities
from kplan.workflow.clusters import Clusters
from kplan.workflow.direct import with_direct
from kplan.workflow.lint import lint_of_plan
from kplan.workflow.moves import with_moves
from kplan.workflow.opened import Opened, opened
from kplan.workflow.policies import Hearing, policed
from kplan.workflow.project import PlanOptions, Ports, Project
from kplan.workflow.settled import settled_snapshots, settled_state


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with everything it was made from: `snapshots` by the key of the connection.

    `saved` is what its file says, where it has one.
    """

    plan: Plan
    configuration: Configuration
    state: State
    snapshots: Mapping[str, Snapshot]
    saved: PlanMeta | None = None


def plan(project: Project, options: PlanOptions, ports: Ports) -> Planned:
    """Compare configuration, state and cluster; changes nothing anywhere."""
    with opened(project, ports) as found:
        if found.journal is not None:
            ports.progress.note("To finish it: kplan apply -resume")
        return planned(found, options, ports)


def planned(found: Opened, options: PlanOptions, ports: Ports) -> Planned:
    """Plan on what is open already."""
    ports.progress.stage("Reading the cluster")
    snapshots = settled_snapshots(found, options, ports)
    found = replace(found, state=settled_state(found, snapshots))
    ports.progress.stage("Planning")
    made = add_risks(build_plans(_request(found, options, ports), snapshots, KINDS))
    warnings = found.configuration.diagnostics
    made = replace(made, diagnostics=sort_diagnostics([*warnings, *made.diagnostics]))
    made = with_direct(with_capabilities(made, found.clusters), found.clusters)
    if options.is_to_be_applied and not made.has_errors:
        for key in sorted({each.provider for each in made.batches}):
            found.clusters.connections[key].cluster.prepare_writes()
    if options.asks_broker and made.batches:
        ports.progress.stage("Asking the broker", sum(len(each.changes) for each in made.batches))
        made = broker_checked(made, found.clusters, KINDS, ports)
        made = with_moves(made, found.clusters)
    made = with_blast(made, found.clusters, options, ports)
    hearing = Hearing(found.configuration, snapshots)
    made, configuration = policed(made, hearing, options.policies, ports)
    for key, connection in found.clusters.connections.items():
        ground = Ground(connection.cluster, snapshots[key], configuration, key)
        made = with_access(made, ground, options.accepts)
        odd = lint_of_plan(made, ground)
        made = replace(made, diagnostics=sort_diagnostics([*made.diagnostics, *odd]))
    return Planned(made, configuration, found.state, snapshots)


def output_values(configuration: Configuration) -> dict[str, OutputValue]:
    """Give the outputs in the form in which the state keeps them."""
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


def _request(found: Opened, options: PlanOptions, ports: Ports) -> PlanRequest:
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
        adds_first=adds_first(configuration),
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
