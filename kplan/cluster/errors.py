"""Kafka's error codes and how kplan handles each, in one table.

Names and numbers are those of the Kafka protocol. Codes below -1 are kplan's own, for answers that
never came from a broker.
"""

from collections.abc import Collection
from difflib import get_close_matches
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.errors import InProgress, Refusal, RefusalOrigin, UsageError


class Handling(StrEnum):
    """What apply does with a refused item."""

    RETRY = "send again after a pause"
    THROTTLED = "send again after the time that is named, however often"
    SPLIT = "send in smaller requests"
    IN_DOUBT = "read the cluster, then decide"
    CONVERGED = "the goal is reached already"
    COMPARE = "read the cluster: the goal may be reached already"
    DENIED = "fail: a right is missing"
    REJECTED = "fail"
    STALE = "fail: the object is another one than planned"


@dataclass(frozen=True, slots=True)
class KafkaError:
    """One row: `kplan errors explain` shows `meaning` and `remedy`."""

    code: int
    name: str
    handling: Handling
    meaning: str
    remedy: str = ""

    @property
    def is_retriable(self) -> bool:
        """Whether apply sends the refused item again by itself."""
        return self.handling in {Handling.RETRY, Handling.THROTTLED, Handling.SPLIT}

    @property
    def may_mean_size_limit(self) -> bool:
        """Whether the error also means a request that is too large (KAFKA-14996)."""
        return self.name in _SIZE_ERRORS


_SIZE_ERRORS = ("POLICY_VIOLATION", "INVALID_REQUEST")

CLIENT_TIMED_OUT = "CLIENT_TIMED_OUT"
CLIENT_DISCONNECTED = "CLIENT_DISCONNECTED"
CLIENT_NOT_SENT = "CLIENT_NOT_SENT"
CLIENT_INVALID = "CLIENT_INVALID"
CLIENT_STALE = "CLIENT_STALE"
CLIENT_CANCELLED = "CLIENT_CANCELLED"
CLIENT_SECRET_DIFFERS = "CLIENT_SECRET_DIFFERS"  # noqa: S105 - the name of an error
CONNECTOR_INVALID = "CONNECTOR_INVALID"
SCHEMA_INCOMPATIBLE = "SCHEMA_INCOMPATIBLE"
SCHEMA_INVALID = "SCHEMA_INVALID"
SCHEMA_IS_OLD = "SCHEMA_IS_OLD"
SCHEMA_REFERENCED = "SCHEMA_REFERENCED"

