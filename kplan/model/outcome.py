"""What became of a change."""

from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.plan import Change
from kplan.model.refusal import Refusal


class OutcomeStatus(StrEnum):
    """UNKNOWN: no answer came, so only reading the cluster tells. SKIPPED: never sent."""

    APPLIED = "applied"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one change. `elapsed_ms` counts from the first send to the last answer.

    `note` says how a success came about when that is worth a word ("already absent"); `is_verified`
    that every broker was seen to serve the new state. `uid` is the topic id after the change.
    """

    change: Change
    status: OutcomeStatus
    refusal: Refusal | None = None
    attempts: int = 0
    elapsed_ms: int = 0
    note: str = ""
    is_verified: bool = False
    uid: str = ""
