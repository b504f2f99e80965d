"""Read the clusters until pending changes are visible; settle those of an interrupted apply."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from kplan.kinds import KINDS
from kplan.kinds.base import fill_snapshot_from_state, forget_secrets
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.outcome import FOUND, Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, ObjectKey
from kplan.model.resource import connection_name
from kplan.model.state import LiveObject, OwnedObject, Snapshot, State, owned_after
from kplan.plan.request import is_any_targeted, is_targeted
from kplan.state.journal import Journal, unanswered_creations
from kplan.workflow.clusters import desired_identities, read_clusters
from kplan.workflow.open_project import OpenProject
from kplan.workflow.ports import PlanOptions, Ports
from kplan.workflow.workspaces import UNREAD_ELSEWHERE, OtherOwner, OtherOwners

UNKNOWN_CREATION = "KP253"
_EVERYTHING = PlanOptions()
_PAUSE_S = 0.5
_Doubt = tuple[str, str, str]
"""The code, what is unknown, and the way out."""
_OLD = timedelta(minutes=5)
"""What was applied before is visible by now, or was changed since; clocks differ by less."""


def read_settled_snapshots(
    project: OpenProject, options: PlanOptions, ports: Ports
) -> Mapping[str, Snapshot]:
    """Read the clusters repeatedly while pending changes of the state are not visible.

    An acknowledged change may take seconds to be seen (trap 2); a plan made meanwhile would
    propose it once more. After `settle_s` what exists is what counts. What is not targeted is not
    waited for, nor what was applied long ago. An interrupted creation that this plan does not name
    is: its journal is the only record of it, and ends with this plan.
    """
    creations = tuple(_unplanned_creations(project, options))
    wanted = desired_identities(project.configuration, project.state, project.journal)
    until = ports.clock.now()
    # An apply that was killed is in no entry of the state.
    if project.journal is not None or not _is_old(project.state, ports.now()):
        until += options.limits.settle_s
    told = 0
    while True:
        snapshots = read_clusters(project.clusters, wanted)
        late: list[OwnedObject | Change] = [
            each
            for provider, snapshot in snapshots.items()
            for each in _pending_objects(project.state.for_provider(provider), snapshot)
            if is_targeted(each.address, options.targets)
        ]
        late += (each for each in creations if _is_absent(each, snapshots.get(each.provider)))
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


def _unplanned_creations(project: OpenProject, options: PlanOptions) -> Iterator[Change]:
    """List those that the plan does not create again, so that none may be taken for absent."""
    planned = {
        each.key
        for each in project.configuration.resources
        if not options.is_destroy
        and is_any_targeted(each.addresses, options.targets)
        and (options.only is None or each.key in options.only)
    }
    for change in unanswered_creations(project.journal, project.state):
        if change.key not in planned and not _is_other_cluster(project, change.provider):
            yield change


def _is_absent(change: Change, snapshot: Snapshot | None) -> bool:
    """Whether it is known that the object does not exist."""
    reading = None if snapshot is None else snapshot.readings.get(change.kind)
    if reading is None:
        return snapshot is not None and change.kind in snapshot.unsupported
    return change.identity not in reading.objects and change.identity not in reading.hidden


def settle_journal(
    project: OpenProject, snapshots: Mapping[str, Snapshot], options: PlanOptions = _EVERYTHING
) -> OpenProject:
    """Own the unanswered changes of an interrupted apply that the cluster shows done.

    An object that another workspace owns was created there: this one only met it. Where that
    cannot be known, or the object is not seen to be as it was sent, it is doubtful: the plan
    adopts it, with the warning that belongs to that, or is refused. What is not declared any more
    is left to another interrupted apply that sent it too, unless a run there may leave it to this.
    Secrets that were perhaps set are set again.
    """
    journal = project.journal
    if journal is None:
        return project
    declared = {each.key: each.declared_at for each in project.configuration.resources}
    ids, kept = project.clusters.ids, () if options.is_destroy else declared
    seen = {
        key: fill_snapshot_from_state(KINDS, snapshot, project.state.for_provider(key))
        for key, snapshot in snapshots.items()
        if not _is_other_cluster(project, key)
    }
    unsettled = journal.unsettled_keys
    outcomes = {
        each.key: _settled_outcome(
            each, project.state, seen.get(each.provider), is_kept=each.key in kept
        )
        for each in journal.changes
        if each.key in unsettled
    }
    unowned = {
        each.key: _find_live(each, seen.get(each.provider))
        for each in unanswered_creations(project.journal, project.state)
        if outcomes[each.key]
        # What was to be adopted with a change was there before; it is the next plan's if not done.
        or (each.action is not Action.UPDATE and not _is_absent(each, seen.get(each.provider)))
    }
    owners = project.read_other_owners() if any(unowned.values()) else OtherOwners()
    own: list[tuple[Change, Outcome]] = []
    doubtful: dict[ObjectKey, Diagnostic] = {}
    for change in (each for each in journal.changes if each.key in unsettled):
        outcome = outcomes[change.key]
        if change.key in unowned:
            live = unowned[change.key]
            if live is None:
                doubtful[change.key] = _doubt(journal, change, _unseen(change, project, snapshots))
                continue
            owner = owners.find(change.key, ids.get(change.provider, ""), live.uid, kept)
            if owner is not None and not owner.is_at_work:
                continue
            if owner is not None or owners.unread or outcome is None:
                left = _Left(change.key in declared, bool(options.targets))
                why = _unadopted(change, owners, owner, left)
                doubtful[change.key] = _doubt(journal, change, why)
                continue
        if outcome is not None:
            own.append((outcome.change, outcome))
    unknown = _unknown_changes(journal, {key for key, each in outcomes.items() if each})
    owned = forget_secrets(owned_after(project.state.owned, own), unknown)
    return replace(
        project,
        state=replace(project.state, owned=owned),
        doubtful={key: replace(each, subject=declared.get(key)) for key, each in doubtful.items()},
    )


def _unknown_changes(journal: Journal, done: Collection[ObjectKey]) -> Iterator[Change]:
    """List those of which it is not known whether they were carried out."""
    doubts = {each.change.key for each in journal.outcomes if each.may_be_done}
    doubts |= journal.unsettled_keys
    return (each for each in journal.changes if each.key in doubts and each.key not in done)


def _is_other_cluster(project: OpenProject, provider: str) -> bool:
    """Whether a connection leads to another cluster than what was sent through it."""
    known, found = project.state.cluster_id_of(provider), project.clusters.ids.get(provider, "")
    return "" not in {known, found} and known != found


class _Left(NamedTuple):
    """Why the plan does not adopt an object; it counts only where that is so."""

    is_declared: bool
    has_targets: bool

    @property
    def why(self) -> str:
        """Say it, without a full stop."""
        is_excluded = self.is_declared and self.has_targets
        return "-target excludes it" if is_excluded else "This plan does not adopt it"

    @property
    def way(self) -> str:
        """Say what adopts it."""
        if self.is_declared:
            return "adopt it first, with a plan of everything"
        return "declare it and adopt it first"


def _unadopted(
    change: Change, owners: OtherOwners, owner: OtherOwner | None, left: _Left
) -> _Doubt:
    """Refuse to drop the only record of what an interrupted apply has perhaps made."""
    code, said = UNKNOWN_CREATION, "and it exists, and is not seen to be as it was sent"
    forget = f"To forget it instead: {_forget_command(change)}"
    hint = f"{left.way[0].upper()}{left.way[1:]}: kplan apply. {forget}"
    if owner is not None:
        said = f"and it exists; {owner.sentence}, and a run holds the lock there"
        hint = "Run it again when that run has ended; kplan lock status shows it there."
    elif owners.unread:
        code, said = UNREAD_ELSEWHERE, "and it exists"
        hint = f"Let the other states be read, or {left.way}: kplan apply"
    said += f". {left.why}, so nothing here would know of it any more."
    return code, said, hint


def _unseen(change: Change, project: OpenProject, snapshots: Mapping[str, Snapshot]) -> _Doubt:
    """Refuse to drop the only record of what cannot be looked up."""
    name, hint = connection_name(change.provider), "Plan again when it can be read."
    snapshot = snapshots.get(change.provider)
    if snapshot is None:
        why, hint = f"{name} is not declared", f"Declare {name} again."
    elif _is_other_cluster(project, change.provider):
        why, hint = f"{name} leads to another cluster now", "Check its bootstrap address."
    else:
        why = snapshot.unread.get(change.kind, "The cluster does not show it").rstrip(".")
    said = f"and whether it exists is unknown: {why}. Nothing would know of it any more."
    hint += f" If it is gone for good, forget it: {_forget_command(change)}"
    return UNKNOWN_CREATION, said, hint


def _forget_command(change: Change) -> str:
    return f"kplan state rm {shlex.quote(str(change.address))}"


def _doubt(journal: Journal, change: Change, doubt: _Doubt) -> Diagnostic:
    (code, said, hint), name = doubt, f"{change.address} ({change.identity})"
    sent = f"An interrupted apply sent {name}"
    if journal.is_finished:
        sent = f"An apply sent {name} and got no answer"
    return Diagnostic(
        code,
        Severity.ERROR,
        SUMMARIES[code],
        f"{sent}, {said}",
        hint,
        change.address,
    )


def leave_out_sent(drift: Iterable[Change], journal: Journal | None) -> tuple[Change, ...]:
    """Leave out what an interrupted apply sent, and is not done: kplan itself has changed it."""
    sent = frozenset() if journal is None else journal.unsettled_keys
    return tuple(each for each in drift if each.key not in sent)


def _find_live(change: Change, snapshot: Snapshot | None) -> LiveObject | None:
    reading = None if snapshot is None else snapshot.readings.get(change.kind)
    return None if reading is None else reading.objects.get(change.identity)


def _settled_outcome(
    change: Change, state: State, snapshot: Snapshot | None, *, is_kept: bool
) -> Outcome | None:
    """Whether a change took effect: the new object exists, and the replaced one is gone.

    What is not declared any more replaces nothing: it is a creation, and both objects are to go.
    """
    replaced = state.owned.get(change.previous or change.address)
    found = _visible_outcome(change, replaced, snapshot)
    is_swap = change.action is Action.REPLACE and not change.is_recreated
    if found is None and is_swap and not is_kept:
        return _visible_outcome(replace(change, action=Action.CREATE), None, snapshot)
    return found


def _visible_outcome(
    change: Change, replaced: OwnedObject | None, snapshot: Snapshot | None
) -> Outcome | None:
    live = _find_live(change, snapshot)
    if snapshot is None or live is None or change.after is None:
        return None
    if change.is_recreated and live.uid == change.uid:
        return None
    others = snapshot.readings[change.kind].objects
    if replaced and replaced.identity != change.identity and replaced.identity in others:
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
