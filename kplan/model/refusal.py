"""Why an item was not carried out."""

from enum import StrEnum

from kplan.model.dataclass import dataclass


class RefusalOrigin(StrEnum):
    """Who refused: the broker, kplan's own client before sending, or a policy of kplan."""

    BROKER = "broker"
    CLIENT = "client"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of one item that was not carried out.

    `error` is Kafka's own name (`TOPIC_ALREADY_EXISTS`), `code` its number in the protocol; a
    client-side failure has a name of `cluster/errors.py` and a code below -1.
    """

    error: str
    code: int
    message: str = ""
    throttle_ms: int = 0
    origin: RefusalOrigin = RefusalOrigin.BROKER

    def __str__(self) -> str:
        """Write error and message on one line."""
        return f"{self.error}: {self.message}" if self.message else self.error


@dataclass(frozen=True, slots=True)
class InProgress(Refusal):
    """What was asked for goes on, and is not done: `left` of `total` things are still to come."""

    left: int = 0
    total: int = 0

    def without_progress(self) -> Refusal:
        """Return the refusal alone."""
        return Refusal(self.error, self.code, self.message, self.throttle_ms, self.origin)
