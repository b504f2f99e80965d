"""The progress of an apply: the known result of every change, and the resulting state."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.base import forget_secrets, redact_refusal
from kplan.kinds.unfinished_change import creates_object, owned_after_outcomes
from kplan.model.dataclass import dataclass
from kplan.model.errors import InProgress, Refusal
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan
from kplan.model.resource import Identity
from kplan.model.state import OutputValue, State

ChangeKey = tuple[str, Identity]


@dataclass(slots=True)
class ChangeProgress:
    """One change: the steps still to send, and the outcome of those sent.

    `steps` names all of them in order.
    `tries` counts the sends of the step that is being executed, and `attempts` those of the step
    that took the most. What is `is_under_way` was begun, and is only inspected until it is done.
    What was sent without an answer in this step `may_be_done`.
    """

    change: Change
    steps_left: int
    steps_done: int = 0
    status: OutcomeStatus = OutcomeStatus.APPLIED
    refusal: Refusal | None = None
    note: str = ""
    attempts: int = 0
    tries: int = 0
    started: float | None = None
    ended: float = 0.0
    uid: str = ""
    is_verified: bool = False
    pending_brokers: tuple[int, ...] = ()
    pending_reason: str = ""
    is_under_way: bool = False
    may_be_done: bool = False
    steps: tuple[str, ...] = ()

    @property
    def has_steps_left(self) -> bool:
        """Whether a further step may be sent."""
        return self.status is OutcomeStatus.APPLIED and self.steps_left > 0

    @property
    def _has_lost_answer(self) -> bool:
        """Whether it is unknown if the object was created by a step that was sent."""
        is_open = self.may_be_done or self.status is OutcomeStatus.UNKNOWN
        return is_open and creates_object(KINDS, self.change, self.steps, self.steps_done)

    def outcome(self) -> Outcome:
        """Say the outcome of the change; steps that are left to do make it SKIPPED."""
        status, note = self.status, self.note
        if self.has_steps_left and self.is_under_way:
            status = OutcomeStatus.IN_PROGRESS
        elif self.has_steps_left:
            status, note = OutcomeStatus.SKIPPED, "done in part" if self.steps_done else note
        elif (
            self.status is not OutcomeStatus.APPLIED
            and self.steps_done
            and self.change.is_recreated
        ):
            note = "deleted, and not created again yet: the next apply creates it"
        elapsed = 0 if self.started is None else max(0, round((self.ended - self.started) * 1000))
        return Outcome(
            self.change,
            status,
            self.refusal,
            self.attempts,
            elapsed,
            note,
            self.is_verified,
            self.uid,
            self.pending_brokers,
            self.pending_reason,
            () if status is OutcomeStatus.APPLIED else self.steps[: self.steps_done],
            has_lost_answer=self._has_lost_answer and status is not OutcomeStatus.APPLIED,
        )


@dataclass(slots=True)
class ApplyProgress:
    """All lines, by kind and identity."""

    changes: dict[ChangeKey, ChangeProgress] = field(default_factory=dict)

    @classmethod
    def from_plan(cls, plan: Plan) -> "ApplyProgress":
        """Open a line for every change of the plan's batches."""
        progress = cls()
        for batch in plan.batches:
            for change in batch.changes:
                line = progress.changes.setdefault(change_key(change), ChangeProgress(change, 0))
                line.steps_left += 1
                line.steps += (batch.step.name,)
        return progress

    def get(self, change: Change) -> ChangeProgress:
        """Return the line of a change."""
        return self.changes[change_key(change)]

    def start(self, changes: Sequence[Change], now: float) -> None:
        """Record that a request with these changes is sent."""
        for change in changes:
            line = self.get(change)
            line.tries += 1
            line.attempts = max(line.attempts, line.tries)
            line.started = now if line.started is None else line.started

    def complete_step(self, change: Change, now: float, *, note: str = "") -> ChangeProgress:
        """Note that a step was executed."""
        line = self.get(change)
        line.steps_left -= 1
        line.steps_done += 1
        line.tries, line.refusal, line.may_be_done = 0, None, False
        line.ended = now
        line.note = note or line.note
        if change.action is Action.REPLACE and not line.steps_left and line.started is not None:
            # From the send of the delete to the answer of the add: the access gap is no longer.
            line.note = _replacement_note(change, now - line.started)
        return line

    def defer(self, change: Change, refusal: Refusal) -> None:
        """Record why a step is retried; if the retry never happens, the reason is reported."""
        line = self.get(change)
        line.is_under_way = isinstance(refusal, InProgress)
        plain = refusal.without_progress() if isinstance(refusal, InProgress) else refusal
        line.refusal = redact_refusal(plain, change)

    def fail(
        self, change: Change, now: float, status: OutcomeStatus, refusal: Refusal
    ) -> ChangeProgress:
        """Record that a step was refused or has an unknown outcome."""
        line = self.get(change)
        line.ended, line.status = now, status
        line.refusal = redact_refusal(refusal, change)
        return line

    def outcomes(self) -> tuple[Outcome, ...]:
        """Say the outcome of every change, in order of the plan's batches."""
        return tuple(line.outcome() for line in self.changes.values())


