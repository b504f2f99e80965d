"""Delegation tokens: list, create, renew and expire (KIP-48, KIP-373)."""

from kplan.cluster.errors import remedy_for
from kplan.cluster.settings import DelegationToken, TokenRequest
from kplan.kafka.wire.error import broker_refusal, unread_error
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import (
    CREATE_TOKEN,
    DESCRIBE_TOKENS,
    EXPIRE_TOKEN,
    RENEW_TOKEN,
    Api,
    Message,
)
from kplan.model.errors import UnreadableError
from kplan.model.refusal import Refusal


def list_tokens(gateway: Gateway) -> tuple[DelegationToken, ...]:
    """List the tokens that we may see, by id.

    Raises:
        Unread: the brokers have no tokens, or tell none over this connection.

    """
    answer = gateway.ask(DESCRIBE_TOKENS, DESCRIBE_TOKENS.request(owners=None))
    if answer.error_code:
        failure = unread_error("Delegation tokens", answer.error_code, None)
        raise UnreadableError(
            failure.detail, hint=remedy_for(broker_refusal(answer.error_code, None))
        )
    return tuple(sorted(map(_delegation_token, answer.tokens), key=lambda token: token.id))


def create_token(gateway: Gateway, order: TokenRequest) -> DelegationToken | Refusal:
    """Make a token; the answer holds its secret."""
    part = CREATE_TOKEN.request.CreatableRenewers
    sort, name = _split_principal(order.owner) if order.owner else (None, None)
    request = CREATE_TOKEN.request(
        owner_principal_type=sort,
        owner_principal_name=name,
        renewers=[
            part(principal_type=sort, principal_name=name)
            for sort, name in map(_split_principal, order.renewers)
        ],
        max_lifetime_ms=order.lifetime_ms,
    )
    answer = gateway.send(CREATE_TOKEN, request)
    if isinstance(answer, Refusal):
        return answer
    if answer.error_code:
        return broker_refusal(answer.error_code, None, throttle_ms=answer.throttle_time_ms)
    return DelegationToken(
        answer.token_id,
        f"{answer.principal_type}:{answer.principal_name}",
        _requester(answer),
        tuple(sorted(order.renewers)),
        answer.issue_timestamp_ms,
        answer.expiry_timestamp_ms,
        answer.max_timestamp_ms,
        bytes(answer.hmac),
    )


def renew_token(gateway: Gateway, hmac: bytes, span_ms: int) -> int | Refusal:
    """Let a token be valid for so long from now; tells until when it is."""
    return _change_expiry(
        gateway, RENEW_TOKEN, RENEW_TOKEN.request(hmac=hmac, renew_period_ms=span_ms)
    )


def expire_token(gateway: Gateway, hmac: bytes, span_ms: int) -> int | Refusal:
    """Let a token end so long from now, at once where that is below 0; tells when it does."""
    request = EXPIRE_TOKEN.request(hmac=hmac, expiry_time_period_ms=span_ms)
    return _change_expiry(gateway, EXPIRE_TOKEN, request)


def _change_expiry(gateway: Gateway, api: Api, request: Message) -> int | Refusal:
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return answer
    if answer.error_code:
        return broker_refusal(answer.error_code, None, throttle_ms=answer.throttle_time_ms)
    return int(answer.expiry_timestamp_ms)


def _delegation_token(told: Message) -> DelegationToken:
    renewers = (f"{each.principal_type}:{each.principal_name}" for each in told.renewers)
    return DelegationToken(
        told.token_id,
        f"{told.principal_type}:{told.principal_name}",
        _requester(told),
        tuple(sorted(renewers)),
        told.issue_timestamp,
        told.expiry_timestamp,
        told.max_timestamp,
        bytes(told.hmac),
    )


def _requester(told: Message) -> str:
    name = told.token_requester_principal_name
    return f"{told.token_requester_principal_type}:{name}" if name else ""


def _split_principal(text: str) -> tuple[str, str]:
    sort, _, name = text.partition(":")
    return sort, name
