"""Use case: carry a plan out and record what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kplan.kinds import KINDS
from kplan.kinds.topic_layout import without_generated_assignment
from kplan.model.errors import StalePlanError, UsageError
from kplan.model.plan import Change, ObjectKey, Plan, Reason
from kplan.model.state import State
from kplan.workflow.apply.execution import ApplyHandlers, ApplyResult, absorb_journal, execute_plan
from kplan.workflow.open_project import open_project
from kplan.workflow.plan.plan import plan_open_project
from kplan.workflow.ports import PlanOptions, Ports, Project, keep_replacements

__all__ = ["ApplyHandlers", "ApplyResult", "apply", "resume_apply"]


def apply(
    project: Project, options: PlanOptions, ports: Ports, hands: ApplyHandlers
) -> ApplyResult:
    """Plan, ask for approval, and carry the plan out, all under one lock."""
    with open_project(project, ports) as found:
        made = plan_open_project(found, replace(options, is_for_apply=True), ports)
        if not made.plan.is_applyable:
            if not made.plan.has_errors:
                made = absorb_journal(project, found, made, ports)
            return ApplyResult(made, (), made.state, is_approved=False)
        if not hands.approve(made):
            return ApplyResult(made, (), made.state, is_approved=False)
        return execute_plan(project, found, made, options, (ports, hands))


def resume_apply(
    project: Project, options: PlanOptions, ports: Ports, hands: ApplyHandlers
) -> ApplyResult:
    """Finish an apply that was interrupted: what it was approved for and has not done yet.

    Raises:
        UsageError: no apply was interrupted.
        StalePlan: what is declared for one of its objects is not what was approved.

    """
    with open_project(project, ports) as found:
        if found.journal is None:
            raise UsageError("No apply was interrupted; there is nothing to resume.")
        approved = found.journal.changes
        options = replace(
            keep_replacements(options, approved),
            only=_approved_keys(approved, found.state),
            is_destroy=any(each.reason is Reason.DESTROY for each in approved),
        )
        made = plan_open_project(found, options, ports)
        if made.plan.has_errors:
            return ApplyResult(made, (), made.state, is_approved=False)
        if others := tuple(_unapproved_changes(made.plan, approved)):
            raise StalePlanError(
                f"Not what the interrupted apply was approved for: {', '.join(others)}.",
                "kplan apply plans what is declared now, and asks.",
            )
        return execute_plan(project, found, made, options, (ports, hands))


def _approved_keys(approved: Sequence[Change], state: State) -> frozenset[ObjectKey]:
    """Return what the apply was about: its objects, and those that their addresses held before."""
    addresses = {each.address for each in approved}
    held = (each for address, each in state.owned.items() if address in addresses)
    return frozenset(each.key for each in approved) | frozenset(each.key for each in held)


def _unapproved_changes(plan: Plan, approved: Sequence[Change]) -> Iterator[str]:
    """Name the changes that aim at something else than the change that was approved."""
    kinds = {kind.name: kind for kind in KINDS}
    goals = {each.key: each.after for each in approved}
    for change in plan.changes:
        if not change.touches_cluster:
            continue
        key, after = change.key, change.after
        goal = goals.get(key)
        if goal is None or after is None:
            is_same = goal is after and key in goals
        else:
            # What one of the two leaves to the broker is no other goal.
            # Nor is where replicas go that kplan places: it follows from what stands by now.
            goal, after = without_generated_assignment(goal), without_generated_assignment(after)
            ways = (kinds[change.kind].align(*pair) for pair in ((goal, after), (after, goal)))
            is_same = any(one == other for one, other in ways)
        if not is_same:
            yield str(change.address)
