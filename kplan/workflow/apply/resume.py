"""Use case: finish an apply that was interrupted, from its journal."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from kplan.apply.progress import ApplyProgress, ChangeProgress
from kplan.apply.visibility import wait_until_visible
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.kinds.topic_layout import without_generated_assignment
from kplan.kinds.unfinished_change import is_half_replaced
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import NothingToResumeError, StalePlanError
from kplan.model.outcome import FOUND, Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, ObjectKey, Plan, Reason
from kplan.model.resource import Resource
from kplan.model.state import State
from kplan.state.journal import Journal
from kplan.workflow.adopt.import_ import merge_owned
from kplan.workflow.apply.apply import (
    ApplyHandlers,
    ApplyResult,
    apply_context,
    execute_plan,
    write_beside_journal,
)
from kplan.workflow.apply.wait import pending_change
from kplan.workflow.open_project import OpenProject, lock_state, open_project
from kplan.workflow.plan.deferred_data import settle_data
from kplan.workflow.plan.plan import PlanResult, plan_open_project
from kplan.workflow.plan.saved import check_planned_secrets, check_secrets_given, take_secrets
from kplan.workflow.policy.policy import check_policy_principal
from kplan.workflow.ports import PlanOptions, Ports, Project, keep_replacements
from kplan.workflow.workspaces import OWNED_ELSEWHERE

_NOTHING_TO_RESUME = "No apply was interrupted, so there is nothing to resume."
_PLAN_HINT = "See what is to be done with kplan plan."
_NOWHERE = SourceRange("", 0, 0, 0, 0)


def resume_apply(
    project: Project, options: PlanOptions, ports: Ports, handlers: ApplyHandlers
) -> ApplyResult:
    """Finish an interrupted apply: the approved changes that are not done yet.

    What is to be done is in the journal, with the values of the variables; the configuration gives
    the connections, the policies, and the secrets. What is declared otherwise by now is left to the
    next plan. The outcomes begin with those that were there before.

    Raises:
        NothingToResumeError: no apply was interrupted.
        StateLockedError: another run holds the lock.
        KplanError: a sensitive variable that had a value has its default now, or another value.
        StalePlanError: what is left would do something else than what was approved.

    """
    journal = _interrupted_journal(project, ports)
    values = {**journal.header.variables, **project.inputs.values}
    project = replace(project, inputs=replace(project.inputs, values=values))
    secrets = journal.header.secret_variables
    check = partial(check_secrets_given, "The interrupted apply", secrets)
    with open_project(project, ports, defers=True, check=check) as opened:
        if opened.journal is None:  # another run has finished it meanwhile
            raise NothingToResumeError(_NOTHING_TO_RESUME, _PLAN_HINT)
        check_policy_principal(opened.configuration, options.policies)
        journal = opened.journal
        is_destroy = any(each.reason is Reason.DESTROY for each in journal.changes)
        found = settle_data(opened, journal.changes, is_narrow=True, is_destroy=is_destroy)
        declared = {each.key for each in found.configuration.resources}
        resources = tuple(_approved_resources(found.configuration, journal.changes))
        found = replace(found, configuration=replace(found.configuration, resources=resources))
        deposed = _deposed_keys(journal, found.state)
        options = replace(
            keep_replacements(options, journal.changes),
            only=_approved_keys(journal.changes, found.state) | deposed,
            is_destroy=is_destroy,
        )
        made = plan_open_project(found, options, ports)
        made = replace(made, plan=replace(made.plan, is_resumed=True))
        if made.plan.has_errors:
            made = replace(made, plan=_hint_at_apply(made.plan))
            return ApplyResult(made, (), made.state, is_approved=False)
        # What is not declared any more has no secret to compare: its item is refused.
        sent = [each for each in made.plan.allowed_changes if each.key in declared]
        check_planned_secrets("The interrupted apply", sent)
        if others := tuple(_unapproved_changes(made.plan, journal.changes, deposed)):
            raise StalePlanError(
                f"Not what the interrupted apply was approved for: {', '.join(others)}.",
                "kplan apply plans the current configuration and asks for approval.",
            )
        before = tuple(_outcomes_before(journal, made))
        handlers.watcher.on_outcomes(before)
        done = execute_plan(project, found, made, options, (ports, handlers))
        return _verify_before((project, found), done, before, options, (ports, handlers))


def _interrupted_journal(project: Project, ports: Ports) -> Journal:
    """Return the journal, from which the configuration is loaded before it is locked."""
    journal = project.store.read_journal()
    if journal is None:  # while another run holds the lock, it may be about to write one
        with lock_state(project, ports):
            journal = project.store.read_journal()
    if journal is None:
        raise NothingToResumeError(_NOTHING_TO_RESUME, _PLAN_HINT)
    return journal


def _approved_resources(
    configuration: Configuration, approved: Sequence[Change]
) -> Iterator[Resource]:
    """Replace the current declarations with the approved ones, and keep all others.

    Where both are the same, what is declared has the secrets. An object that was to be deleted and
    is declared again stays.
    """
    goals = {each.key: each for each in approved if each.after is not None}
    held = {each.address for each in goals.values()}
    declared = {each.key: each for each in configuration.resources}
    for key, change in goals.items():
        same = declared.get(key)
        if same is not None and _is_same_goal(change, same.value):
            yield same
        else:
            made = Resource(
                change.address,
                change.identity,
                change.after if same is None else take_secrets(change.after, same.value),
                change.declared_at or _NOWHERE,
                provider=change.provider,
            )
            yield replace(made, others=tuple(replace(made, address=at) for at in change.others))
    for each in configuration.resources:
        if each.key not in goals and each.address not in held:
            yield each


def _is_same_goal(change: Change, value: object) -> bool:
    """Whether both mean the same object.

    What one of them leaves to the broker is no difference, nor where replicas are that kplan
    places: that follows from the replicas there are.
    """
    kind = next(each for each in KINDS if each.name == change.kind)
    goal, other = without_generated_assignment(change.after), without_generated_assignment(value)
    pairs = (kind.align(goal, other), kind.align(other, goal))
    return any(one == two for one, two in pairs)


def _hint_at_apply(plan: Plan) -> Plan:
    """Add to the way out of what another workspace owns that it is not one of a resume."""
    way = "A resume keeps the name that was approved; kplan apply takes the one that is declared."
    return replace(
        plan,
        diagnostics=tuple(
            replace(each, hint=f"{way} {each.hint}") if each.code == OWNED_ELSEWHERE else each
            for each in plan.diagnostics
        ),
    )


def _outcomes_before(journal: Journal, made: PlanResult) -> Iterator[Outcome]:
    """Return the approved changes that are done, by the journal or by the live objects."""
    applied = {
        each.change.key: each for each in journal.outcomes if each.status is OutcomeStatus.APPLIED
    }
    left = {each.key for each in made.plan.changes if each.touches_cluster}
    for change in journal.changes:
        if change.key in left:
            continue
        if (outcome := applied.get(change.key)) is not None:
            yield replace(outcome, note="done before the interruption")
        elif _is_live_as_approved(change, made):
            yield Outcome(change, OutcomeStatus.APPLIED, note=FOUND)


def _is_live_as_approved(change: Change, made: PlanResult) -> bool:
    """Whether the cluster shows the object as it was approved, or for a deletion does not."""
    live = made.snapshots[change.provider].live_object(change.kind, change.identity)
    if change.after is None or live is None:
        return change.after is None and live is None
    return _is_same_goal(change, live.value)


def _verify_before(
    projects: tuple[Project, OpenProject],
    done: ApplyResult,
    before: Sequence[Outcome],
    options: PlanOptions,
    outside: tuple[Ports, ApplyHandlers],
) -> ApplyResult:
    """Wait until every broker also serves the earlier changes, and put them before the rest."""
    (project, found), (ports, handlers) = projects, outside
    lines = {
        each.change.key: ChangeProgress(_visible_change(each.change, done.state), 0)
        for each in before
        if not each.is_verified
    }
    if options.limits.waits_for_visibility:
        until = ports.clock.now() + options.limits.visible_s
        for provider in sorted({key[2] for key in lines}):
            context = apply_context(found, provider, options, (ports, handlers.watcher))
            here = {key[:2]: each for key, each in lines.items() if key[2] == provider}
            wait_until_visible(ApplyProgress(here), context, until)
    served = {key for key, each in lines.items() if each.is_verified}
    outcomes = tuple(
        replace(each, is_verified=True) if each.change.key in served else each for each in before
    )
    state = done.state
    owned = [
        replace(each, is_pending=False)
        for each in state.owned.values()
        if each.is_pending and each.key in served
    ]
    if owned:
        state = replace(state, serial=state.serial + 1, owned=merge_owned(state.owned, owned))
        write_beside_journal(project, state)  # it is there where a creation has no answer
    return replace(done, outcomes=(*outcomes, *done.outcomes), state=state)


def _visible_change(change: Change, state: State) -> Change:
    """Return a change for queries of brokers: the journal does not record the previous value."""
    owned = state.owned.get(change.address)
    if change.action is Action.DELETE or owned is None:
        return change
    return replace(pending_change(owned), provider=change.provider)


def _approved_keys(approved: Sequence[Change], state: State) -> frozenset[ObjectKey]:
    """Return the objects of the apply, and those previously at their addresses."""
    addresses = {each.address for each in approved}
    held = (each for address, each in state.owned.items() if address in addresses)
    return frozenset(each.key for each in approved) | frozenset(each.key for each in held)


def _deposed_keys(journal: Journal, state: State) -> frozenset[ObjectKey]:
    """Return the objects beside which their replacement was created: to delete them is left."""
    kinds = {each.name: each for each in KINDS}
    halves = (each.change for each in journal.outcomes if is_half_replaced(KINDS, each))
    replaced = {
        (each.kind, kinds[each.kind].identify(each.before), each.provider)
        for each in halves
        if each.before is not None
    }
    deposed = frozenset(each.key for at, each in state.owned.items() if at.is_deposed)
    return deposed & replaced


def _unapproved_changes(
    plan: Plan, approved: Sequence[Change], deposed: Collection[ObjectKey]
) -> Iterator[str]:
    """Name the changes whose goal differs from the approved one."""
    goals = {each.key: each for each in approved}
    for change in plan.changes:
        if not change.touches_cluster or (change.after is None and change.key in deposed):
            continue
        goal = goals.get(change.key)
        if goal is None or goal.after is None or change.after is None:
            is_same = goal is not None and goal.after is change.after
        else:
            is_same = _is_same_goal(goal, change.after)
        if not is_same:
            yield str(change.address)
