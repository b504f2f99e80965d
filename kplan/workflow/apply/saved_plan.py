"""Use case: apply a saved plan, if it still fits the cluster and the state."""

import shlex
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from kplan.cluster.errors import CLIENT_STALE, client_refusal
from kplan.config.declarations.file import configuration_files
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.diagnostic import sort_diagnostics
from kplan.model.errors import PolicyDeniedError, StalePlanError, WrongClusterError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan, Reason
from kplan.model.policy import ViolationStatus
from kplan.model.resource import connection_name
from kplan.model.state import State
from kplan.plan.digest import has_same_actions
from kplan.policy.thresholds import check_thresholds
from kplan.report.documents.notation import count_text
from kplan.state.file import check_same_state
from kplan.state.plan_file import SavedPlan, check_not_expired
from kplan.workflow.apply.apply import ApplyHandlers, ApplyResult, execute_plan
from kplan.workflow.apply.kept_state import check_state_is_kept
from kplan.workflow.apply.staleness import Staleness, find_stale_changes
from kplan.workflow.clusters import Clusters
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.broker_check import fill_defaults
from kplan.workflow.plan.controller_check import check_plan_controller_access
from kplan.workflow.plan.deferred_data import settle_data
from kplan.workflow.plan.owner_check import check_other_workspaces
from kplan.workflow.plan.plan import (
    PlanResult,
    plan_open_project,
    plan_request,
)
from kplan.workflow.plan.refresh import read_settled_snapshots, settle_journal
from kplan.workflow.plan.saved import (
    NO_APPROVAL,
    SavedPlanApproval,
    check_approval,
    check_derived,
    check_plan_is_saved,
    check_planned_secrets,
    check_secrets_given,
    check_signature_required,
    check_workspace,
    read_saved_plan,
    restore_secrets,
)
from kplan.workflow.policy.policy import (
    PolicyInput,
    apply_policies,
    check_policy_principal,
    policy_sources,
)
from kplan.workflow.ports import PlanOptions, PolicyOptions, Ports, Project, keep_replacements

_PLAN_AGAIN_HINT = "Plan again."
_CONFIGURATION_HINT = (
    "Plan again; a saved plan contains the values of its variables and accepts no others."
)


class StaleAction(StrEnum):
    """What to do when something moved since the plan was made."""

    ABORT = "abort"
    SKIP = "skip"
    REPLAN = "replan"


def apply_saved(
    project: Project,
    path: Path,
    options: PlanOptions,
    outside: tuple[Ports, ApplyHandlers],
    on_stale: StaleAction = StaleAction.ABORT,
    approval: SavedPlanApproval = NO_APPROVAL,
) -> ApplyResult:
    """Execute the plan that a file holds; it was approved when it was made.

    Raises:
        KplanError: there is no such file, or it is no plan, damaged, edited or not signed.
        StalePlanError: a newer version of kplan made it, or for the state in a file that was named
            then and is not now, in another workspace or folder; and as `apply_reviewed`.

    """
    check_state_is_kept(project, outside[0])
    saved = read_saved_plan(path, approval.signature)
    if configuration_files(project.folder):
        check_workspace(saved.metadata.workspace, project.inputs)
    _check_state_file(saved, project)
    if on_stale is not StaleAction.REPLAN:
        _check_folder(saved, project, path)
    if saved.signer:
        outside[0].progress.note(f"The plan is signed by {saved.signer}.")
    return apply_reviewed(project, saved, options, outside, on_stale, approval)


def _check_state_file(saved: SavedPlan, project: Project) -> None:
    """Check that a plan for a named state file is not recorded in another one.

    A state that no apply has written has no lineage that would tell. One that KPLAN_STATE names for
    every command is not meant for this plan, unless it is the same path in another checkout.
    """
    named, path = saved.metadata.state_file, project.state_path
    is_alike = _is_named_alike(saved, path)
    is_known = project.is_state_exact or (
        project.is_state_named and (is_alike or saved.plan.based_on.serial)
    )
    if named and not is_known and Path(named) != path.absolute():
        raise StalePlanError(
            f"The plan was made for the state in {named}; this apply would write to "
            f"{project.store.location}.",
            f"Name the same file: -state={named} or KPLAN_STATE.",
        )


