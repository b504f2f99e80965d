"""Use case: carry a plan out and record what became of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kplan.apply.carry import carry_out
from kplan.apply.fold import state_after
from kplan.apply.pace import Means, Watcher
from kplan.kinds import KINDS
from kplan.model.errors import StalePlan, UsageError, WrongCluster
from kplan.model.outcome import Outcome
from kplan.model.plan import Action, Plan
from kplan.model.state import OutputValue, State
from kplan.state.file import check_same_state, write_state
from kplan.state.journal import discard_journal
from kplan.state.journal_writer import recording
from kplan.state.plan_file import SavedPlan, check_not_expired, read_plan
from kplan.workflow.both import Both
from kplan.workflow.freshness import moved_since
from kplan.workflow.opened import Opened, opened
from kplan.workflow.plan import Planned, output_values, planned
from kplan.workflow.project import PlanOptions, Ports, Project
from kplan.workflow.settled import wanted_identities
from kplan.workflow.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class Hands:
    """Who approves a plan and who watches it being carried out."""

    approve: Callable[[Planned], bool]
    watcher: Watcher


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply came to. `outcomes` is empty when it was not approved or could not be."""

    planned: Planned
    outcomes: tuple[Outcome, ...]
    state: State
    is_approved: bool


def apply(project: Project, options: PlanOptions, ports: Ports, hands: Hands) -> Applied:
    """Plan, ask for approval, and carry the plan out, all under one lock."""
    with opened(project, ports) as found:
        made = _absorbed(project, found, planned(found, options, ports))
        if not made.plan.is_applyable or not hands.approve(made):
            return Applied(made, (), made.state, is_approved=False)
        return _carried_out(project, found, made, options, (ports, hands))


def resume(project: Project, options: PlanOptions, ports: Ports, hands: Hands) -> Applied:
    """Finish an apply that was interrupted: what it was approved for and has not done yet.

    Raises:
        UsageError: no apply was interrupted.

    """
    with opened(project, ports) as found:
        if found.journal is None:
            raise UsageError("No apply was interrupted; there is nothing to resume.")
        changes = found.journal.changes
        options = replace(
            options,
            only=frozenset((each.kind, each.identity) for each in changes),
            is_destroy=all(each.action is Action.DELETE for each in changes),
        )
        made = _absorbed(project, found, planned(found, options, ports))
        if made.plan.has_errors:
            return Applied(made, (), made.state, is_approved=False)
        return _carried_out(project, found, made, options, (ports, hands))


def apply_saved(
    project: Project, path: Path, options: PlanOptions, ports: Ports, hands: Hands
) -> Applied:
    """Carry out a saved plan; it was approved when it was made.

    Raises:
        StalePlan: configuration, state or a live object is not what the plan was made from.

    """
    saved = read_plan(path)
    check_not_expired(saved.meta, ports.now())
    with opened(project, ports) as found:
        made = _absorbed(project, found, _rebound(saved, found))
        return _carried_out(project, found, made, options, (ports, hands))


def _rebound(saved: SavedPlan, found: Opened) -> Planned:
    """Put a saved plan on what is open now, if that is still what it was made from."""
    based_on, state = saved.plan.based_on, found.state
    if based_on.cluster_id != found.description.cluster_id:
        raise WrongCluster(
            f"The plan was made for cluster {based_on.cluster_id}; "
            f"this is cluster {found.description.cluster_id}."
        )
    if state.serial == based_on.serial == 0:
        state = replace(state, lineage=based_on.lineage)  # neither has been written yet
    check_same_state(state, based_on)
    if based_on.config_digest != found.configuration.digest:
        raise StalePlan("The configuration changed since the plan was made.", "Plan again.")
    wanted = wanted_identities(found.configuration, state)
    snapshot = read_snapshot(found.cluster, found.description, KINDS, wanted)
    if moved := moved_since(saved.plan, snapshot, KINDS):
        raise StalePlan(
            f"Changed on the cluster since the plan: {', '.join(moved)}.", "Plan again."
        )
    return Planned(saved.plan, found.configuration, state, snapshot)


def _carried_out(
    project: Project,
    found: Opened,
    made: Planned,
    options: PlanOptions,
    outside: tuple[Ports, Hands],
) -> Applied:
    """Send, with every intent and outcome on disk first, then write the state once."""
    ports, hands = outside
    with recording(project.state_path, made.plan) as journal:
        means = Means(
            found.cluster,
            KINDS,
            ports.clock,
            Both(journal, hands.watcher),
            options.pace,
            is_stopped=ports.is_stopped,
        )
        ports.progress.stage("Applying", _sendings(made.plan))
        outcomes = carry_out(made.plan, means)
        state = state_after(made.state, made.plan, outcomes, _outputs(made, options))
        journal.writes(state.serial)
        write_state(project.state_path, state)
        journal.end()
    discard_journal(project.state_path)
    return Applied(made, outcomes, state, is_approved=True)


def _absorbed(project: Project, found: Opened, made: Planned) -> Planned:
    """Write down what an interrupted apply had done, so that its journal can go."""
    if found.journal is None:
        return made
    state = replace(made.state, serial=made.state.serial + 1)
    write_state(project.state_path, state)
    discard_journal(project.state_path)
    based_on = replace(made.plan.based_on, lineage=state.lineage, serial=state.serial)
    return replace(made, plan=replace(made.plan, based_on=based_on), state=state)


def _sendings(plan: Plan) -> int:
    return sum(1 for change in plan.changes if change.touches_cluster)


def _outputs(made: Planned, options: PlanOptions) -> dict[str, OutputValue]:
    """Give the outputs after the apply; a narrowed one leaves them alone."""
    if options.targets or options.only is not None:
        return dict(made.state.outputs)
    return {} if options.is_destroy else output_values(made.configuration)
