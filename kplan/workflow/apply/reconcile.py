"""Use case: bring the cluster to the configuration once, as far as that is safe."""

from collections.abc import Collection
from dataclasses import replace

from kplan.apply.limits import Watcher
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, connection_errors
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, ObjectKey, Plan, Risk
from kplan.workflow.apply.apply import ApplyHandlers, absorb_journal, execute_plan
from kplan.workflow.apply.kept_state import check_state_is_kept
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.plan import PlanResult, plan_open_project
from kplan.workflow.ports import PlanOptions, Ports, Project


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What one round did: `plan` is all that differs, `left` the changes that were not sent.

    `problems` are the errors that kept the safe changes from being sent, where there are any, and
    those of clusters that cannot be had.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...] = ()
    left: tuple[Change, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    @property
    def is_converged(self) -> bool:
        """Whether the clusters are as declared after the round, as far as they could be read."""
        applied = all(each.status is OutcomeStatus.APPLIED for each in self.outcomes)
        return applied and not (self.left or self.problems or self.plan.unread)


def reconcile(
    project: Project,
    options: PlanOptions,
    ports: Ports,
    watcher: Watcher,
    risks: Collection[Risk] = frozenset({Risk.SAFE}),
) -> Reconciliation:
    """Plan everything, and apply the changes whose risk is one of `risks`, under one lock.

    Guards and policies check the whole plan and then the part that is sent. With an error in that
    part nothing is sent. An apply that was killed is finished by this: its journal is taken in.

    Raises:
        StateLockedError: another run leads.
        StateError: the state would be lost with the CI job, or cannot be had.
        ConfigError, AuthError, UnreachableError: there is no plan.

    """
    check_state_is_kept(project, ports)
    options = replace(options, is_for_apply=True)
    handlers = ApplyHandlers(lambda _: True, watcher)
    with open_project(project, ports) as found:
        whole = plan_open_project(found, options, ports)
        left = tuple(each for each in whole.plan.changes if _is_left(each, whole.plan, risks))
        made = _safe_part(found, whole, left, options, ports)
        if made.plan.has_errors:
            problems = tuple(each for each in made.plan.all_diagnostics if each.is_error)
            unsent = (each for each in whole.plan.changes if each.touches_cluster)
            return Reconciliation(whole.plan, left=tuple(unsent), problems=problems)
        lost = connection_errors(whole.plan.diagnostics)
        if not made.plan.is_applyable:
            absorb_journal(project, found, made, ports)
            return Reconciliation(whole.plan, left=left, problems=lost)
        done = execute_plan(project, found, made, options, (ports, handlers))
        return Reconciliation(whole.plan, done.outcomes, left, lost)


def _is_left(change: Change, plan: Plan, risks: Collection[Risk]) -> bool:
    """Whether a change has to wait for a person."""
    if change.action is Action.NO_OP:
        return False
    return change.risk not in risks or change.key in plan.refused_keys


def _safe_part(
    project: OpenProject,
    whole: PlanResult,
    left: Collection[Change],
    options: PlanOptions,
    ports: Ports,
) -> PlanResult:
    """Plan again without what is left; errors of what is left do not stop the rest."""
    if not left and not whole.plan.has_errors:
        return whole
    keys: frozenset[ObjectKey] = frozenset(each.key for each in left)
    only = frozenset(each.key for each in whole.plan.changes if each.key not in keys)
    return plan_open_project(project, replace(options, only=only), ports)
