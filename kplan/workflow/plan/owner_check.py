"""Objects that a plan would adopt from another workspace."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.plan import Action, Change, Plan
from kplan.model.state import Snapshot, State
from kplan.state.journal import unanswered_creations
from kplan.workflow.open_project import OpenProject
from kplan.workflow.ports import PlanOptions
from kplan.workflow.workspaces import (
    OWNED_ELSEWHERE,
    UNREAD_ELSEWHERE,
    OtherOwners,
    owned_elsewhere,
)

_CODES = frozenset({OWNED_ELSEWHERE, UNREAD_ELSEWHERE})


def check_other_workspaces(
    plan: Plan, project: OpenProject, snapshots: Mapping[str, Snapshot], options: PlanOptions
) -> Plan:
    """Refuse to own live objects that the state of another workspace owns.

    Those states are read only where the plan adopts something, or would forget what it should. What
    is declared and left out of the plan waits for a plan of everything: the journal keeps it.
    """
    adopted = list(adopted_objects(plan, project.state, snapshots))
    keys = {change.key for change, _ in adopted}
    if options.only is not None:
        keys |= {each.key for each in project.configuration.resources}
    forgotten = [each for key, each in project.doubtful.items() if key not in keys]
    # Those of a saved plan are of the states as they were when it was made.
    rest = tuple(each for each in plan.diagnostics if each.code not in _CODES)
    if not (adopted or forgotten):
        return replace(plan, diagnostics=rest)
    is_asked = adopted or any(each.code == UNREAD_ELSEWHERE for each in forgotten)
    found = project.read_other_owners() if is_asked else OtherOwners()
    owned = _owned_elsewhere(adopted, found, project)
    problems = [*rest, *found.unread, *owned, *forgotten]
    return replace(plan, diagnostics=sort_diagnostics(problems))


def adopted_objects(
    plan: Plan, state: State, snapshots: Mapping[str, Snapshot]
) -> Iterator[tuple[Change, str]]:
    """List what the state comes to own that exists, each with its uid."""
    held = {each.key: each.uid for each in state.owned.values()}
    for change in plan.changes:
        if change.after is None or change.action is Action.CREATE:
            continue
        reading = snapshots[change.provider].readings.get(change.kind)
        live = None if reading is None else reading.objects.get(change.identity)
        # One that was made again outside of kplan is another object, which may be another's.
        if live is not None and held.get(change.key) not in {"", live.uid}:
            yield change, live.uid


def _owned_elsewhere(
    adopted: list[tuple[Change, str]], owners: OtherOwners, project: OpenProject
) -> Iterator[Diagnostic]:
    """Refuse what others own, or have sent, unless an interrupted apply has sent it here too."""
    ids = project.clusters.ids
    sent = {each.key for each in unanswered_creations(project.journal, project.state)}
    for change, uid in adopted:
        owner = owners.find(change.key, ids.get(change.provider, ""), uid, sent)
        if owner is not None:
            problem = owned_elsewhere(change.address, change.identity, owner)
            yield replace(problem, subject=change.declared_at)