def _check_folder(saved: SavedPlan, project: Project, path: Path) -> None:
    """Check that files which the plan was made from are here, before a lock is written here.

    A plan of a configuration without a state is known by its configuration alone.
    """
    is_in_file = project.store.location == project.file_store.location
    if not configuration_files(project.folder):
        missing = f"There is no configuration in {project.folder.absolute()}"
    elif is_in_file and saved.plan.based_on.serial and not project.state_path.exists():
        missing = f"There is no state in {project.state_path.absolute()}"
    else:
        return
    command = shlex.join(["kplan", "-chdir=DIR", "apply", str(path.absolute())])
    raise StalePlanError(
        f"{missing}, and the plan was made with one.",
        f"If the plan was made in another folder, apply it there: {command}",
    )


def _is_named_alike(saved: SavedPlan, path: Path) -> bool:
    """Whether the plan named the state with the same path, in whichever folder."""
    if saved.metadata.state_name:
        return saved.metadata.state_name == str(path)
    # Earlier versions recorded only where the file is: its end may be the path they were given.
    return Path(saved.metadata.state_file).parts[-len(path.parts) :] == path.parts


def apply_reviewed(
    project: Project,
    saved: SavedPlan,
    options: PlanOptions,
    outside: tuple[Ports, ApplyHandlers],
    on_stale: StaleAction = StaleAction.ABORT,
    approval: SavedPlanApproval = NO_APPROVAL,
) -> ApplyResult:
    """Execute a plan that was made before; it was approved when it was made.

    Where something moved since: ABORT does nothing at all; SKIP refuses just the changes that do
    not fit any more; REPLAN plans again, and asks unless the actions are still the same.

    Raises:
        PolicyDeniedError: it deletes more than `options` let it.
        StalePlanError: it is not the approved one, has expired, was applied before, holds what the
            configuration does not ask for, or something moved and `on_stale` says to stop.
        WrongClusterError: it was made for another cluster.
        KplanError: it must be signed and is not; the state would be lost with a CI job.

    """
    ports, handlers = outside
    check_state_is_kept(project, ports)
    check_approval(saved.plan, approval.checksum)
    check_not_expired(saved.metadata, ports.now())
    project = replace(project, inputs=replace(project.inputs, values=saved.metadata.variables))
    check = partial(check_secrets_given, "The plan", saved.metadata.secret_variables)
    with open_project(project, ports, defers=True, check=check) as opened:
        plan = saved.plan
        found = settle_data(
            opened, plan.changes, is_narrow=not plan.is_complete, is_destroy=plan.is_destroy
        )
        check_signature_required(found.configuration, approval.signature)
        options = replace(options, policies=_planned_policies(saved.plan, options.policies))
        check_policy_principal(found.configuration, options.policies)
        _check_policy_sources(saved.plan, found.configuration, options.policies, ports)
        _check_applicable(saved, found, options)
        try:
            made, stale = _rebase_plan(saved, found, on_stale, (options, ports))
        except StalePlanError:
            if on_stale is not StaleAction.REPLAN:
                raise
            return _replan(project, saved, found, options, outside)
        made = _apply_current_policies(made, found.clusters, options, ports)
        made = replace(made, plan=check_plan_controller_access(made.plan, found.clusters))
        if made.plan.has_errors:
            return ApplyResult(made, (), made.state, is_approved=False)
        check_planned_secrets("The plan", made.plan.allowed_changes)
        handlers.show(made)
        done = execute_plan(project, found, made, options, outside)
        refused = tuple(
            _stale_outcome(change, why) for change, why in stale if change.touches_cluster
        )
        handlers.watcher.on_outcomes(refused)
        return replace(done, outcomes=(*done.outcomes, *refused))


def _check_not_applied(saved: SavedPlan, state: State) -> None:
    for each in state.applied_plans:
        if each.nonce == saved.metadata.nonce:
            by = f" by {each.by}" if each.by else ""
            raise StalePlanError(
                f"The plan was applied already, at {each.at}{by}.", _PLAN_AGAIN_HINT
            )


