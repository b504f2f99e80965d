"""Outcomes: of a change, and of records deleted from a partition."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change
from kplan.model.policy import Violation, ViolationStatus


class OutcomeStatus(StrEnum):
    """UNKNOWN: no answer came, so only reading the cluster tells. SKIPPED: never sent.

    IN_PROGRESS: replicas are being moved by the cluster, and no one waited for the end.
    """

    APPLIED = "applied"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    IN_PROGRESS = "in_progress"


AS_DECLARED = "already as declared"
"""The note of a change that somebody else had made."""
FOUND = "found on the cluster"
"""The note of a change whose answer was lost: who made it is not known."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one change. `elapsed_ms` counts from the first send to the last answer.

    `note` says how a success came about when that is worth a word ("already absent"); `is_verified`
    that every broker was seen to serve the new state, and `pending_brokers` which live ones were
    not; `pending_reason` says why a change of another service than the brokers, which was waited
    for, is not in effect. `uid` is the topic id after the change. `done_steps` names the steps that
    were executed of a change that was not applied as a whole. With `has_lost_answer` a send of the
    step that creates the object got no answer, and none of the later ones says what it did.
    """

    change: Change
    status: OutcomeStatus
    refusal: Refusal | None = None
    attempts: int = 0
    elapsed_ms: int = 0
    note: str = ""
    is_verified: bool = False
    uid: str = ""
    pending_brokers: tuple[int, ...] = ()
    pending_reason: str = ""
    done_steps: tuple[str, ...] = ()
    has_lost_answer: bool = False

    @property
    def may_be_done(self) -> bool:
        """Whether it is not known that nothing of it was done.

        What was refused in the end may have been done by an earlier send without an answer.
        """
        is_settled = self.status is OutcomeStatus.APPLIED
        is_sent = self.attempts > 1
        return not is_settled and (is_sent or self.status is OutcomeStatus.UNKNOWN)

    @property
    def is_adopted(self) -> bool:
        """Whether the object was there already when it was to be created."""
        is_applied = self.status is OutcomeStatus.APPLIED
        return is_applied and self.change.action is Action.CREATE and self.note == AS_DECLARED

    @property
    def is_unknown_creation(self) -> bool:
        """Whether it was to be created, perhaps for another, and it is unknown whether it was.

        A replacement whose old object is perhaps not deleted yet has created nothing.
        """
        is_open = self.status is OutcomeStatus.UNKNOWN and self.change.action is Action.CREATE
        return is_open or self.has_lost_answer

    @property
    def may_be_of_others(self) -> bool:
        """Whether it was to be created and is there, and no answer says that it was created."""
        is_applied = self.status is OutcomeStatus.APPLIED
        is_found = self.note in {AS_DECLARED, FOUND}
        return is_applied and self.change.action is Action.CREATE and is_found


@dataclass(frozen=True, slots=True)
class BrokerBacklog:
    """Changes that one live broker does not serve yet; `reason` says why it could not be asked.

    `broker` is -1 where no broker answers at all.
    """

    broker: int
    changes: tuple[Change, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Visibility:
    """How many of the applied changes not every live broker serves yet, and which brokers.

    `fenced` brokers are registered, but down: they are not waited for.
    """

    waiting: int
    total: int
    backlogs: tuple[BrokerBacklog, ...] = ()
    fenced: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionDeletion:
    """What is to go from a partition: the records from `start` up to but not `target`.

    `end` is the first offset that is not written yet; `size_bytes` the size of the whole log, None
    where it is not known.
    """

    topic: str
    partition: int
    target: int
    start: int
    end: int
    size_bytes: int | None = None

    @property
    def records(self) -> int:
        """Count the offsets to go; there may be fewer records, as compaction leaves gaps."""
        return max(0, self.target - self.start)

    @property
    def bytes(self) -> int | None:
        """Estimate the bytes deleted, assuming equal record sizes; None if unknown."""
        if self.size_bytes is None:
            return None
        return self.size_bytes * self.records // max(1, self.end - self.start)


@dataclass(frozen=True, slots=True)
class RecordDeletionPlan:
    """All deletions in order, with the findings of policies.

    `topic_ids` show whether a topic is still the one that was inspected. With `is_all_or_nothing`
    one refusal stops all of it.
    """

    deletions: tuple[PartitionDeletion, ...]
    violations: tuple[Violation, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    is_all_or_nothing: bool = False

    @property
    def refusals(self) -> Mapping[str, Violation]:
        """The first refusal of a policy for each topic that has one."""
        said = [each for each in self.violations if each.standing is ViolationStatus.REFUSED]
        return {str(each.identity): each for each in reversed(said)}

    @property
    def allowed_deletions(self) -> tuple[PartitionDeletion, ...]:
        """The requests to send: something is deleted, and no policy refuses it."""
        refused = self.refusals
        if self.is_all_or_nothing and refused:
            return ()
        return tuple(each for each in self.deletions if each.records and each.topic not in refused)


@dataclass(frozen=True, slots=True)
class PartitionDeletionOutcome:
    """The outcome of one partition; `start` is its first offset now, None if unknown."""

    deletion: PartitionDeletion
    status: OutcomeStatus
    start: int | None = None
    refusal: Refusal | None = None
