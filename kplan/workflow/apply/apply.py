"""Use case: apply an approved plan: journal, checkpoints of the state, outcomes."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from kplan.apply.apply import apply_plan
from kplan.apply.limits import ApplyContext, Watcher
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, StateError, StateLockedError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan
from kplan.model.state import AppliedPlan, OutputValue, State
from kplan.state.journal import Journal, unanswered_creations
from kplan.state.journal_writer import JournalWriter
from kplan.workflow.apply.adoption import AdoptionWatcher, refuse_adoptions
from kplan.workflow.apply.kept_state import check_state_is_kept
from kplan.workflow.apply.watchers import CheckpointWatcher, SentWatcher, TeeWatcher
from kplan.workflow.moves.progress import describe_moves
from kplan.workflow.moves.throttle import kinds_with_limits, remove_stale_throttles
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.deferred_data import late_outputs
from kplan.workflow.plan.owner_check import adopted_objects
from kplan.workflow.plan.plan import (
    PlanResult,
    output_values,
    plan_open_project,
    plan_variables,
)
from kplan.workflow.plan.saved import check_plan_is_saved
from kplan.workflow.platform import refusal_notes
from kplan.workflow.policy.policy import report_refused
from kplan.workflow.ports import PlanOptions, Ports, Project

_MAX_APPLIED_PLANS = 100
_OUTPUTS_KEPT = "Outputs are not updated because not every change was made."


@dataclass(frozen=True, slots=True)
class ApplyHandlers:
    """Who approves a plan, who watches it being executed, and who is shown a saved one before."""

    approve: Callable[[PlanResult], bool]
    watcher: Watcher
    show: Callable[[PlanResult], None] = lambda _: None


_CARRIED_OUT = frozenset({OutcomeStatus.APPLIED, OutcomeStatus.IN_PROGRESS})
_RESUMABLE = frozenset({OutcomeStatus.SKIPPED, OutcomeStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply came to. `outcomes` is empty when it was not approved or could not be."""

    plan_result: PlanResult
    outcomes: tuple[Outcome, ...]
    state: State
    is_approved: bool

    @property
    def is_resumable(self) -> bool:
        """Whether it stopped before the end; its journal is kept for `resume`."""
        return any(each.status in _RESUMABLE for each in self.outcomes)

    @property
    def deferred_resources(self) -> frozenset[str]:
        """The addresses of resources that can be planned now that this has been applied."""
        deferred = self.plan_result.configuration.deferred
        return frozenset(deferred.resources if deferred and self.is_approved else ())


class UnrecordedApplyError(StateError):
    """An apply ended because its results could not be recorded; `done` is what is known of them."""

    detailed_exit = 5

    def __init__(self, failure: StateError, done: ApplyResult) -> None:
        hint = "Make sure that it can be written, then: kplan apply -resume"
        super().__init__(failure.detail, failure.hint or hint)
        self.done = done


class LostLockError(UnrecordedApplyError, StateLockedError):
    """An apply ended because it lost its lock."""

    code = StateLockedError.code
    summary = StateLockedError.summary


def execute_plan(
    project: Project,
    found: OpenProject,
    result: PlanResult,
    options: PlanOptions,
    outside: tuple[Ports, ApplyHandlers],
) -> ApplyResult:
    """Carry an approved plan out; the state is written at the end, and now and then before.

    Raises:
        StateError: the journal or the state cannot be written; an `UnrecordedApplyError`, which has
            what is known of the outcomes, if something was sent.

    """
    ports, handlers = outside
    sent = SentWatcher(handlers.watcher)
    try:
        watched = replace(handlers, watcher=sent)
        return _execute_plan(project, found, result, options, (ports, watched))
    except StateError as failure:
        if not sent.has_sent:
            raise
        known = ApplyResult(result, sent.outcomes(result.plan), result.state, is_approved=True)
        is_locked = isinstance(failure, StateLockedError)
        raise (LostLockError if is_locked else UnrecordedApplyError)(failure, known) from failure
    except (KeyboardInterrupt, SystemError):  # C code turns the one into the other
        if not sent.has_sent:
            _discard_unsent_journal(project, found, ports)
        raise


def _discard_unsent_journal(project: Project, found: OpenProject, ports: Ports) -> None:
    """Remove the journal of an apply that ended before its first request: there is no rest of it.

    One that was there before is kept, and any where the lock was lost. If it cannot be removed, the
    next run says that nothing was sent.
    """
    if found.journal is not None:
        return
    with suppress(StateError, ClusterError):
        held = project.store.lock_status().holder
        is_ours = ports.holder is None or (held is not None and held.id == ports.holder.id)
        if is_ours and project.store.has_journal():
            project.store.discard_journal()


