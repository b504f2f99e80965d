"""Objects that existed before this apply made them its own, and may be of another workspace.

Two workspaces that create the same object at the same moment both plan it as new. The one whose
request came second finds it as declared. What the other one sent is in its journal by then. Two
that adopt the same object at the same moment both plan that as well, and own it by their states, as
do two that create the same ACL, quota or user: Kafka tells both that it is done.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.apply.limits import Watcher
from kplan.cluster.errors import CLIENT_STALE, client_refusal
from kplan.kinds import KINDS
from kplan.kinds.unfinished_change import is_half_replaced
from kplan.model.errors import InProgress
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Action, Batch, Change, ObjectKey
from kplan.model.state import State
from kplan.state.journal import unanswered_creations
from kplan.workflow.open_project import OpenProject
from kplan.workflow.plan.owner_check import adopted_objects
from kplan.workflow.plan.plan import PlanResult
from kplan.workflow.workspaces import OtherOwners


class AdoptionWatcher:
    """A watcher that hears of objects that were found once it is known that they have no owner.

    Until then the journal has them as sent: after a kill the next run finds out the same.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._held: set[ObjectKey] = set()

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Notify that changes are about to be sent."""
        self._watcher.on_send(batch, changes)

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Notify the outcome of changes, and hold those of objects that were found back."""
        self._held.update(each.change.key for each in outcomes if each.may_be_of_others)
        if rest := [each for each in outcomes if not each.may_be_of_others]:
            self._watcher.on_outcomes(rest)

    def on_visibility(self, visibility: Visibility) -> None:
        """Notify of the brokers that do not serve the applied changes yet."""
        self._watcher.on_visibility(visibility)

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Notify which changes every broker serves, without those that are held back."""
        self._watcher.on_verified([each for each in outcomes if each.change.key not in self._held])

    def on_reassignment(self, progress: InProgress) -> None:
        """Notify how many partitions are to move still."""
        self._watcher.on_reassignment(progress)

    def settle(self, outcomes: Sequence[Outcome], project: OpenProject) -> tuple[Outcome, ...]:
        """Fail what another workspace owns or may own, and tell the outcomes that were held back.

        The records of other workspaces are read after all answers, and only if something was
        found: what made an object was in a journal before it was sent.
        """
        if not self._held:
            return tuple(outcomes)
        owners = project.read_other_owners()
        ids = project.clusters.ids
        settled = tuple(
            _refuse_owned(each, owners, ids) if each.change.key in self._held else each
            for each in outcomes
        )
        told = [each for each in settled if each.change.key in self._held]
        self._watcher.on_outcomes(told)
        if verified := [each for each in told if each.is_verified]:
            self._watcher.on_verified(verified)
        return settled


_ANSWERED_KIND = "kafka_topic"
"""Of nothing else does Kafka say that it existed already when it was to be created."""


def refuse_adoptions(
    result: PlanResult, state: State, outcomes: Sequence[Outcome], project: OpenProject
) -> tuple[Outcome, ...]:
    """Fail what another workspace has come to own since the plan was to adopt or to create it.

    The other one has written its state, or has it in its journal.
    """
    held = {each.key: each.uid for each in state.owned.values()}
    adopted = adopted_objects(result.plan, result.state, result.snapshots)
    said = {change.key: (change, "It would be adopted") for change, _ in adopted}
    said |= {each.key: (each, _deed(each)) for each in _created(result.state, outcomes)}
    said = {key: each for key, each in said.items() if key in held}
    if not said:
        return ()
    owners, ids = project.read_other_owners(), project.clusters.ids
    # Of two interrupted applies that have sent it this one is finished first.
    sent = {each.key for each in unanswered_creations(project.journal, result.state)}
    refused: list[Outcome] = []
    for key, (change, what) in said.items():
        owner = owners.find(key, ids.get(change.provider, ""), held[key], sent)
        if owner is not None:
            detail = f"{what}, and since the plan {owner.sentence}."
            why = client_refusal(CLIENT_STALE, detail, owner.hint)
            refused.append(Outcome(change, OutcomeStatus.FAILED, why))
    return tuple(refused)


def _deed(change: Change) -> str:
    """Say what was done to an object that nothing here owned before."""
    is_changed = change.action is Action.UPDATE
    return "It was adopted and changed" if is_changed else "It was created"


def _created(before: State, outcomes: Sequence[Outcome]) -> Iterator[Change]:
    """List what came to be owned by a request that would not have failed if it had existed."""
    owned = {each.key for each in before.owned.values()}
    for each in outcomes:
        change = each.change
        is_made = each.status is OutcomeStatus.APPLIED or is_half_replaced(KINDS, each)
        is_silent = change.kind != _ANSWERED_KIND
        if is_made and is_silent and change.after is not None and change.key not in owned:
            yield change


def _refuse_owned(outcome: Outcome, owners: OtherOwners, cluster_ids: Mapping[str, str]) -> Outcome:
    """Return the outcome, or a failure with the way out if another workspace may own the object.

    Nobody approved to adopt it: with a state unread the next plan does, and warns of it.
    """
    change = outcome.change
    owner = owners.find(change.key, cluster_ids.get(change.provider, ""), outcome.uid)
    if owner is not None:
        said, hint = f"It was created since the plan, and {owner.sentence}.", owner.hint
    elif owners.unread:
        unread = owners.unread[0]
        said = f"It was created since the plan, and is not adopted. {unread.detail}"
        hint = f"{unread.hint}. To adopt it all the same, apply again."
    else:
        return outcome
    failed = replace(outcome, status=OutcomeStatus.FAILED, note="", uid="", is_verified=False)
    refused = client_refusal(CLIENT_STALE, said, hint)
    return replace(failed, refusal=refused, pending_brokers=(), pending_reason="")