def _replacement_note(change: Change, gap_s: float) -> str:
    """Return how long the deleted object was missing; "" where it does not come back."""
    before, after = change.before, change.after
    if change.is_recreated:
        old, new = getattr(before, "name", ""), getattr(after, "name", "")
        return f"away for at most {gap_s * 1000:.0f} ms" if old == new else f"{old} is deleted"
    if not isinstance(before, Acl) or not isinstance(after, Acl):
        return ""
    if _acl_subject(before) != _acl_subject(after):
        return f"{before.acl_principal} has lost the old permission"
    if change.adds_first:
        return "never without access"
    kind = "without the Deny" if before.acl_permission_type == "Deny" else "without access"
    return f"{kind} for at most {gap_s * 1000:.0f} ms"


def _acl_subject(acl: Acl) -> tuple[str, ...]:
    """Return principal and resource of an ACL, the key by which a replacement is matched."""
    return (
        acl.acl_principal,
        acl.resource_type,
        acl.resource_name,
        acl.resource_pattern_type_filter,
        acl.acl_permission_type,
    )


def change_key(change: Change) -> ChangeKey:
    """Return a key of the change; an address can hold two (the old object and the new one)."""
    return change.kind, change.identity


def add_hint(refusal: Refusal, text: str) -> Refusal:
    """Add a sentence to the broker's message."""
    return replace(refusal, message=f"{refusal.message.rstrip('. ')}. {text}".lstrip(". "))


def is_finished(line: ChangeProgress) -> bool:
    """Whether nothing more will be sent for the change."""
    return not line.has_steps_left


def state_after(
    state: State, plan: Plan, outcomes: Iterable[Outcome], outputs: dict[str, OutputValue]
) -> State:
    """Fold outcomes into the state: only applied changes alter ownership.

    Objects whose outcome is unknown, failed or skipped keep the entry they had, with what the steps
    have changed that were executed; the next plan compares them with the cluster, and sets secrets
    that may be others by now.
    """
    found = tuple(outcomes)
    done = {each.change.key: each for each in found if each.status is OutcomeStatus.APPLIED}
    doubtful = (each.change for each in found if each.may_be_done)
    settled = [
        (change, done.get(change.key))
        for change in plan.changes
        if not change.touches_cluster or change.key in done
    ]
    owned = owned_after_outcomes(KINDS, state.owned, settled, found)
    return replace(
        state,
        serial=state.serial + 1,
        cluster_id=plan.based_on.cluster_id or state.cluster_id,
        clusters={**state.clusters, **plan.based_on.clusters},
        owned=forget_secrets(owned, doubtful),
        outputs=dict(sorted(outputs.items())),
    )