_TABLE = (
    KafkaError(-185, CLIENT_TIMED_OUT, Handling.IN_DOUBT, "No answer within the request timeout."),
    KafkaError(
        -195, CLIENT_DISCONNECTED, Handling.IN_DOUBT, "The connection broke before the answer."
    ),
    KafkaError(-189, CLIENT_NOT_SENT, Handling.IN_DOUBT, "No broker could be reached to ask it."),
    KafkaError(-186, CLIENT_INVALID, Handling.REJECTED, "The client refused to send this item."),
    KafkaError(
        -187,
        CLIENT_STALE,
        Handling.STALE,
        "The object is not what the plan saw any more.",
        "Plan again.",
    ),
    KafkaError(
        -191,
        CLIENT_SECRET_DIFFERS,
        Handling.REJECTED,
        "A secret is not the one that the plan was made with.",
        "Give the value that the plan was made with, or plan again.",
    ),
    KafkaError(
        -188,
        CLIENT_CANCELLED,
        Handling.REJECTED,
        "Another client took the request back.",
        "kplan reassign status shows what moves now; apply again if the move is still wanted.",
    ),
    KafkaError(
        -201,
        SCHEMA_INCOMPATIBLE,
        Handling.REJECTED,
        "The schema is not compatible with the versions of its subject.",
        "Change the schema, or declare another compatibility_level.",
    ),
    KafkaError(-202, SCHEMA_INVALID, Handling.REJECTED, "The registry does not take the schema."),
    KafkaError(
        -203,
        SCHEMA_REFERENCED,
        Handling.REJECTED,
        "Another schema refers to it.",
        "Delete the schemas that refer to it first.",
    ),
    KafkaError(
        -204,
        SCHEMA_IS_OLD,
        Handling.REJECTED,
        "It is an older version of the subject, which a registry does not register again.",
        "Change it in some way, as in its doc, or delete the later versions at the registry.",
    ),
    KafkaError(-210, CONNECTOR_INVALID, Handling.REJECTED, "The worker does not take the config."),
    KafkaError(-206, "REST_DENIED", Handling.DENIED, "The service denied the request."),
    KafkaError(-207, "REST_NOT_FOUND", Handling.COMPARE, "The service does not know the object."),
    KafkaError(-208, "REST_UNAVAILABLE", Handling.RETRY, "The service cannot answer now."),
    KafkaError(-209, "REST_REFUSED", Handling.REJECTED, "The service refused the request."),
    KafkaError(
        -1,
        "UNKNOWN_SERVER_ERROR",
        Handling.SPLIT,
        "The broker failed on the request; one item can spoil a whole batch.",
        "The broker's log names the exception; a broker policy may have failed.",
    ),
    KafkaError(1, "OFFSET_OUT_OF_RANGE", Handling.REJECTED, "The offset is not in the partition."),
    KafkaError(
        3,
        "UNKNOWN_TOPIC_OR_PARTITION",
        Handling.COMPARE,
        "The broker does not know the topic.",
        "It was deleted, or it is so new that this broker does not know it yet.",
    ),
    KafkaError(5, "LEADER_NOT_AVAILABLE", Handling.RETRY, "The partition has no leader now."),
    KafkaError(6, "NOT_LEADER_OR_FOLLOWER", Handling.RETRY, "The leader moved."),
    KafkaError(7, "REQUEST_TIMED_OUT", Handling.IN_DOUBT, "The controller did not finish in time."),
    KafkaError(9, "REPLICA_NOT_AVAILABLE", Handling.RETRY, "A replica is not available."),
    KafkaError(11, "STALE_CONTROLLER_EPOCH", Handling.RETRY, "The controller moved."),
    KafkaError(14, "COORDINATOR_LOAD_IN_PROGRESS", Handling.RETRY, "The coordinator is loading."),
    KafkaError(15, "COORDINATOR_NOT_AVAILABLE", Handling.RETRY, "No coordinator is available."),
    KafkaError(16, "NOT_COORDINATOR", Handling.RETRY, "The coordinator moved."),
    KafkaError(
        17,
        "INVALID_TOPIC_EXCEPTION",
        Handling.REJECTED,
        "The topic name is invalid or collides with another in which . and _ are swapped.",
    ),
    KafkaError(
        29,
        "TOPIC_AUTHORIZATION_FAILED",
        Handling.DENIED,
        "We lack the right on the topic, or it is hidden from us.",
        "Grant the operation on the topic (or a prefix) to the principal kplan runs as.",
    ),
    KafkaError(
        30, "GROUP_AUTHORIZATION_FAILED", Handling.DENIED, "We lack the right on the group."
    ),
    KafkaError(
        31,
        "CLUSTER_AUTHORIZATION_FAILED",
        Handling.DENIED,
        "We lack the right on the cluster.",
        "Grant the operation on the cluster: DESCRIBE to read ACLs, ALTER to write them and users, "
        "DESCRIBE_CONFIGS and ALTER_CONFIGS for quotas.",
    ),
    KafkaError(
        33, "UNSUPPORTED_SASL_MECHANISM", Handling.REJECTED, "The cluster lacks the mechanism."
    ),
    KafkaError(
        35,
        "UNSUPPORTED_VERSION",
        Handling.REJECTED,
        "The cluster lacks the API, or offers only other versions of it.",
    ),
    KafkaError(36, "TOPIC_ALREADY_EXISTS", Handling.COMPARE, "The topic exists."),
    KafkaError(
        37,
        "INVALID_PARTITIONS",
        Handling.COMPARE,
        "The partition count is invalid; a topic can only grow.",
    ),
    KafkaError(
        38,
        "INVALID_REPLICATION_FACTOR",
        Handling.REJECTED,
        "There are fewer brokers than requested replicas.",
    ),
    KafkaError(
        39,
        "INVALID_REPLICA_ASSIGNMENT",
        Handling.REJECTED,
        "The assignment names unknown or repeated brokers, or skips a partition.",
    ),
    KafkaError(40, "INVALID_CONFIG", Handling.REJECTED, "A config key or value is invalid."),
    KafkaError(41, "NOT_CONTROLLER", Handling.RETRY, "This is not the active controller."),
    KafkaError(42, "INVALID_REQUEST", Handling.REJECTED, "The request contradicts itself."),
    KafkaError(
        44,
        "POLICY_VIOLATION",
        Handling.REJECTED,
        "A policy of the broker refused, or the request was larger than the controller takes.",
    ),
    KafkaError(
        54,
        "SECURITY_DISABLED",
        Handling.REJECTED,
        "The cluster has no authorizer, so it has no ACLs.",
        "Set authorizer.class.name on brokers and controllers.",
    ),
    KafkaError(
        58, "SASL_AUTHENTICATION_FAILED", Handling.DENIED, "User name or password is wrong."
    ),
    KafkaError(
        60,
        "REASSIGNMENT_IN_PROGRESS",
        Handling.THROTTLED,
        "Replicas of the topic are being moved.",
        "Apply again when the move has ended.",
    ),
    KafkaError(
        61,
        "DELEGATION_TOKEN_AUTH_DISABLED",
        Handling.REJECTED,
        "The cluster has no delegation tokens.",
        "Set delegation.token.secret.key, the same on every broker and controller.",
    ),
    KafkaError(
        63,
        "DELEGATION_TOKEN_OWNER_MISMATCH",
        Handling.DENIED,
        "We neither own the token nor may renew it.",
        "Connect as its owner, or as one of its renewers.",
    ),
    KafkaError(
        64,
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        Handling.REJECTED,
        "Tokens are dealt with only over a connection that proves who we are.",
        "Log in by SASL or with a certificate, and not with a token.",
    ),
    KafkaError(
        65,
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        Handling.DENIED,
        "We lack the right to make tokens for this owner.",
        "Grant CREATE_TOKENS on the user to the principal kplan runs as.",
    ),
    KafkaError(
        80,
        "PREFERRED_LEADER_NOT_AVAILABLE",
        Handling.REJECTED,
        "The first replica is not in sync, or its broker is down.",
        "Elect again when it has caught up.",
    ),
    KafkaError(
        83,
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        Handling.REJECTED,
        "No replica is available that could be elected.",
        "Bring one of the partition's brokers back.",
    ),
    KafkaError(84, "ELECTION_NOT_NEEDED", Handling.CONVERGED, "The leader is the right one."),
    KafkaError(
        85, "NO_REASSIGNMENT_IN_PROGRESS", Handling.CONVERGED, "There is nothing to cancel."
    ),
    KafkaError(
        89,
        "THROTTLING_QUOTA_EXCEEDED",
        Handling.THROTTLED,
        "The controller mutation quota of this principal is used up for now.",
    ),
    KafkaError(91, "RESOURCE_NOT_FOUND", Handling.COMPARE, "The credential does not exist."),
    KafkaError(
        92, "DUPLICATE_RESOURCE", Handling.REJECTED, "The request names a credential twice."
    ),
    KafkaError(
        93,
        "UNACCEPTABLE_CREDENTIAL",
        Handling.REJECTED,
        "The credential is not acceptable.",
        "A user has a name, and 4096 to 16384 iterations.",
    ),
    KafkaError(
        95,
        "INVALID_UPDATE_VERSION",
        Handling.REJECTED,
        "A node cannot run this level of the feature, or it is lower than now.",
    ),
    KafkaError(96, "FEATURE_UPDATE_FAILED", Handling.REJECTED, "The feature was not updated."),
    KafkaError(
        100,
        "UNKNOWN_TOPIC_ID",
        Handling.STALE,
        "No topic has this id: the planned topic was deleted.",
    ),
    KafkaError(102, "BROKER_ID_NOT_REGISTERED", Handling.REJECTED, "No such broker."),
    KafkaError(
        114,
        "MISMATCHED_ENDPOINT_TYPE",
        Handling.REJECTED,
        "A broker request went to a controller, or a controller request to a broker (KIP-919).",
    ),
    KafkaError(
        115,
        "UNSUPPORTED_ENDPOINT_TYPE",
        Handling.REJECTED,
        "The endpoint does not know this type of endpoint (KIP-919).",
    ),
    KafkaError(116, "UNKNOWN_CONTROLLER_ID", Handling.RETRY, "No such controller (KIP-919)."),
)

