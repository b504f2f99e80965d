"""Use case: carry a plan out and record what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.kinds import KINDS
from kplan.model.errors import StalePlan, UsageError, WrongCluster
from kplan.model.plan import Action, Change, Plan
from kplan.state.file import check_same_state
from kplan.state.plan_file import SavedPlan, check_not_expired, read_plan
from kplan.workflow.execution import Applied, Hands, absorbed, carried_out
from kplan.workflow.freshness import moved_since
from kplan.workflow.opened import Opened, opened
from kplan.workflow.plan import Planned, planned
from kplan.workflow.project import PlanOptions, Ports, Project
from kplan.workflow.settled import wanted_identities
from kplan.workflow.snapshot import read_snapshot

__all__ = ["Applied", "Hands", "apply", "apply_saved", "resume"]


def apply(project: Project, options: PlanOptions, ports: Ports, hands: Hands) -> Applied:
    """Plan, ask for approval, and carry the plan out, all under one lock."""
    with opened(project, ports) as found:
        made = planned(found, options, ports)
        if not made.plan.is_applyable:
            if not made.plan.has_errors:
                made = absorbed(project, found, made)
            return Applied(made, (), made.state, is_approved=False)
        if not hands.approve(made):
            return Applied(made, (), made.state, is_approved=False)
        return carried_out(project, found, made, options, (ports, hands))


def resume(project: Project, options: PlanOptions, ports: Ports, hands: Hands) -> Applied:
    """Finish an apply that was interrupted: what it was approved for and has not done yet.

    Raises:
        UsageError: no apply was interrupted.
        StalePlan: what is declared for one of its objects is not what was approved.

    """
    with opened(project, ports) as found:
        if found.journal is None:
            raise UsageError("No apply was interrupted; there is nothing to resume.")
        approved = found.journal.changes
        options = replace(
            options,
            only=frozenset((each.kind, each.identity) for each in approved),
            is_destroy=all(each.action is Action.DELETE for each in approved),
        )
        made = planned(found, options, ports)
        if made.plan.has_errors:
            return Applied(made, (), made.state, is_approved=False)
        if others := tuple(_not_approved(made.plan, approved)):
            raise StalePlan(
                f"Not what the interrupted apply was approved for: {', '.join(others)}.",
                "kplan apply plans what is declared now, and asks.",
            )
        return carried_out(project, found, made, options, (ports, hands))


def _not_approved(plan: Plan, approved: Sequence[Change]) -> Iterator[str]:
    """Name the changes that aim at something else than the change that was approved."""
    kinds = {kind.name: kind for kind in KINDS}
    goals = {(each.kind, each.identity): each.after for each in approved}
    for change in plan.changes:
        if not change.touches_cluster:
            continue
        goal, after = goals[change.kind, change.identity], change.after
        if goal is None or after is None:
            is_same = goal is after
        else:
            # What one of the two leaves to the broker is no other goal.
            ways = (kinds[change.kind].aligned(*pair) for pair in ((goal, after), (after, goal)))
            is_same = any(one == other for one, other in ways)
        if not is_same:
            yield str(change.address)


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
        return carried_out(project, found, made, options, (ports, hands))


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
