"""Read the clusters until pending changes are visible; settle those of an interrupted apply."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from kplan.kinds import KINDS
from kplan.kinds.base import fill_snapshot_from_state
from kplan.model.outcome import FOUND, Outcome, OutcomeStatus
from kplan.model.plan import Action, Change
from kplan.model.state import OwnedObject, Snapshot, State, owned_after
from kplan.plan.request import is_targeted
from kplan.state.journal import Journal
from kplan.workflow.clusters import desired_identities, read_clusters
from kplan.workflow.open_project import OpenProject
from kplan.workflow.ports import PlanOptions, Ports
from kplan.workflow.workspaces import OtherOwners

_PAUSE_S = 0.5
_OLD = timedelta(minutes=5)
"""What was applied before is visible by now, or was changed since; clocks differ by less."""


def read_settled_snapshots(
    project: OpenProject, options: PlanOptions, ports: Ports
) -> Mapping[str, Snapshot]:
    """Read the clusters repeatedly while pending changes of the state are not visible.

    An acknowledged change may take seconds to be seen (trap 2); a plan made meanwhile would
    propose it once more. After `settle_s` what exists is what counts. What is not targeted is not
    waited for, nor what was applied long ago.
    """
    wanted = desired_identities(project.configuration, project.state, project.journal)
    until = ports.clock.now()
    # An apply that was killed is in no entry of the state.
    if project.journal is not None or not _is_old(project.state, ports.now()):
        until += options.limits.settle_s
    told = 0
    while True:
        snapshots = read_clusters(project.clusters, wanted)
        late = [
            each
            for provider, snapshot in snapshots.items()
            for each in _pending_objects(project.state.for_provider(provider), snapshot)
            if is_targeted(each.address, options.targets)
        ]
        if not late or ports.clock.now() >= until or ports.is_stopped():
            return snapshots
        if len(late) != told:
            told = len(late)
            what = "1 applied change" if told == 1 else f"{told:,} applied changes"
            ports.progress.note(f"Waiting for {what} to become visible")
        ports.clock.sleep(_PAUSE_S)


def _is_old(state: State, now: datetime) -> bool:
    """Whether the latest apply was so long ago that waiting shows nothing new."""
    applied = state.applied_plans
    return bool(applied) and now - datetime.fromisoformat(applied[-1].at) > _OLD


def settle_journal(
    project: OpenProject, snapshots: Mapping[str, Snapshot], *, is_destroy: bool = False
) -> OpenProject:
    """Own the unanswered changes of an interrupted apply that the cluster shows done.

    An object that another workspace owns was created there: this one only met it. Where that
    cannot be known it is doubtful: the plan adopts it, with the warning that belongs to that, or
    is refused. What is not declared any more is left to another interrupted apply that sent it too.
    """
    journal = project.journal
    if journal is None:
        return project
    seen = {
        key: fill_snapshot_from_state(KINDS, snapshot, project.state.for_provider(key))
        for key, snapshot in snapshots.items()
    }
    done = [
        (change, outcome)
        for change in journal.changes
        if change.key in journal.unsettled_keys
        and (snapshot := seen.get(change.provider)) is not None
        and (outcome := _visible_outcome(change, project.state, snapshot)) is not None
    ]
    created = any(change.action is Action.CREATE for change, _ in done)
    owners, ids = project.read_other_owners() if created else OtherOwners(), project.clusters.ids
    kept = () if is_destroy else {each.key for each in project.configuration.resources}
    own: list[tuple[Change, Outcome]] = []
    doubtful: list[Change] = []
    for change, outcome in done:
        cluster_id = ids.get(change.provider, "")
        if change.action is Action.CREATE:
            if owners.find(change.key, cluster_id, outcome.uid, kept):
                continue
            if owners.unread:
                doubtful.append(change)
                continue
        own.append((change, outcome))
    settled = replace(project.state, owned=owned_after(project.state.owned, own))
    return replace(project, state=settled, doubtful=tuple(doubtful))


def leave_out_sent(drift: Iterable[Change], journal: Journal | None) -> tuple[Change, ...]:
    """Leave out what an interrupted apply sent, and is not done: kplan itself has changed it."""
    sent = frozenset() if journal is None else journal.unsettled_keys
    return tuple(each for each in drift if each.key not in sent)


def _visible_outcome(change: Change, state: State, snapshot: Snapshot) -> Outcome | None:
    """Whether a change took effect: the new object exists, and the replaced one is gone."""
    reading = snapshot.readings.get(change.kind)
    live = None if reading is None else reading.objects.get(change.identity)
    if reading is None or live is None or change.after is None:
        return None
    if change.is_recreated and live.uid == change.uid:
        return None
    replaced = state.owned.get(change.previous or change.address)
    if replaced and replaced.identity != change.identity and replaced.identity in reading.objects:
        return None
    kind = next(each for each in KINDS if each.name == change.kind)
    before, after = kind.align(live.value, change.after)
    if before != after:
        return None
    return Outcome(change, OutcomeStatus.APPLIED, note=FOUND, uid=live.uid)


def _pending_objects(state: State, snapshot: Snapshot) -> Iterator[OwnedObject]:
    kinds = {kind.name: kind for kind in KINDS}
    snapshot = fill_snapshot_from_state(KINDS, snapshot, state)
    for owned in state.owned.values():
        name = owned.address.kind
        if not owned.is_pending or name not in snapshot.readings:
            continue
        live = snapshot.live_object(name, owned.identity)
        if live is None:
            yield owned
        else:
            seen, applied = kinds[name].align(live.value, owned.value)
            if seen != applied:
                yield owned
