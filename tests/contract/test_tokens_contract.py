"""Delegation tokens (KIP-48): made, listed, renewed, logged in with, and ended."""

from base64 import b64encode
from contextlib import closing
from dataclasses import replace

import pytest
from kafka.net.sasl.scram import ScramClient

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.settings import DelegationToken, TokenRequest
from kplan.kafka.settings.connection import ConnectionSettings, ScramSha256
from kplan.kafka.wire.driver import preflight
from kplan.model.errors import AuthError, Refusal, UnreadableError
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import Has
from tests.capability import TOKEN_OWNERS, TOKENS
from tests.contract.clusters import connected, settings_of, soon
from tests.contract.conftest import Lacking

pytestmark = pytest.mark.needs(TOKENS)

HOUR_MS = 3_600_000


def held(cluster: Cluster, token: DelegationToken) -> DelegationToken | None:
    return next((each for each in cluster.delegation_tokens() if each.id == token.id), None)


def made(cluster: Cluster, order: TokenRequest) -> DelegationToken:
    found = cluster.create_token(order)
    assert isinstance(found, DelegationToken), found
    soon(lambda: held(cluster, found) is not None)
    return found


def test_a_token_is_made_listed_renewed_and_ended(guarded: Cluster, has: Has) -> None:
    """S27, K919-19: with its owner, renewers and times; at the end there is none."""
    token = made(guarded, TokenRequest(renewers=("User:bob", "User:alice"), lifetime_ms=HOUR_MS))
    listed = held(guarded, token)
    assert listed == token
    requester = "User:admin" if has(TOKEN_OWNERS) else ""
    assert (token.owner, token.requester) == ("User:admin", requester)
    assert token.renewers == ("User:alice", "User:bob")
    assert token.max_ms == token.issued_ms + HOUR_MS
    assert len(token.hmac) == 64
    assert str(token.hmac) not in repr(token)
    until = guarded.renew_token(token.hmac, HOUR_MS // 2)
    assert isinstance(until, int)
    assert token.issued_ms + HOUR_MS // 2 <= until <= token.max_ms
    until = guarded.expire_token(token.hmac, HOUR_MS // 4)
    assert isinstance(until, int)
    assert until < token.max_ms
    soon(lambda: (now := held(guarded, token)) is not None and now.expires_ms == until)
    assert isinstance(guarded.expire_token(token.hmac, -1), int)
    soon(lambda: held(guarded, token) is None)
    gone = guarded.renew_token(token.hmac, -1)
    assert isinstance(gone, Refusal)
    assert gone.error == "DELEGATION_TOKEN_NOT_FOUND"


@pytest.mark.needs(TOKEN_OWNERS)
def test_a_token_for_another_user_takes_a_right(guarded: Cluster, lacking: Lacking) -> None:
    """KIP-373: the super user makes one for bob, which alice may neither make nor end.

    Whoever made it may not end it either, unless as a renewer.
    """
    alice = lacking(("CREATE_TOKENS", "USER"), ("DESCRIBE", "DELEGATION_TOKEN"))
    foreign = made(guarded, TokenRequest(owner="User:bob"))
    refused = guarded.expire_token(foreign.hmac, -1)
    assert isinstance(refused, Refusal)
    assert refused.error == "DELEGATION_TOKEN_OWNER_MISMATCH"
    token = made(guarded, TokenRequest(owner="User:bob", renewers=("User:admin",)))
    assert (token.owner, token.requester) == ("User:bob", "User:admin")
    unmade = alice.create_token(TokenRequest(owner="User:bob"))
    assert isinstance(unmade, Refusal)
    assert unmade.error == "DELEGATION_TOKEN_AUTHORIZATION_FAILED"
    assert unmade.message == "Principal User:alice needs CREATE_TOKENS on USER User:bob."
    assert held(alice, token) is None
    refused = alice.expire_token(token.hmac, -1)
    assert isinstance(refused, Refusal)
    assert refused.error == "DELEGATION_TOKEN_OWNER_MISMATCH"
    assert isinstance(guarded.expire_token(token.hmac, -1), int)


def test_a_cluster_without_a_secret_key_has_no_tokens(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """S27: what has to be set is told."""
    cluster: Cluster
    if kind == "memory":
        memory = cluster = MemoryCluster(1)
        memory.disable_tokens()
    else:
        sandbox: Sandbox = request.getfixturevalue("tls_broker")
        cluster = connected(kind, settings_of(sandbox, "admin"))
    with closing(cluster):
        with pytest.raises(UnreadableError, match="DELEGATION_TOKEN_AUTH_DISABLED") as failure:
            cluster.delegation_tokens()
        assert "delegation.token.secret.key" in failure.value.hint


@pytest.mark.broker
def test_a_token_logs_in_until_it_ends(
    sasl_broker: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-48: the id is the name and the secret, in base 64, the password of a login by SCRAM."""
    monkeypatch.setattr(ScramClient, "first_message", _by_token)
    with closing(connected("wire", settings_of(sasl_broker, "bob"))) as cluster:
        token = made(cluster, TokenRequest())
        secret = b64encode(token.hmac).decode()
        settings = replace(settings_of(sasl_broker, "bob"), sasl=ScramSha256(token.id, secret))
        soon(lambda: _lets_in(settings))
        assert isinstance(cluster.expire_token(token.hmac, -1), int)
        soon(lambda: not _lets_in(settings))


def _lets_in(settings: ConnectionSettings) -> bool:
    try:
        return bool(preflight(settings).cluster_id)
    except AuthError:
        return False


def _by_token(client: ScramClient) -> bytes:
    """Begin an exchange with the extension that says that the name is that of a token."""
    bare: bytes = b"n=" + client.user + b",r=" + client.nonce + b",tokenauth=true"
    client.auth_message += bare
    return b"n,," + bare
