"""Use case: make a plan, with the impact of its changes, and save it."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from kplan.cluster.request import ClusterDescription
from kplan.cluster.usage import TopicUse
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.kinds.topic_rules import Topic
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import sort_diagnostics
from kplan.model.errors import ClusterError
from kplan.model.impact import Impact
from kplan.model.plan import Action, Change, ObjectKey, Plan, Replay
from kplan.model.state import OutputValue, Snapshot, State
from kplan.plan.build import build_plans, is_asked_for
from kplan.plan.digest import with_checksum
from kplan.plan.request import PlanRequest
from kplan.policy.risk import (
    add_impacts,
    add_risks,
    destructive_changes,
    topic_impact,
)
from kplan.policy.thresholds import check_thresholds
from kplan.state.journal import PlanVariables, unanswered_creations
from kplan.state.plan_file import (
    NO_SIGNATURE,
    PlanMetadata,
    SignatureCheck,
    plan_metadata,
    write_plan,
)
from kplan.workflow.access import KIND as ACL_KIND
from kplan.workflow.access import (
    AccessContext,
    add_access,
    add_deny_risks,
    add_first_connections,
    read_authorizer_rules,
)
from kplan.workflow.clusters import Clusters
from kplan.workflow.moves.target_check import check_move_targets
from kplan.workflow.moves.transfer import add_moves
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.api_check import check_plan_apis
from kplan.workflow.plan.broker_check import check_with_brokers
from kplan.workflow.plan.controller_check import check_plan_controller_access
from kplan.workflow.plan.deferred_data import known_objects, settle_data
from kplan.workflow.plan.fallbacks import read_fallbacks
from kplan.workflow.plan.lost_clusters import report_lost_clusters
from kplan.workflow.plan.owner_check import check_other_workspaces
from kplan.workflow.plan.refresh import leave_out_sent, read_settled_snapshots, settle_journal
from kplan.workflow.plan.saved import check_signature_required
from kplan.workflow.plan.schema_use import check_schema_use
from kplan.workflow.platform import check_plan_platforms, explain_refusals
from kplan.workflow.policy.lint import lint_plan
from kplan.workflow.policy.policy import PolicyInput, apply_policies, check_policy_principal
from kplan.workflow.ports import PlanOptions, Ports, Project, ReplayBasis


def _check_capabilities(plan: Plan, project: OpenProject) -> Plan:
    """Report what the clusters lack, refuse, or take only from brokers."""
    plan = check_plan_platforms(plan, project.clusters.descriptions, project.configuration)
    return check_plan_controller_access(check_plan_apis(plan, project.clusters), project.clusters)


def add_impact(plan: Plan, clusters: Clusters, options: PlanOptions, ports: Ports) -> Plan:
    """Add the losses of changes and the affected groups, and check the plan's thresholds."""
    changes = destructive_changes(plan) if options.has_broker_check else ()
    if changes:
        ports.progress.stage("Looking at what changes destroy", len(changes))
        now_ms = int(ports.now().timestamp() * 1000)
        found: dict[tuple[str, str, str], Impact] = {}
        for key in sorted({each.provider for each in changes} & clusters.connections.keys()):
            mine = [each for each in changes if each.provider == key]
            uses = _read_topic_use(clusters, key, mine)
            found |= {each.key: topic_impact(uses[_topic_name(each)], now_ms) for each in mine}
        plan = add_impacts(plan, found)
    problems = check_thresholds(plan, options.max_dangerous, options.max_change_pct)
    return replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *problems]))


def _read_topic_use(clusters: Clusters, key: str, changes: list[Change]) -> Mapping[str, TopicUse]:
    """Ask; a cluster that cannot be asked leaves everything unknown."""
    names = [_topic_name(each) for each in changes]
    silent = TopicUse(unread=("no answer",))
    try:
        found = clusters.connections[key].cluster.topic_use(names)
    except ClusterError as failure:
        return dict.fromkeys(names, TopicUse(unread=(failure.detail,)))
    return {name: found.get(name, silent) for name in names}


