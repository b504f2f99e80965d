"""Error codes in responses, as refusals."""

from kplan.cluster.errors import client_refusal, refusal
from kplan.cluster.request import ItemResult
from kplan.kafka.wire import messages
from kplan.model.errors import UnreadableError
from kplan.model.refusal import Refusal


def broker_refusal(code: int, message: str | None, *, throttle_ms: int = 0) -> Refusal:
    """Make the refusal for an error code other than 0.

    Where a right is missing brokers print the whole request object of theirs, which tells nobody
    anything: the meaning of the code stands instead.
    """
    if message and "Request(" in message:
        message = None
    return refusal(code, message, name=messages.error_name(code), throttle_ms=throttle_ms)


def verdict(code: int, message: str | None, *, throttle_ms: int = 0) -> ItemResult:
    """Make the verdict for an error code; 0 is success."""
    return broker_refusal(code, message, throttle_ms=throttle_ms) if code else None


def unread_error(what: str, code: int, message: str | None) -> UnreadableError:
    """Make the error of a list that was refused as a whole: never an empty one."""
    return UnreadableError(f"{what} cannot be read: {broker_refusal(code, message)}")


def invalid_refusal(what: str) -> Refusal:
    """Make the refusal of an item that cannot be put into a request; it was not sent."""
    return client_refusal("CLIENT_INVALID", what)


TOO_LARGE = "A count or broker id is too large for Kafka."