ERRORS = {row.name: row for row in _TABLE}
"""Every error kplan treats knowingly, by Kafka's name."""

_BY_CODE = {row.code: row for row in _TABLE}

_SIZE_LIMIT_WORDS = ("excessively large", "acls in a single delete operation")  # the controller's


def refusal(
    code: int, message: str | None = None, *, name: str = "", throttle_ms: int = 0
) -> Refusal:
    """Make the refusal for an error code; `name` serves codes that are not in the table."""
    row = _BY_CODE.get(code)
    known = row.name if row else name or f"ERROR_{code}"
    return Refusal(known, code, message or (row.meaning if row else ""), throttle_ms)


def in_progress_refusal(
    message: str,
    counts: tuple[int, int] = (0, 0),
    down: tuple[Collection[int], Collection[int]] = ((), ()),
    look_ms: int = 1000,
    protocol: str = "",
    bytes_left: int | None = None,
) -> InProgress:
    """Say that replicas are being moved, and when to look again; see `InProgress`."""
    row = ERRORS["REASSIGNMENT_IN_PROGRESS"]
    awaited, limited = map(frozenset, down)
    return InProgress(
        row.name, row.code, message, look_ms,
        left=counts[0], total=counts[1], awaited=awaited, limited=limited,
        security_protocol=protocol, bytes_left=bytes_left,
    )  # fmt: skip