def _execute_plan(
    project: Project,
    found: OpenProject,
    result: PlanResult,
    options: PlanOptions,
    outside: tuple[Ports, ApplyHandlers],
) -> ApplyResult:
    ports, handlers = outside
    project.store.check_free_space(_sent_change_count(result.plan))
    result, unanswered = _absorb_journal(project, found, result, ports)
    with _open_journal(project, result, ports, unanswered) as journal:

        def write(state: State) -> None:
            journal.on_state_write(state.serial)
            project.store.write(state)

        checkpoints = CheckpointWatcher(result, ports.clock, write)
        records = TeeWatcher(journal, TeeWatcher(checkpoints, handlers.watcher))
        watcher = AdoptionWatcher(records)
        sent: list[Outcome] = []
        for provider, part in result.plan.split_by_provider():
            ports.progress.stage("Applying", _sent_change_count(part, provider))
            sent += describe_moves(
                found.clusters.connections[provider].cluster,
                apply_plan(part, apply_context(found, provider, options, (ports, watcher))),
                options.reassignment_limits,
            )
        outcomes = watcher.settle(sent, found)
        ports.progress.stage("Writing the state")
        journal.end()
        outcomes = (*outcomes, *report_refused(result.plan, handlers.watcher))
        outputs = _outputs_after(result, outcomes, found, ports)
        state = checkpoints.next_state(outcomes, outputs)
        state = _add_plan(state, result, ports)
        told = (write, handlers.watcher, ports)
        state, outcomes = _write_end((state, outcomes), found, result, told)
    for note in refusal_notes(outcomes, found.clusters.descriptions):
        ports.progress.note(note)
    done = ApplyResult(result, outcomes, state, is_approved=True)
    if not (done.is_resumable or _lacks_owner(done, unanswered)):
        project.store.discard_journal()
    return done


def write_beside_journal(project: Project, state: State) -> None:
    """Write a state; a journal that is there is told before, so that it still belongs to it."""
    if (journal := project.store.read_journal()) is not None:
        project.store.replace_journal(journal.before_write(state.serial))
    project.store.write(state)


def _lacks_owner(done: ApplyResult, unanswered: Iterable[Change]) -> bool:
    """Whether an object may exist that only the journal knows of."""
    creations = {each.key for each in unanswered}
    creations |= {each.change.key for each in done.outcomes if each.is_unknown_creation}
    return not creations <= {each.key for each in done.state.owned.values()}


def _write_end(
    end: tuple[State, tuple[Outcome, ...]],
    found: OpenProject,
    result: PlanResult,
    outside: tuple[Callable[[State], None], Watcher, Ports],
) -> tuple[State, tuple[Outcome, ...]]:
    """Write the state, and then release what another workspace has adopted as well.

    In this order, so that of two that end at once at least one sees the other.
    """
    (state, outcomes), (write, watcher, ports) = end, outside
    ports.progress.stage("Writing the state")  # data sources may have been read since
    write(state)
    refused = {each.change.key: each for each in refuse_adoptions(result, state, outcomes, found)}
    if not refused:
        return state, outcomes
    watcher.on_outcomes(tuple(refused.values()))
    rest = (each for each in outcomes if each.change.key not in refused)
    owned = {at: each for at, each in state.owned.items() if each.key not in refused}
    outputs = result.state.outputs
    if state.outputs != outputs:
        ports.progress.note(_OUTPUTS_KEPT)
    state = replace(state, serial=state.serial + 1, owned=owned, outputs=outputs)
    write(state)
    return state, (*rest, *refused.values())


def _open_journal(
    project: Project, result: PlanResult, ports: Ports, unanswered: Sequence[Change]
) -> AbstractContextManager[JournalWriter]:
    nonce = result.meta.nonce if result.meta else ""
    variables = plan_variables(result.configuration)
    ports.progress.stage("Writing the journal")
    return project.store.open_journal(result.plan, nonce, ports.holder, variables, unanswered)


def apply_context(
    project: OpenProject, provider: str, options: PlanOptions, outside: tuple[Ports, Watcher]
) -> ApplyContext:
    ports, watcher = outside
    cluster = project.clusters.connections[provider].cluster
    kinds = kinds_with_limits(options.reassignment_limits)
    return ApplyContext(
        cluster, kinds, ports.clock, watcher, options.limits, is_stopped=ports.is_stopped
    )


def absorb_journal(
    project: Project, found: OpenProject, result: PlanResult, ports: Ports
) -> PlanResult:
    """Record the results of an interrupted apply where nothing is sent after it."""
    return _absorb_journal(project, found, result, ports)[0]


def _absorb_journal(
    project: Project, found: OpenProject, result: PlanResult, ports: Ports
) -> tuple[PlanResult, tuple[Change, ...]]:
    """Record the results of an interrupted apply, so that its journal can be removed.

    The plan that it was carrying out counts as applied: a saved one is not begun a second time.
    The creations that this or a later plan is to adopt are returned: the journal knows of them
    until it has.
    """
    journal = found.journal
    if journal is None:
        return result, ()
    known = {"", *(each.nonce for each in result.state.applied_plans)}
    if journal.is_ended and journal.header.nonce in known:
        left = _doubtful_changes(journal, result)
        if len(left) == len(journal.changes):  # as a reconcile finds it again and again
            return result, left
    remove_stale_throttles(journal, found.clusters, ports)
    state = replace(result.state, serial=result.state.serial + 1)
    state = add_interrupted_plan(state, journal, ports, result.plan.policy_principal)
    write_beside_journal(project, state)
    if unanswered := _doubtful_changes(journal, result):
        done = {each.key for each in journal.changes} - {each.key for each in unanswered}
        rest = journal.without(done).before_write(state.serial)
        project.store.replace_journal(replace(rest, is_ended=True))
    else:
        project.store.discard_journal()
    based_on = replace(result.plan.based_on, lineage=state.lineage, serial=state.serial)
    result = replace(result, plan=replace(result.plan, based_on=based_on), state=state)
    return result, unanswered


