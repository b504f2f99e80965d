"""Tokens: asked of an endpoint that really listens, signed for AWS, kept while they hold."""

import base64
import json
import ssl
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme

from kplan.kafka.settings.connection import (
    AwsMskIam,
    ClientCredentials,
    ConnectionSettings,
    Endpoint,
)
from kplan.kafka.token import Token, TokenCache, token_claims
from kplan.kafka.transaction import librdkafka_settings
from kplan.kafka.wire import sasl
from kplan.model.errors import AuthError, KplanError, UnreachableError
from tests.token_endpoint import TokenEndpoint, base64url, token_endpoint

SECRET = "hush-hush"


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with token_endpoint({"ci": SECRET}) as endpoint:
        yield endpoint


def client_of(endpoint: TokenEndpoint) -> ClientCredentials:
    return ClientCredentials(endpoint.url, "ci", SECRET)


def refusal(client: ClientCredentials) -> KplanError:
    with pytest.raises(KplanError) as caught:
        TokenCache(client).get_token(5)
    assert SECRET not in f"{caught.value.detail} {caught.value.hint}"
    return caught.value


def test_a_token_is_fetched_with_the_clients_credentials(endpoint: TokenEndpoint) -> None:
    """S01: OIDC client credentials."""
    tokens = TokenCache(replace(client_of(endpoint), scope="kafka admin"))
    assert tokens.principal == ""
    token = tokens.get_token(5)
    assert token_claims(token.text)["sub"] == "ci"
    assert tokens.principal == token.principal == "User:ci"
    assert endpoint.requests == [
        {"grant_type": ["client_credentials"], "scope": ["kafka admin"]},
    ]
    assert token.text not in repr(token)


def test_a_token_is_kept_for_most_of_its_life(endpoint: TokenEndpoint) -> None:
    now = datetime.now(UTC).timestamp()
    clock = [now]
    tokens = TokenCache(client_of(endpoint), lambda: clock[0])
    first = tokens.get_token(5)
    clock[0] = now + endpoint.lifetime_s * 0.7
    assert tokens.get_token(5) is first
    clock[0] = now + endpoint.lifetime_s * 0.9
    assert tokens.get_token(5) is not first
    assert len(endpoint.requests) == 2


def test_a_wrong_secret_is_told_in_the_endpoints_words(endpoint: TokenEndpoint) -> None:
    error = refusal(replace(client_of(endpoint), client_secret=SECRET + "x"))
    assert isinstance(error, AuthError)
    assert error.detail == (
        f"{endpoint.url} gave the client ci no token: HTTP 401: invalid_client: Unknown client."
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((200, b"<html>"), "answered without a token."),
        ((200, b'{"access_token": 5}'), "answered without a token."),
        ((200, b'{"access_token": "a\\u0001b"}'), "has invalid characters."),
        ((302, b""), "gave the client ci no token: HTTP 302."),
        ((500, b"\xff"), "gave the client ci no token: HTTP 500."),
    ],
    ids=["page", "number", "control", "redirect", "error"],
)
def test_an_endpoint_that_gives_no_token_is_told(
    endpoint: TokenEndpoint, answer: tuple[int, bytes], told: str
) -> None:
    """A redirect is not followed: the secret is for the endpoint that was given."""
    endpoint.answers.append(answer)
    assert refusal(client_of(endpoint)).detail.endswith(told)
    assert len(endpoint.requests) == 1


def test_a_token_that_is_no_web_token_holds_as_long_as_is_said(endpoint: TokenEndpoint) -> None:
    endpoint.answers.append((200, b'{"access_token": "opaque", "expires_in": 60}'))
    found = TokenCache(client_of(endpoint), lambda: 1000.0).get_token(5)
    assert found == Token("opaque", 1060.0)


def test_an_expired_token_is_refused_here(endpoint: TokenEndpoint) -> None:
    endpoint.lifetime_s = -10
    assert "has expired" in refusal(client_of(endpoint)).detail


def test_an_endpoint_that_does_not_answer_is_told(endpoint: TokenEndpoint) -> None:
    error = refusal(replace(client_of(endpoint), token_url="http://127.0.0.1:9/token"))
    assert isinstance(error, UnreachableError)
    assert error.detail == ("http://127.0.0.1:9/token did not return a token: Connection refused.")


