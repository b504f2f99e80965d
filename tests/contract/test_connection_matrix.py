"""Every security protocol and mechanism, with both drivers and both styles of settings."""

import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.request import NewTopic, TopicRef
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import (
    ClientCredentials,
    ConnectionSettings,
    Plain,
    ScramSha256,
    ScramSha512,
)
from kplan.kafka.transaction import librdkafka_settings
from kplan.kafka.wire.driver import preflight
from kplan.model.errors import AuthError
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import Has
from tests.capability import FEATURES, SCRAM, TOKEN_VALIDATOR
from tests.contract.clusters import soon
from tests.contract.connections import settings_from, told
from tests.token_endpoint import TokenEndpoint

pytestmark = pytest.mark.broker

PROTOCOLS = (
    "plaintext",
    "mtls",
    "sasl_plain",
    pytest.param("sasl_scram_256", marks=pytest.mark.needs(SCRAM)),
    pytest.param("sasl", marks=pytest.mark.needs(SCRAM)),
    pytest.param("oauth", marks=pytest.mark.needs(TOKEN_VALIDATOR)),
    "sasl_tls",
    pytest.param("scram_tls", marks=pytest.mark.needs(SCRAM)),
    pytest.param("scram_512_tls", marks=pytest.mark.needs(SCRAM)),
    pytest.param("oauth_tls", marks=pytest.mark.needs(TOKEN_VALIDATOR)),
)
"""Every security protocol, with every mechanism where it takes any; TLS without a certificate of
ours is shown in tests/e2e/test_command_older_kafka.py."""


@pytest.fixture
def sasl_plain(sasl: ConnectionSettings) -> ConnectionSettings:
    assert isinstance(sasl.sasl, Plain | ScramSha512), "brokers without SCRAM have PLAIN"
    return replace(sasl, sasl=Plain("admin", sasl.sasl.password))


@pytest.fixture
def sasl_scram_256(sasl: ConnectionSettings) -> ConnectionSettings:
    assert isinstance(sasl.sasl, ScramSha512)
    return replace(sasl, sasl=ScramSha256("admin", sasl.sasl.password))


@pytest.fixture
def scram_512_tls(scram_tls: ConnectionSettings) -> ConnectionSettings:
    return replace(scram_tls, sasl=ScramSha512("scram", "secret"))


@pytest.fixture(params=PROTOCOLS)
def any_settings(request: pytest.FixtureRequest) -> ConnectionSettings:
    settings: ConnectionSettings = request.getfixturevalue(request.param)
    return settings


def test_both_drivers_connect_with_the_same_settings(
    any_settings: ConnectionSettings, has: Has
) -> None:
    """S01, K117-04: one value serves both drivers; the topic is made by the one, seen by both."""
    description = preflight(any_settings)
    assert bool(description.version) is has(FEATURES)
    name = f"made-by-{uuid.uuid4().hex[:8]}"
    with closing(open_cluster(any_settings)) as cluster:

        def is_made() -> bool:  # sent again as an apply does: a busy broker may cut us off
            if name not in cluster.topics():
                cluster.create_topics([NewTopic(name, 1, 1)])
            return name in cluster.topics()

        soon(is_made)
        assert cluster.delete_topics([TopicRef(name)]) == {name: None}


def test_settings_in_librdkafkas_words_connect_too(
    any_settings: ConnectionSettings, tmp_path: Path
) -> None:
    """K117-02: the sandbox writes files for Java clients; here is the other style."""
    written = librdkafka_settings(any_settings)
    if isinstance(any_settings.sasl, ClientCredentials):
        written |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": any_settings.sasl.token_url,
            "sasl.oauthbearer.client.id": any_settings.sasl.client_id,
            "sasl.oauthbearer.client.secret": any_settings.sasl.client_secret,
        }
    again = settings_from(written, tmp_path)
    assert again == any_settings
    assert preflight(again).cluster_id


@pytest.mark.needs(TOKEN_VALIDATOR)
def test_a_token_says_who_we_are(oauth: ConnectionSettings, oauth_tls: ConnectionSettings) -> None:
    """S01: OAUTHBEARER, with and without TLS."""
    assert preflight(oauth).principal == preflight(oauth_tls).principal == "User:ci"


@pytest.mark.needs(TOKEN_VALIDATOR)
def test_a_token_that_brokers_do_not_take_is_told(
    oauth_tls: ConnectionSettings, tokens: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "audience", "payroll")
    error = told(oauth_tls)
    assert isinstance(error, AuthError)
    assert error.detail.endswith(
        'refused the login of User:ci by OAUTHBEARER: {"status":"invalid_token"}.'
    )
    assert "audience" in error.hint


@pytest.mark.needs(TOKEN_VALIDATOR)
def test_a_client_that_gets_no_token_is_told_before_any_broker_refuses(
    oauth_tls: ConnectionSettings,
) -> None:
    assert isinstance(oauth_tls.sasl, ClientCredentials)
    error = told(replace(oauth_tls, sasl=replace(oauth_tls.sasl, client_secret="wrong-secret")))
    assert isinstance(error, AuthError)
    assert "gave the client ci no token: HTTP 401" in error.detail
    assert "wrong-secret" not in f"{error.detail} {error.hint}"


@pytest.mark.needs(SCRAM)
@pytest.mark.parametrize("user", ["admin", "alice", "bob", "ci"])
def test_every_sasl_mechanism_logs_in(sasl_broker: Sandbox, tmp_path: Path, user: str) -> None:
    settings = settings_from(sasl_broker.client_properties(user), tmp_path)
    assert preflight(settings).principal == f"User:{user}"
    assert isinstance(settings.sasl, Plain | ScramSha256 | ScramSha512)
    for mechanism in (Plain, ScramSha256, ScramSha512):
        same = mechanism(user, settings.sasl.password)
        assert preflight(replace(settings, sasl=same)).principal == f"User:{user}"
