"""Client quotas, and whether a controller mutation quota may apply (KIP-599)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kplan.cluster.request import ItemResult
from kplan.cluster.settings import QuotaAlteration, QuotaEntity
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message, item_result, unread_error
from kplan.model.errors import ClusterError, Refusal


def read_quotas(gateway: Gateway, at: Endpoint | None) -> Mapping[QuotaEntity, Mapping[str, float]]:
    """List all quotas; raises UnreadableError."""
    request = messages.DESCRIBE_QUOTAS.request(components=[], strict=False)
    answer = gateway.ask(messages.DESCRIBE_QUOTAS, request, at=at)
    if answer.error_code:
        raise unread_error("Quotas", answer.error_code, answer.error_message, "quotas")
    return {
        _quota_entity(each.entity): {value.key: value.value for value in each.values}
        for each in answer.entries or ()
    }


def alter_quotas(
    gateway: Gateway, specs: Sequence[QuotaAlteration], *, validate_only: bool
) -> Mapping[QuotaEntity, ItemResult]:
    """Set and remove quotas in one request."""
    request = messages.ALTER_QUOTAS.request(
        entries=[_quota_entry(spec) for spec in specs], validate_only=validate_only
    )
    answer = gateway.send(messages.ALTER_QUOTAS, request)
    if isinstance(answer, Refusal):
        return {spec.entity: answer for spec in specs}
    return {
        _quota_entity(each.entity): item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.entries
    }


def _quota_entity(parts: Iterable[Message]) -> QuotaEntity:
    """Read the parts, in any order; the default entity has no name."""
    named = {part.entity_type: part.entity_name or "" for part in parts}
    return QuotaEntity(named.get("user"), named.get("client-id"), named.get("ip"))


def _quota_entry(spec: QuotaAlteration) -> Message:
    entry = messages.ALTER_QUOTAS.request.EntryData
    parts = (
        ("user", spec.entity.user),
        ("client-id", spec.entity.client_id),
        ("ip", spec.entity.ip),
    )
    return entry(
        entity=[
            entry.EntityData(entity_type=sort, entity_name=name or None)
            for sort, name in parts
            if name is not None
        ],
        ops=[
            entry.OpData(key=key, value=value, remove=False)
            for key, value in sorted(spec.set.items())
        ]
        + [entry.OpData(key=key, value=0.0, remove=True) for key in sorted(spec.remove)],
    )


MUTATION_RATE = "controller_mutation_rate"
_EXACT, _DEFAULT = 0, 1


def may_have_mutation_quota(gateway: Gateway, client_id: str) -> bool:
    """Look for such a quota of our user, of our client id, and of all that have none of their own.

    Where we may not read quotas there may be one. Where the cluster has no such API, or does not
    answer, the answer is no. Who we are may not be known (a broker may rename us); then any such
    quota counts.
    """
    try:
        return any(
            _has_rate(gateway, *each) for each in _quota_filters(gateway.principal, client_id)
        )
    except ClusterError:
        return False


def _quota_filters(
    principal: str, client_id: str
) -> Iterator[tuple[list[Mapping[str, Any]], bool]]:
    """Return the entity filter, and whether other entities must have no further part."""
    user = principal.removeprefix("User:")
    if not user:
        yield [], False
        return
    for sort, name, is_strict in (("user", user, False), ("client-id", client_id, True)):
        yield [{"entity_type": sort, "match_type": _EXACT, "match": name}], is_strict
        yield [{"entity_type": sort, "match_type": _DEFAULT, "match": None}], is_strict


def _has_rate(gateway: Gateway, parts: list[Mapping[str, Any]], is_strict: bool) -> bool:  # noqa: FBT001 - as the protocol has it
    request = messages.DESCRIBE_QUOTAS.request
    components = [request.ComponentData(**each) for each in parts]
    answer: Message = gateway.ask(
        messages.DESCRIBE_QUOTAS, request(components=components, strict=is_strict)
    )
    rates = (value for entry in answer.entries or () for value in entry.values)
    return bool(answer.error_code) or any(each.key == MUTATION_RATE for each in rates)
