"""Use case: carry a plan out and record what became of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kplan.apply.carry import carry_out
from kplan.apply.fold import state_after
from kplan.apply.pace import Means, Watcher
from kplan.kinds import KINDS
from kplan.model.errors import StalePlan, WrongCluster
from kplan.model.outcome import Outcome
from kplan.model.plan import Plan
from kplan.model.state import State
from kplan.state.file import check_same_state, write_state
from kplan.state.plan_file import SavedPlan, check_not_expired, read_plan
from kplan.workflow.freshness import moved_since
from kplan.workflow.opened import Opened, opened
from kplan.workflow.plan import Planned, output_values, planned, wanted_identities
from kplan.workflow.project import PlanOptions, Ports, Project
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
        made = planned(found, options, ports)
        if not made.plan.is_applyable or not hands.approve(made):
            return Applied(made, (), found.state, is_approved=False)
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
        made = _rebound(saved, found)
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
    ports, hands = outside
    means = Means(
        found.cluster, KINDS, ports.clock, hands.watcher, options.pace, is_stopped=ports.is_stopped
    )
    ports.progress.stage("Applying", _sendings(made.plan))
    outcomes = carry_out(made.plan, means)
    state = _recorded(project, made, outcomes, options)
    return Applied(made, outcomes, state, is_approved=True)


def _sendings(plan: Plan) -> int:
    return sum(1 for change in plan.changes if change.touches_cluster)


def _recorded(
    project: Project, made: Planned, outcomes: Sequence[Outcome], options: PlanOptions
) -> State:
    outputs = {} if options.is_destroy else output_values(made.configuration)
    kept = dict(made.state.outputs) if options.targets else outputs
    state = state_after(made.state, made.plan, outcomes, kept)
    write_state(project.state_path, state)
    return state