def _check_applicable(saved: SavedPlan, project: OpenProject, options: PlanOptions) -> None:
    """Check conditions that no way of handling stale plans can fix."""
    begun = project.journal
    if begun is not None and begun.is_finished:
        _check_not_applied(saved, project.state)
    if begun is not None and begun.header.nonce == saved.metadata.nonce:
        raise StalePlanError(
            "An apply of this plan was started and interrupted.",
            "Do the rest of it: kplan apply -resume",
        )
    _check_not_applied(saved, project.state)
    planned = saved.plan.allowed_changes
    deletes = sum(each.action is Action.DELETE or each.is_recreated for each in planned)
    if options.max_deletes is not None and deletes > options.max_deletes:
        raise PolicyDeniedError(
            f"The plan deletes {count_text(deletes, 'object')}, and at most "
            f"{options.max_deletes} may be."
        )
    based_on = saved.plan.based_on
    wanted = {"": based_on.cluster_id, **based_on.clusters}
    for key, cluster_id in project.clusters.ids.items():
        planned_for = wanted.get(key)
        if planned_for and planned_for != cluster_id:
            where = f" behind {connection_name(key)}" if key else ""
            raise WrongClusterError(
                f"The plan was made for cluster {planned_for}{where}; this is cluster {cluster_id}."
            )


_DRY_RUN_FACTS = ("asked", "refused")
StaleChanges = tuple[tuple[Change, Staleness], ...]


def _rebase_plan(
    saved: SavedPlan,
    project: OpenProject,
    on_stale: StaleAction,
    given: tuple[PlanOptions, Ports],
) -> tuple[PlanResult, StaleChanges]:
    """Adapt a saved plan to the current state, without changes that no longer apply."""
    state = _select_state(saved.plan, project.state, on_stale)
    if saved.plan.based_on.config_digest != project.configuration.digest:
        raise StalePlanError(
            "The configuration changed since the plan was made.", _CONFIGURATION_HINT
        )
    options, ports = given
    project, planned = replace(project, state=state), _same_options(saved.plan, options)
    snapshots = read_settled_snapshots(project, planned, ports)
    project = settle_journal(project, snapshots, planned)
    state = project.state
    stale = find_stale_changes(saved.plan, state, snapshots, KINDS)
    if stale and on_stale is not StaleAction.SKIP:
        names = [f"{each.address} ({why})" for each, why in stale]
        raise StalePlanError(f"Not as the plan saw it: {', '.join(names)}.", _PLAN_AGAIN_HINT)
    rest = _remove_stale_changes(saved.plan, stale, state)
    request = plan_request(project, _same_options(rest, options), ports)
    fill = partial(fill_defaults, clusters=project.clusters, kinds=KINDS, ports=ports)
    derived = check_derived(rest, request, snapshots, fill)
    plan = check_other_workspaces(restore_secrets(rest, derived), project, snapshots, planned)
    made = PlanResult(plan, project.configuration, state, snapshots, saved.metadata)
    return replace(made, doubtful=frozenset(project.doubtful)), stale


def _apply_current_policies(
    result: PlanResult, clusters: Clusters, options: PlanOptions, ports: Ports
) -> PlanResult:
    """Check it against the current policies and thresholds, whatever allowed it before."""
    former = result.plan
    kept = tuple(each for each in former.violations if each.standing is ViolationStatus.REFUSED)
    problems = check_thresholds(former, options.max_dangerous, options.max_change_pct)
    diagnostics = sort_diagnostics([*former.diagnostics, *problems])
    plan = replace(former, violations=kept, diagnostics=diagnostics)
    policy_input = PolicyInput(result.configuration, result.snapshots, clusters.open)
    plan, configuration = apply_policies(plan, policy_input, options.policies, ports)
    return replace(result, plan=plan, configuration=configuration)