def _topic_name(change: Change) -> str:
    """Return the current name of the topic; its replacement may have another name."""
    assert isinstance(change.before, Topic)  # noqa: S101 - no others reach records
    return change.before.name


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan with everything it was made from: `snapshots` by the key of the connection.

    `meta` is what its file says, where it has one. `state_file` is the file that the user named
    for the state, `workspace` the one it was made in. `doubtful` are the objects of
    `OpenProject.doubtful`.
    """

    plan: Plan
    configuration: Configuration
    state: State
    snapshots: Mapping[str, Snapshot]
    meta: PlanMetadata | None = None
    state_file: str = ""
    state_name: str = ""
    workspace: str = ""
    doubtful: frozenset[ObjectKey] = frozenset()


_RESUME = "To finish it: kplan apply -resume"


def make_plan(project: Project, options: PlanOptions, ports: Ports) -> PlanResult:
    """Compare configuration, state and cluster; changes nothing anywhere."""
    with open_project(project, ports, defers=True, is_destroy=options.is_destroy) as found:
        if found.journal is not None:
            way = "To record it: kplan apply" if found.journal.is_finished else _RESUME
            ports.progress.note(way)
        made = plan_open_project(found, options, ports)
    made = replace(made, workspace=project.inputs.workspace)
    # KPLAN_STATE says nothing where a state block names another place.
    is_used = project.is_state_named and project.store.location == project.file_store.location
    if not is_used:
        return made
    path = project.state_path
    return replace(made, state_file=str(path.absolute()), state_name=str(path))


def _build_with_data(
    project: OpenProject, options: PlanOptions, ports: Ports, snapshots: Mapping[str, Snapshot]
) -> tuple[OpenProject, Plan]:
    """Build the plan; again where only now data sources can be read that wait for resources."""
    made = build_plans(plan_request(project, options, ports), snapshots, KINDS)
    is_narrow = bool(options.targets) or options.only is not None
    settled = settle_data(project, made.changes, is_narrow=is_narrow, is_destroy=options.is_destroy)
    if settled.configuration.deferred is None and settled is not project:
        return settled, build_plans(plan_request(settled, options, ports), snapshots, KINDS)
    only = known_objects(settled, made.changes, is_narrow=is_narrow)
    if only is not None:
        narrow = replace(options, only=only)
        made = build_plans(plan_request(settled, narrow, ports), snapshots, KINDS)
    return settled, made


def plan_open_project(project: OpenProject, options: PlanOptions, ports: Ports) -> PlanResult:
    """Plan on an open project."""
    if options.is_for_apply:
        check_policy_principal(project.configuration, options.policies)
    ports.progress.stage("Reading the cluster")
    snapshots = read_settled_snapshots(project, options, ports)
    project = settle_journal(project, snapshots, options)
    ports.progress.stage("Planning")
    project, made = _build_with_data(project, options, ports, snapshots)
    made = replace(
        made,
        drift=leave_out_sent(made.drift, project.journal),
        has_journal=project.journal is not None,
    )
    made = add_risks(made, read_fallbacks(made, project.clusters))
    made = _add_warnings(made, project, plan_request(project, options, ports), snapshots)
    made = check_other_workspaces(made, project, snapshots, options)
    for key, connection in project.clusters.connections.items():
        context = AccessContext(connection.cluster, snapshots[key], project.configuration, key)
        made = add_deny_risks(made, context)
    made = _check_capabilities(check_move_targets(made, project.clusters), project)
    if options.is_for_apply and not made.has_errors:
        for key in sorted({each.provider for each in made.batches}):
            project.clusters.connections[key].cluster.prepare_writes()
    if options.has_broker_check and made.batches:
        ports.progress.stage("Asking the broker", sum(len(each.changes) for each in made.batches))
        made = check_with_brokers(
            made, project.clusters, KINDS, ports, project.configuration.resources
        )
        made = add_moves(explain_refusals(made, project.clusters.descriptions), project.clusters)
    made = add_impact(made, project.clusters, options, ports)
    made = check_schema_use(made, project.clusters, options, int(ports.now().timestamp() * 1000))
    made = add_replay(made, project, snapshots, ports)
    policy_input = PolicyInput(project.configuration, snapshots, project.clusters.open)
    made, configuration = apply_policies(made, policy_input, options.policies, ports)
    for key, connection in project.clusters.connections.items():
        ground = AccessContext(connection.cluster, snapshots[key], configuration, key)
        made = add_access(made, ground, options.accepted_guards)
        odd = lint_plan(made, ground)
        made = replace(made, diagnostics=sort_diagnostics([*made.diagnostics, *odd]))
    return PlanResult(
        with_checksum(made),
        configuration,
        project.state,
        snapshots,
        doubtful=frozenset(project.doubtful),
    )


def _add_warnings(
    plan: Plan, project: OpenProject, request: PlanRequest, snapshots: Mapping[str, Snapshot]
) -> Plan:
    """Add the warnings of the configuration that concern the targets, and lost clusters."""
    plan = report_lost_clusters(plan, snapshots, project.configuration)
    found = (each for each in project.configuration.diagnostics if is_asked_for(request, each))
    return replace(plan, diagnostics=sort_diagnostics([*found, *plan.diagnostics]))


def add_replay(
    plan: Plan, project: OpenProject, snapshots: Mapping[str, Snapshot], ports: Ports
) -> Plan:
    """Compare a plan that changes ACLs with the logged requests, where that is asked for."""
    if ports.replay is None:
        return plan
    bases: dict[str, ReplayBasis] = {}
    for key in sorted({each.provider for each in plan.batches if each.kind == ACL_KIND}):
        cluster, snapshot = project.clusters.connections[key].cluster, snapshots[key]
        context = AccessContext(cluster, snapshot, project.configuration, key)
        rules = read_authorizer_rules(context)
        acls = tuple(each.value for each in snapshot.readings[ACL_KIND].objects.values())
        bases[key] = ReplayBasis(snapshot.cluster_id, acls, rules.super_users, rules.allow_everyone)
    if not bases:  # no request would meet anything else
        return replace(plan, replay=Replay(0, 0))
    ports.progress.stage("Replaying logged requests")
    return ports.replay(plan, bases)


def output_values(configuration: Configuration) -> dict[str, OutputValue]:
    """Return the outputs in the form in which the state keeps them; it keeps no null."""
    return {
        each.name: OutputValue(
            None if each.sensitive else each.value, each.type, is_sensitive=each.sensitive
        )
        for each in configuration.outputs
        if each.value is not None
    }


def plan_variables(configuration: Configuration) -> PlanVariables:
    """Return the values of the variables; of sensitive ones the names of those not defaulted."""
    given = configuration.variables
    return PlanVariables(
        {name: each.value for name, each in given.items() if not each.is_sensitive},
        tuple(name for name, each in given.items() if each.is_sensitive and each.is_given),
    )


def _node_address(description: ClusterDescription) -> str:
    """Name the cluster by what people call it; that is easier to read than an id."""
    if not description.nodes:
        return ""
    asked = [each for each in description.nodes if each.id in description.verifying_node_ids]
    first = min(asked or description.nodes, key=lambda each: each.id)
    return f"{first.host}:{first.port}"


def plan_request(project: OpenProject, options: PlanOptions, ports: Ports) -> PlanRequest:
    """Return the inputs of the planner."""
    configuration = project.configuration
    clusters = _cluster_facts(project.clusters)
    creations = unanswered_creations(project.journal, project.state)
    return PlanRequest(
        resources=() if options.is_destroy else configuration.resources,
        outputs=output_values(configuration),
        unknown_outputs=configuration.deferred.outputs if configuration.deferred else {},
        state=project.state,
        config_digest=configuration.digest,
        targets=options.targets,
        only=options.only,
        is_destroy=options.is_destroy,
        max_deletes=options.max_deletes,
        adds_first=add_first_connections(configuration),
        replaced=options.replacements,
        acknowledged=options.acknowledged,
        sent=frozenset(each.key for each in creations if each.action is Action.REPLACE),
        moved=configuration.refactorings.moved,
        removed=configuration.refactorings.removed,
        imports=configuration.refactorings.imports,
        cluster=next(iter(clusters.values())),
        clusters=clusters if project.clusters.has_aliases else {},
        created_at=ports.now().isoformat(timespec="seconds"),
    )


def _cluster_facts(clusters: Clusters) -> dict[str, dict[str, str]]:
    """Return the facts of each cluster that answers, by connection key."""
    return {
        key: {
            "at": _node_address(found.description),
            "brokers": str(len(found.description.brokers)),
            "id": found.description.cluster_id,
            **({"name": found.name} if found.name else {}),
            **({"platform": found.description.platform} if found.description.platform else {}),
            "principal": found.description.principal,
            "version": found.description.version,
        }
        for key, found in sorted(clusters.connections.items())
    }


DEFAULT_TTL = timedelta(hours=24)


def save_plan(
    planned: PlanResult,
    path: Path,
    now: datetime,
    *,
    show: bytes = b"",
    ttl: timedelta = DEFAULT_TTL,
    signature: SignatureCheck = NO_SIGNATURE,
) -> None:
    """Write a plan to a file that can be applied for `ttl` from `now` on.

    `show` is the JSON of the plan, for other tools that read the file. The file is
    signed with the key that it is checked by; people sign it later.

    Raises:
        KplanError: the file cannot be written, or it has to be signed and nothing would check that.

    """
    check_signature_required(planned.configuration, signature)
    expires = (now + ttl).isoformat(timespec="seconds")
    meta = plan_metadata(
        planned.plan,
        expires_at=expires,
        nonce=uuid.uuid4().hex,
        variables=plan_variables(planned.configuration),
    )
    meta = replace(
        meta,
        state_file=planned.state_file,
        state_name=planned.state_name,
        workspace=planned.workspace,
    )
    write_plan(path, planned.plan, meta, show, signature.key)