def test_an_endpoint_of_a_foreign_authority_is_not_given_the_secret() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with token_endpoint({"ci": SECRET}, context) as endpoint:
        assert "CERTIFICATE_VERIFY_FAILED" in refusal(client_of(endpoint)).detail
        assert endpoint.requests == []
        elsewhere = client_of(endpoint).token_url.replace("127.0.0.1", "localhost")
        misnamed = replace(
            client_of(endpoint), token_url=elsewhere, ca=authority.cert_pem.bytes().decode()
        )
        assert refusal(misnamed).hint == "Use the host name in the certificate."
        trusted = replace(client_of(endpoint), ca=authority.cert_pem.bytes().decode())
        assert TokenCache(trusted).get_token(5).principal == "User:ci"


def test_names_and_secrets_may_be_encoded_before_they_are_joined(endpoint: TokenEndpoint) -> None:
    """KIP-1025: what RFC 6749, 2.3.1 asks for, and few endpoints want."""
    endpoint.clients = {"a%3Ab": "c+d"}
    made = replace(client_of(endpoint), client_id="a:b", client_secret="c d", is_url_encoded=True)
    assert TokenCache(made).get_token(5).text


def test_another_claim_may_hold_our_name() -> None:
    claims = base64url(json.dumps({"sub": "1", "azp": "ci"}).encode())
    with token_endpoint({"ci": SECRET}) as endpoint:
        body = json.dumps({"access_token": f"a.{claims}.c"}).encode()
        endpoint.answers.append((200, body))
        assert (
            TokenCache(replace(client_of(endpoint), subject_claim="azp")).get_token(5).principal
            == "User:ci"
        )


@pytest.mark.parametrize("text", ["", "a.b", "a.!.c", "a.W10.c", "a._w.c"])
def test_what_is_no_web_token_has_no_claims(text: str) -> None:
    assert token_claims(text) == {}


def test_a_token_goes_to_the_broker_with_its_extensions() -> None:
    """RFC 7628 and KIP-342."""
    exchange = sasl.bearer_exchange(Token("abc", 9e9, "", (("logicalCluster", "lkc-1"),)))
    assert exchange.auth_bytes() == b"n,,\x01auth=Bearer abc\x01logicalCluster=lkc-1\x01\x01"
    exchange.receive(b'{"status":"invalid_token"}')
    assert exchange.auth_bytes() == b"\x01"
    assert not exchange.is_done()


KEYS = AwsMskIam("eu-west-1", access_key="AKIDEXAMPLE", secret_key=SECRET, session_token="session")


def test_a_login_to_msk_is_signed_without_asking_anyone() -> None:
    """S01: what the broker of MSK gets is a signed URL; its fields are those of SigV4."""
    before = datetime.now(UTC).timestamp()
    token = TokenCache(KEYS).get_token(5)
    url = urlsplit(base64.urlsafe_b64decode(token.text + "=" * (-len(token.text) % 4)).decode())
    said = parse_qs(url.query)
    assert (url.scheme, url.hostname) == ("https", "kafka.eu-west-1.amazonaws.com")
    assert said["Action"] == ["kafka-cluster:Connect"]
    assert said["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert said["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/")
    assert said["X-Amz-Credential"][0].endswith("/eu-west-1/kafka-cluster/aws4_request")
    assert said["X-Amz-Security-Token"] == ["session"]
    assert len(said["X-Amz-Signature"][0]) == 64
    assert before + 890 < token.expires_at_s < before + 910
    assert SECRET not in f"{KEYS!r} {token!r} {url.geturl()}"


def test_credentials_may_stand_in_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[team]\naws_access_key_id = AKIDTEAM\naws_secret_access_key = {SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    text = TokenCache(AwsMskIam("eu-west-1", profile="team")).get_token(5).text
    assert b"AKIDTEAM" in base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    with pytest.raises(AuthError, match="made no token"):
        TokenCache(AwsMskIam("eu-west-1", profile="nobody")).get_token(5)


def test_no_credentials_of_aws_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(AuthError, match="no credentials were found"):
        TokenCache(AwsMskIam("eu-west-1")).get_token(5)


def test_a_missing_signer_is_told_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(KplanError) as caught:
        TokenCache(KEYS).get_token(5)
    assert caught.value.hint == "Install kplan[msk]."


@pytest.mark.parametrize("mechanism", [KEYS, ClientCredentials("http://a/", "ci", SECRET)])
def test_librdkafka_is_told_the_mechanism_and_no_secret(
    mechanism: AwsMskIam | ClientCredentials,
) -> None:
    """Both drivers get their tokens from kplan."""
    written = librdkafka_settings(ConnectionSettings((Endpoint("a", 1),), sasl=mechanism))
    assert written["sasl.mechanism"] == "OAUTHBEARER"
    assert SECRET not in str(written)
    assert SECRET not in repr(mechanism)
