"""Say what brokers refuse when they are asked to try a change."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kplan.cluster.errors import CLIENT_TIMED_OUT, Handling, client_refusal, handling, remedy_for
from kplan.kinds.base import redact_refusal
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ClusterError, Refusal, RefusalOrigin, UnsupportedError
from kplan.model.plan import Change


def request_refusal(failure: ClusterError) -> Refusal:
    """Return what a request that failed as a whole means for each change in it."""
    if failure.answer is not None:
        return failure.answer
    is_lacking = isinstance(failure, UnsupportedError)
    name = "UNSUPPORTED_VERSION" if is_lacking else CLIENT_TIMED_OUT
    return client_refusal(name, f"{failure.summary}: {failure.detail}")


def is_unsupported(refused: Refusal) -> bool:
    """Whether nothing was sent, as the cluster cannot try the change; it may be able to make it."""
    return refused.error == "UNSUPPORTED_VERSION" and refused.origin is RefusalOrigin.CLIENT


def refusal_diagnostics(refused: Sequence[tuple[Change, Refusal]]) -> Iterator[Diagnostic]:
    """Return each refusal, but one warning of all that met the same mutation quota (KIP-599)."""
    throttled = [each for each in refused if handling(each[1]) is Handling.THROTTLED]
    for each in refused:
        if len(throttled) == 1 or handling(each[1]) is not Handling.THROTTLED:
            yield _refusal_diagnostic(*each)
    if len(throttled) > 1:
        first = _refusal_diagnostic(*throttled[0])
        yield replace(
            first,
            detail=f"{len(throttled):,} changes could not be tried with the broker: "
            f"{redact_refusal(throttled[0][1], throttled[0][0])}",
            hint="A mutation quota applies to this principal. Apply waits for it as long as "
            "needed; the dry run does not.",
        )


def _refusal_diagnostic(change: Change, refused: Refusal) -> Diagnostic:
    passing = {Handling.IN_DOUBT, Handling.RETRY, Handling.THROTTLED}
    unknown = handling(refused) in passing or is_unsupported(refused)
    code = "KP242" if unknown else _CODES.get(refused.error, "KP241")
    return Diagnostic(
        code,
        Severity.WARNING if unknown else Severity.ERROR,
        SUMMARIES[code],
        f"{change.identity}: {redact_refusal(refused, change)}",
        _way_out(change, refused)
        or _HINTS.get(refused.error, "")
        or (remedy_for(refused) if code in _CODES.values() else ""),
        change.address,
        change.declared_at,
    )


def _way_out(change: Change, refused: Refusal) -> str:
    """Name what is left to do for an unknown logger, and for kept min.insync.replicas (KIP-966)."""
    if change.kind == "kafka_logger" and refused.error == "INVALID_CONFIG":
        node = change.identity.partition("|")[0]
        return f"A node has the loggers that its code has used: kplan loggers list {node}"
    if _KEPT_BY_KAFKA not in refused.message:
        return ""
    if "Broker-level" in refused.message:
        return "Declare min.insync.replicas for all brokers, in a block without broker_id."
    if change.after is not None:
        return "Declare min.insync.replicas; another value is fine."
    return f"Leave the object on the cluster: kplan state rm '{change.address}'"


_KEPT_BY_KAFKA = "while ELR is enabled"
"""What controllers say of it: it is not removed for all brokers, and no broker has its own."""

_CODES = {
    "CONNECTOR_INVALID": "KP532",
    "SCHEMA_INCOMPATIBLE": "KP522",
    "SCHEMA_INVALID": "KP523",
    "SCHEMA_IS_OLD": "KP523",
    "SCHEMA_REFERENCED": "KP523",
}
"""Refusals of services beside the brokers; all others are those of a broker."""

_HINTS = {
    "INVALID_REPLICATION_FACTOR": "Declare no more replicas than there are brokers.",
    "INVALID_CONFIG": "The broker names the key or value it does not take.",
    "TOPIC_AUTHORIZATION_FAILED": "Grant the right on the topic to the principal kplan runs as.",
    "CLUSTER_AUTHORIZATION_FAILED": "Grant the right on the cluster to this principal.",
    "POLICY_VIOLATION": "This is not a policy: the change is larger than the controller accepts.",
}