def _planned_policies(plan: Plan, options: PolicyOptions) -> PolicyOptions:
    """Add the inputs of the plan: places of policies, principal, reasons for overrides."""
    recorded = {
        each.policy: each.reason.removeprefix("overridden: ")
        for each in plan.violations
        if each.standing is ViolationStatus.OVERRIDDEN
    }
    return replace(
        options,
        recorded_paths=tuple(each.path for each in plan.policy_sources),
        overrides={**recorded, **options.overrides},
        principal=options.principal or plan.policy_principal,
    )


def _check_policy_sources(
    plan: Plan, configuration: Configuration, options: PolicyOptions, ports: Ports
) -> None:
    """Report policies that changed since the plan was made.

    Raises:
        StalePlanError: policies that evaluated the plan are missing.

    """
    now = {each.path: each.digest for each in policy_sources(configuration, options)}
    for each in plan.policy_sources:
        if each.digest and not now[each.path]:
            raise StalePlanError(
                f"The plan was evaluated by the policies in {each.path}, which is missing here.",
                "Apply it in a folder with these policies, or make the plan again.",
            )
        if each.digest != now[each.path]:
            ports.progress.note(
                f"The policies in {each.path} changed since the plan was made; "
                "they are evaluated as they are now"
            )


def _select_state(plan: Plan, state: State, on_stale: StaleAction) -> State:
    """Return the state to go on with: the one of the plan, or with SKIP a later one of it."""
    based_on = plan.based_on
    if state.serial == based_on.serial == 0:
        return replace(state, lineage=based_on.lineage)  # neither has been written yet
    is_later = state.lineage == based_on.lineage and state.serial > based_on.serial
    if not (is_later and on_stale is StaleAction.SKIP):
        check_same_state(state, based_on)
    return state


def _remove_stale_changes(plan: Plan, stale: StaleChanges, state: State) -> Plan:
    """Leave stale changes out, and with a later state those that only confirm it."""
    out = {each.key for each, _ in stale}
    is_later = state.serial != plan.based_on.serial

    def stays(change: Change) -> bool:
        is_news = change.action is not Action.NO_OP or change.reason is not Reason.NONE
        return change.key not in out and (is_news or not is_later)

    batches = (
        replace(batch, changes=tuple(each for each in batch.changes if stays(each)))
        for batch in plan.batches
    )
    # The dry run was of all of them.
    cluster = {name: each for name, each in plan.cluster.items() if name not in _DRY_RUN_FACTS}
    return replace(
        plan,
        stale_count=len(out),
        cluster=cluster if out else plan.cluster,
        changes=tuple(each for each in plan.changes if stays(each)),
        batches=tuple(batch for batch in batches if batch.changes),
        based_on=replace(plan.based_on, lineage=state.lineage, serial=state.serial),
    )


def _stale_outcome(change: Change, why: Staleness) -> Outcome:
    refused = client_refusal(CLIENT_STALE, f"{why.value[0].upper()}{why.value[1:]}.")
    return Outcome(change, OutcomeStatus.FAILED, refused)


def _same_options(plan: Plan, options: PlanOptions) -> PlanOptions:
    """Make the plan of a saved plan's objects."""
    return replace(
        keep_replacements(options, plan.changes),
        is_destroy=plan.is_destroy or any(each.reason is Reason.DESTROY for each in plan.changes),
        only=None if plan.is_complete else frozenset(each.key for each in plan.changes),
    )


def _replan(
    project: Project,
    saved: SavedPlan,
    found: OpenProject,
    options: PlanOptions,
    outside: tuple[Ports, ApplyHandlers],
) -> ApplyResult:
    """Plan the objects of the saved plan again; new actions must be approved."""
    ports, handlers = outside
    former = saved.plan
    options = _same_options(former, options)
    made = replace(plan_open_project(found, options, ports), meta=saved.metadata)
    is_same = has_same_actions(made.plan, former)
    if is_same:
        planned = restore_secrets(former, made.plan)
        check_planned_secrets("The plan", planned.allowed_changes)
    else:
        check_plan_is_saved(found.configuration, is_destroy=options.is_destroy)
    if not made.plan.is_applyable or not (is_same or handlers.approve(made)):
        return ApplyResult(made, (), made.state, is_approved=False)
    return execute_plan(project, found, made, options, outside)
