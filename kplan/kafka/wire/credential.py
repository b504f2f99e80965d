"""SCRAM credentials (KIP-554) and delegation tokens (KIP-48, KIP-373)."""

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from kplan.cluster.errors import remedy_for
from kplan.cluster.request import ItemResult
from kplan.cluster.settings import DelegationToken, ScramAlteration, ScramUser, TokenRequest
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import (
    CREATE_TOKEN,
    DESCRIBE_TOKENS,
    EXPIRE_TOKEN,
    RENEW_TOKEN,
    Api,
    Message,
    broker_refusal,
    invalid_refusal,
    item_result,
    unread_error,
)
from kplan.model.errors import Refusal, UnreadableError

SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka's numbers (ScramMechanism)."""

_NUMBERS = {name: number for number, name in SCRAM_MECHANISMS.items()}
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_SALT_BYTES = 24
_RESOURCE_NOT_FOUND = 91


def read_scram_users(gateway: Gateway, at: Endpoint | None) -> Mapping[ScramUser, int]:
    """List the iterations of all credentials; raises UnreadableError.

    All are asked for with an empty list: null makes a broker of Kafka 4.1 fall silent where the
    right is missing.
    """
    answer = gateway.ask(messages.DESCRIBE_SCRAM, messages.DESCRIBE_SCRAM.request(users=[]), at=at)
    if answer.error_code:
        raise _unread_error(answer)
    found: dict[ScramUser, int] = {}
    for each in answer.results:
        if each.error_code == _RESOURCE_NOT_FOUND:  # deleted meanwhile
            continue
        if each.error_code:
            raise _unread_error(each)
        for held in each.credential_infos:
            mechanism = SCRAM_MECHANISMS.get(held.mechanism, f"UNKNOWN_{held.mechanism}")
            found[ScramUser(each.user, mechanism)] = held.iterations
    real = _real_names(gateway, at, {each.user for each in found})
    return {
        replace(user, user=real.get(user.user, user.user)): each for user, each in found.items()
    }


def _unread_error(answer: Message) -> UnreadableError:
    return unread_error("SCRAM credentials", answer.error_code, answer.error_message, "scram_users")


_ENCODED_NAME = re.compile(r"[A-Za-z0-9_.%*-]*")


def _real_names(gateway: Gateway, at: Endpoint | None, names: Collection[str]) -> Mapping[str, str]:
    """Return the real name of each user whose name was listed as ZooKeeper stores it.

    Kafka 2.8 with ZooKeeper lists `a b` as `a%20b`, and knows it by its real name alone: a broker
    that has a user of the decoded name lists names so. One that lists any other character does not.
    """
    decoded = {unquote(each): each for each in names if unquote(each) != each}
    if not decoded or not all(map(_ENCODED_NAME.fullmatch, names)):
        return {}
    part = messages.DESCRIBE_SCRAM.request.UserName
    request = messages.DESCRIBE_SCRAM.request(users=[part(name=each) for each in sorted(decoded)])
    answer = gateway.ask(messages.DESCRIBE_SCRAM, request, at=at)
    if answer.error_code:
        raise _unread_error(answer)
    return {decoded[each.user]: each.user for each in answer.results if not each.error_code}


def alter_scram_users(
    gateway: Gateway, specs: Sequence[ScramAlteration]
) -> Mapping[ScramUser, ItemResult]:
    """Set and delete credentials. Kafka takes each user once in a request, so there may be two."""
    results: dict[ScramUser, ItemResult] = {
        spec.name: invalid_refusal(f"There is no mechanism {spec.name.mechanism}.")
        for spec in specs
        if spec.name.mechanism not in _NUMBERS
    }
    for mechanism in _NUMBERS:
        members = [spec for spec in specs if spec.name.mechanism == mechanism]
        if members:
            results.update(_alter_credentials(gateway, members))
    return results


def _alter_credentials(
    gateway: Gateway, specs: Sequence[ScramAlteration]
) -> Mapping[ScramUser, ItemResult]:
    """Alter credentials of one mechanism in one request, which is answered by user."""
    request = messages.ALTER_SCRAM.request(
        deletions=[_deletion(spec.name) for spec in specs if spec.password is None],
        upsertions=[_upsertion(spec) for spec in specs if spec.password is not None],
    )
    answer = gateway.send(messages.ALTER_SCRAM, request)
    if isinstance(answer, Refusal):
        return {spec.name: answer for spec in specs}
    by_user = {
        each.user: item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.results
    }
    return {spec.name: by_user[spec.name.user] for spec in specs if spec.name.user in by_user}


def _deletion(name: ScramUser) -> Message:
    part = messages.ALTER_SCRAM.request.ScramCredentialDeletion
    return part(name=name.user, mechanism=_NUMBERS[name.mechanism])


def _upsertion(spec: ScramAlteration) -> Message:
    """Salt the password (RFC 5802, SaltedPassword): it never leaves us as it is."""
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(
        _HASHES[spec.name.mechanism], (spec.password or "").encode(), salt, max(spec.iterations, 1)
    )
    return messages.ALTER_SCRAM.request.ScramCredentialUpsertion(
        name=spec.name.user,
        mechanism=_NUMBERS[spec.name.mechanism],
        iterations=spec.iterations,
        salt=salt,
        salted_password=salted,
    )


def list_tokens(gateway: Gateway) -> tuple[DelegationToken, ...]:
    """List the tokens that we may see, by id.

    Raises:
        UnreadableError: the brokers have no tokens, or tell none over this connection.

    """
    answer = gateway.ask(DESCRIBE_TOKENS, DESCRIBE_TOKENS.request(owners=None))
    if answer.error_code:
        failure = unread_error("Delegation tokens", answer.error_code, None)
        raise UnreadableError(
            failure.detail, hint=remedy_for(broker_refusal(answer.error_code, None))
        )
    return tuple(sorted(map(_delegation_token, answer.tokens), key=lambda token: token.id))


def create_token(gateway: Gateway, order: TokenRequest) -> DelegationToken | Refusal:
    """Create a token; the response contains its secret."""
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
    """Extend a token by a duration from now; returns its expiry."""
    return _change_expiry(
        gateway, RENEW_TOKEN, RENEW_TOKEN.request(hmac=hmac, renew_period_ms=span_ms)
    )


def expire_token(gateway: Gateway, hmac: bytes, span_ms: int) -> int | Refusal:
    """Let a token end so long from now, at once where that is below 0; shows when it does."""
    request = EXPIRE_TOKEN.request(hmac=hmac, expiry_time_period_ms=span_ms)
    return _change_expiry(gateway, EXPIRE_TOKEN, request)


def _change_expiry(gateway: Gateway, api: Api, request: Message) -> int | Refusal:
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return answer
    if answer.error_code:
        return broker_refusal(answer.error_code, None, throttle_ms=answer.throttle_time_ms)
    return int(answer.expiry_timestamp_ms)


def _delegation_token(message: Message) -> DelegationToken:
    renewers = (f"{each.principal_type}:{each.principal_name}" for each in message.renewers)
    return DelegationToken(
        message.token_id,
        f"{message.principal_type}:{message.principal_name}",
        _requester(message),
        tuple(sorted(renewers)),
        message.issue_timestamp,
        message.expiry_timestamp,
        message.max_timestamp,
        bytes(message.hmac),
    )


def _requester(message: Message) -> str:
    name = message.token_requester_principal_name
    return f"{message.token_requester_principal_type}:{name}" if name else ""


def _split_principal(text: str) -> tuple[str, str]:
    sort, _, name = text.partition(":")
    return sort, name
