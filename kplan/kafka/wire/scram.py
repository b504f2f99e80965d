"""SCRAM credentials: DescribeUserScramCredentials, AlterUserScramCredentials (KIP-554)."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence

from kplan.cluster.request import ItemResult
from kplan.cluster.settings import ScramAlteration, ScramUser
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.error import invalid_refusal, unread_error, verdict
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message
from kplan.model.refusal import Refusal

SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka's numbers (ScramMechanism)."""

_NUMBERS = {name: number for number, name in SCRAM_MECHANISMS.items()}
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_SALT_BYTES = 24
_RESOURCE_NOT_FOUND = 91


def read_scram_users(gateway: Gateway, at: Endpoint | None) -> Mapping[ScramUser, int]:
    """List the iterations of all credentials; raises Unread.

    All are asked for with an empty list: null makes a broker of Kafka 4.1 fall silent where the
    right is missing.
    """
    answer = gateway.ask(messages.DESCRIBE_SCRAM, messages.DESCRIBE_SCRAM.request(users=[]), at=at)
    if answer.error_code:
        raise unread_error("SCRAM credentials", answer.error_code, answer.error_message)
    found: dict[ScramUser, int] = {}
    for each in answer.results:
        if each.error_code == _RESOURCE_NOT_FOUND:  # deleted meanwhile
            continue
        if each.error_code:
            raise unread_error("SCRAM credentials", each.error_code, each.error_message)
        for held in each.credential_infos:
            mechanism = SCRAM_MECHANISMS.get(held.mechanism, f"UNKNOWN_{held.mechanism}")
            found[ScramUser(each.user, mechanism)] = held.iterations
    return found


def alter_scram_users(
    gateway: Gateway, specs: Sequence[ScramAlteration]
) -> Mapping[ScramUser, ItemResult]:
    """Set and delete credentials. Kafka takes each user once in a request, so there may be two."""
    verdicts: dict[ScramUser, ItemResult] = {
        spec.name: invalid_refusal(f"There is no mechanism {spec.name.mechanism}.")
        for spec in specs
        if spec.name.mechanism not in _NUMBERS
    }
    for mechanism in _NUMBERS:
        members = [spec for spec in specs if spec.name.mechanism == mechanism]
        if members:
            verdicts.update(_alter_credentials(gateway, members))
    return verdicts


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
        each.user: verdict(each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms)
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