def _doubtful_changes(journal: Journal, result: PlanResult) -> tuple[Change, ...]:
    """Return the creations without an answer that this or a later plan is to adopt."""
    state = result.state
    adopted = {each.key for each, _ in adopted_objects(result.plan, state, result.snapshots)}
    adopted |= result.doubtful
    sent = unanswered_creations(journal, state)
    # What was to be adopted with a change was there before.
    made = (each for each in sent if each.action is not Action.UPDATE)
    return tuple(each for each in made if each.key in adopted)


def _add_plan(state: State, result: PlanResult, ports: Ports) -> State:
    nonce, checksum = "", result.plan.checksum
    if result.meta is not None:
        nonce, checksum = result.meta.nonce, result.meta.checksum
    return _add_applied_plan(state, (nonce, checksum, result.plan.policy_principal), ports)


def add_interrupted_plan(
    state: State, journal: Journal, ports: Ports, policy_principal: str = ""
) -> State:
    """Remember the plan of an interrupted apply, whose journal is about to be removed."""
    begun, known = journal.header, {each.nonce for each in state.applied_plans}
    if begun.nonce and begun.nonce in known:
        return state
    return _add_applied_plan(state, (begun.nonce, begun.plan, policy_principal), ports)


def _add_applied_plan(state: State, plan: tuple[str, str, str], ports: Ports) -> State:
    """Remember every saved plan, so that it is applied once, and who applied last.

    In: nonce and checksum of the plan, and the principal that policies evaluated it for.
    """
    nonce, checksum, policy_principal = plan
    by = "" if ports.holder is None else ports.holder.ci or ports.holder.person
    at = ports.now().isoformat(timespec="seconds")
    saved = [each for each in state.applied_plans if each.nonce]
    plans = (*saved, AppliedPlan(nonce, checksum, at, by, policy_principal))
    return replace(state, applied_plans=plans[-_MAX_APPLIED_PLANS:])


def _sent_change_count(plan: Plan, provider: str | None = None) -> int:
    """Count the changes that are sent, or those to one cluster."""
    sent = [each for each in plan.allowed_changes if each.touches_cluster]
    return sum(provider in (None, each.provider) for each in sent)


def _outputs_after(
    result: PlanResult, outcomes: Iterable[Outcome], found: OpenProject, ports: Ports
) -> dict[str, OutputValue]:
    """Return the outputs that the state is to have: those it has unless every change was made."""
    if all(each.status in _CARRIED_OUT for each in outcomes):
        late = late_outputs(found, result.configuration, result.plan, ports)
        outputs = {**_final_outputs(result), **late}
        return {name: each for name, each in outputs.items() if not each.is_null}
    if any(each.action is not Action.NO_OP for each in result.plan.outputs):
        ports.progress.note(_OUTPUTS_KEPT)
    return dict(result.state.outputs)


def _final_outputs(result: PlanResult) -> dict[str, OutputValue]:
    """Return the outputs after the apply: those of the state, with the changes of the plan."""
    outputs, declared = dict(result.state.outputs), output_values(result.configuration)
    for change in result.plan.outputs:
        if change.action is Action.DELETE:
            outputs.pop(change.name, None)  # a later state may have lost it already
        elif change.action is not Action.NO_OP and not change.is_unknown:
            outputs[change.name] = declared[change.name]
    return outputs


__all__ = ["ApplyHandlers", "ApplyResult", "apply"]


def apply(
    project: Project, options: PlanOptions, ports: Ports, handlers: ApplyHandlers
) -> ApplyResult:
    """Plan, ask for approval, and execute the plan, all under one lock.

    Raises:
        KplanError: the configuration requires signed plans.
        StateError: the state would be lost with the CI job.

    """
    check_state_is_kept(project, ports)
    with open_project(project, ports, defers=True, is_destroy=options.is_destroy) as found:
        check_plan_is_saved(found.configuration, is_destroy=options.is_destroy)
        made = plan_open_project(found, replace(options, is_for_apply=True), ports)
        if not made.plan.is_applyable:
            if not made.plan.has_errors:
                made = absorb_journal(project, found, made, ports)
            return ApplyResult(made, (), made.state, is_approved=False)
        if not handlers.approve(made):
            return ApplyResult(made, (), made.state, is_approved=False)
        return execute_plan(project, found, made, options, (ports, handlers))
