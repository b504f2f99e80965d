"""Quotas of clients: DescribeClientQuotas, AlterClientQuotas (KIP-546, KIP-612)."""

from collections.abc import Iterable, Mapping, Sequence

from kplan.cluster.setting_specs import QuotaAlteration, QuotaEntity
from kplan.cluster.specs import Verdict
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.verdict import unread, verdict
from kplan.model.refusal import Refusal


def quotas(gateway: Gateway, at: Endpoint | None) -> Mapping[QuotaEntity, Mapping[str, float]]:
    """List all quotas; raises Unread."""
    request = messages.DESCRIBE_QUOTAS.request(components=[], strict=False)
    answer = gateway.ask(messages.DESCRIBE_QUOTAS, request, at=at)
    if answer.error_code:
        raise unread("Quotas", answer.error_code, answer.error_message)
    return {
        _entity(each.entity): {value.key: value.value for value in each.values}
        for each in answer.entries or ()
    }


def alter_quotas(
    gateway: Gateway, specs: Sequence[QuotaAlteration], *, validate_only: bool
) -> Mapping[QuotaEntity, Verdict]:
    """Set and remove quotas in one request."""
    request = messages.ALTER_QUOTAS.request(
        entries=[_entry(spec) for spec in specs], validate_only=validate_only
    )
    answer = gateway.send(messages.ALTER_QUOTAS, request)
    if isinstance(answer, Refusal):
        return {spec.entity: answer for spec in specs}
    return {
        _entity(each.entity): verdict(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.entries
    }


def _entity(parts: Iterable[Message]) -> QuotaEntity:
    """Read the parts, which come in any order; the default has no name."""
    named = {part.entity_type: part.entity_name or "" for part in parts}
    return QuotaEntity(named.get("user"), named.get("client-id"), named.get("ip"))


def _entry(spec: QuotaAlteration) -> Message:
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