def client_refusal(name: str, message: str = "", hint: str = "") -> Refusal:
    """Make the refusal for an answer that never came from a broker."""
    row = ERRORS[name]
    origin = RefusalOrigin.CLIENT
    return Refusal(name, row.code, message or row.meaning, origin=origin, hint=hint)


def handling(refused: Refusal) -> Handling:
    """Return the next step for a refused item.

    POLICY_VIOLATION and INVALID_REQUEST also mean "request too large" (KAFKA-14996), which
    only the message distinguishes from a real refusal.
    """
    if refused.error in _SIZE_ERRORS and is_size_limit(refused):
        return Handling.SPLIT
    row = ERRORS.get(refused.error)
    return row.handling if row else Handling.REJECTED


def find_error(text: str) -> KafkaError:
    """Find an error by its name, in any case, or its number.

    Raises:
        UsageError: kplan knows nothing about it.

    """
    name = text.strip().upper()
    rows = {**ERRORS, **{str(row.code): row for row in _TABLE}}
    if name in rows:
        return rows[name]
    near = get_close_matches(name, ERRORS, n=1)
    raise UsageError(
        f'kplan knows no error "{text}" of Kafka: an item refused with it fails.',
        hint=f"Did you mean {near[0]}?" if near else "Give a name or a number of the protocol.",
    )


def remedy_for(refused: Refusal) -> str:
    """Return the hint of an error, "" where none is known."""
    row = ERRORS.get(refused.error)
    return row.remedy if row else ""


def is_policy_violation(refused: Refusal) -> bool:
    """Whether a policy refused, and not a limit that has the same code (KAFKA-14996)."""
    return refused.error == "POLICY_VIOLATION" and not is_size_limit(refused)


def is_size_limit(refused: Refusal) -> bool:
    """Whether the text of the refusal is about the size of the request."""
    text = refused.message.lower()
    return any(words in text for words in _SIZE_LIMIT_WORDS)
