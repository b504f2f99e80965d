"""TLS and SASL when they go wrong: against a broker of our own making."""

import base64
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from kplan.kafka.settings.connection import (
    ConnectionSettings,
    Endpoint,
    Plain,
    ScramSha256,
    Tls,
)
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import open_connection
from kplan.kafka.wire.driver import preflight
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import AuthError, UnreachableError
from tests.unit.kafka.wire.fake_broker import Act, FakeBroker, fake_broker, settings_for


@dataclass
class Authority:
    """A certificate authority with a server and a client."""

    ca: str
    server: ssl.SSLContext
    certificate: str
    key: str
    locked_key: str


@pytest.fixture(scope="module")
def authority() -> Authority:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    client = authority.issue_cert("alice@example.org")
    key = load_pem_private_key(client.private_key_pem.bytes(), None)
    locked = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"open sesame")
    )
    return Authority(
        authority.cert_pem.bytes().decode(),
        context,
        "".join(each.bytes().decode() for each in client.cert_chain_pems),
        client.private_key_pem.bytes().decode(),
        locked.decode(),
    )


@pytest.fixture
def broker(authority: Authority) -> Iterator[FakeBroker]:
    authority.server.verify_mode = ssl.CERT_NONE
    with fake_broker(tls=authority.server) as broker:
        yield broker


@pytest.fixture
def strict_broker(authority: Authority) -> Iterator[FakeBroker]:
    authority.server.verify_mode = ssl.CERT_REQUIRED
    with fake_broker(tls=authority.server) as broker:
        yield broker


def settings(broker: FakeBroker, tls: Tls | None, host: str = "127.0.0.1") -> ConnectionSettings:
    return replace(settings_for(Endpoint(host, broker.port)), tls=tls)


def refusal(of: ConnectionSettings) -> str:
    with pytest.raises(AuthError) as caught:
        preflight(of)
    assert caught.value.hint
    return caught.value.detail


def test_a_trusted_broker_is_spoken_to(authority: Authority, broker: FakeBroker) -> None:
    assert preflight(settings(broker, Tls(authority.ca))).cluster_id == "fake"


def test_an_untrusted_broker_is_not_spoken_to(broker: FakeBroker) -> None:
    for tls in (Tls(), Tls(trustme.CA().cert_pem.bytes().decode())):
        assert "is not trusted (CERTIFICATE_VERIFY_FAILED" in refusal(settings(broker, tls))
    assert broker.asked == []
    assert preflight(settings(broker, Tls(is_verified=False))).cluster_id == "fake"


def test_a_broker_of_another_name_is_not_spoken_to(
    authority: Authority, broker: FakeBroker
) -> None:
    elsewhere = settings(broker, Tls(authority.ca), host="localhost")
    told = refusal(elsewhere)
    assert "is for another name" in told
    assert ".)" not in told
    unchecked = replace(elsewhere, tls=Tls(authority.ca, is_host_checked=False))
    assert preflight(unchecked).cluster_id == "fake"


def test_a_client_certificate_lets_us_in(authority: Authority, strict_broker: FakeBroker) -> None:
    plain = Tls(authority.ca, authority.certificate, authority.key)
    locked = replace(plain, key=authority.locked_key, key_password="open sesame")
    for tls in (plain, locked):
        assert preflight(settings(strict_broker, tls)).cluster_id == "fake"


def test_a_missing_client_certificate_is_told(
    authority: Authority, strict_broker: FakeBroker
) -> None:
    told = refusal(settings(strict_broker, Tls(authority.ca)))
    assert told.endswith("ended the TLS handshake: certificate required.")


def test_a_refused_client_certificate_that_expired_is_told_with_its_end(
    authority: Authority, strict_broker: FakeBroker
) -> None:
    begin, end = datetime(2025, 1, 1), datetime(2026, 1, 1, 6, 30)  # noqa: DTZ001 - trustme's are naive
    own = trustme.CA().issue_cert("alice@example.org", not_before=begin, not_after=end)
    certificate = own.cert_chain_pems[0].bytes().decode()
    expired = Tls(authority.ca, certificate, own.private_key_pem.bytes().decode())
    told = refusal(settings(strict_broker, expired))
    assert "ended the TLS handshake: " in told
    assert told.endswith(". The client certificate expired on 2026-01-01 at 06:30:00 UTC.")


def test_a_refused_client_certificate_that_is_valid_is_not_blamed_for_its_time(
    authority: Authority, strict_broker: FakeBroker
) -> None:
    own = trustme.CA().issue_cert("alice@example.org")
    certificate = own.cert_chain_pems[0].bytes().decode()
    unknown = Tls(authority.ca, certificate, own.private_key_pem.bytes().decode())
    assert "expired" not in refusal(settings(strict_broker, unknown))


@pytest.mark.parametrize(
    ("begin", "end", "why"),
    [(2024, 2025, "certificate has expired"), (2090, 2091, "certificate is not yet valid")],
)
def test_no_authority_is_asked_for_where_the_time_of_a_certificate_is_wrong(
    begin: int, end: int, why: str
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(
        "127.0.0.1",
        not_before=datetime(begin, 1, 1),  # noqa: DTZ001 - trustme's are naive
        not_after=datetime(end, 1, 1),  # noqa: DTZ001
    ).configure_cert(context)
    trusted = Tls(authority.cert_pem.bytes().decode())
    with fake_broker(tls=context) as broker, pytest.raises(AuthError) as caught:
        preflight(settings(broker, trusted))
    assert f"(CERTIFICATE_VERIFY_FAILED: {why})." in caught.value.detail
    assert caught.value.hint
    assert caught.value.hint.startswith("Renew the certificate of the server")


def test_a_key_that_cannot_be_used_is_told_without_a_prompt(
    authority: Authority, broker: FakeBroker
) -> None:
    tls = Tls(authority.ca, authority.certificate, authority.locked_key)
    for unusable in (tls, replace(tls, key_password="wrong"), replace(tls, key="garbage")):
        assert "cannot be used" in refusal(settings(broker, unusable))
    other = trustme.CA().issue_cert("x.example.org").private_key_pem.bytes().decode()
    with pytest.raises(AuthError) as caught:
        preflight(settings(broker, replace(tls, key=other)))
    assert caught.value.detail == "The private key does not belong to the client certificate."
    assert "passphrase" not in caught.value.hint


def test_an_authority_that_is_none_is_told(broker: FakeBroker) -> None:
    assert "is not a certificate in PEM form" in refusal(settings(broker, Tls("garbage")))


def test_a_tls_port_spoken_to_in_plaintext_is_told(
    broker: FakeBroker, strict_broker: FakeBroker
) -> None:
    for each in (broker, strict_broker):
        told = refusal(settings(each, None))
        assert told.endswith("uses TLS, and TLS is disabled for this connection.")


def test_a_plaintext_port_spoken_to_in_tls_is_told() -> None:
    with fake_broker() as plaintext:
        told = refusal(settings(plaintext, Tls()))
        unasked = refusal(settings(plaintext, Tls(is_default=True)))
    assert told.endswith("does not use TLS, and TLS is enabled here.")
    assert unasked.endswith("does not use TLS, and connections use TLS unless told otherwise.")


def test_no_login_goes_to_a_node_elsewhere_without_tls() -> None:
    """Brokers name one another: what was configured may be loopback, and they are not."""
    far = Endpoint("192.0.2.1", 9092)
    given = ConnectionSettings((Endpoint("localhost", 1),), sasl=Plain("u", "p"))
    with pytest.raises(AuthError, match="would go there without TLS"):
        open_connection(far, given, None, None, Deadline.after(1))


def scram(broker: FakeBroker, last: bytes) -> ConnectionSettings:
    """Let the broker go through a SCRAM exchange with a signature that it cannot know."""
    broker.on(messages.SASL_HANDSHAKE, messages.SASL_HANDSHAKE.response(mechanisms=[]))
    salt = base64.b64encode(b"salt").decode()

    def first(request: Message) -> Message:
        nonce = bytes(request.auth_bytes).decode().rpartition("r=")[2]
        words = f"r={nonce}more,s={salt},i=4096"
        return messages.SASL_AUTHENTICATE.response(auth_bytes=words.encode())

    final = messages.SASL_AUTHENTICATE.response(auth_bytes=last)
    broker.on(messages.SASL_AUTHENTICATE, first, final)
    return replace(settings_for(broker.endpoint), sasl=ScramSha256("alice", "secret"))


@pytest.mark.parametrize("last", [b"v=" + base64.b64encode(b"forged"), b"e=other", b"garbage"])
def test_a_broker_that_does_not_know_our_password_is_not_believed(last: bytes) -> None:
    """RFC 5802: the server proves itself too."""
    with fake_broker() as broker, pytest.raises(AuthError, match="does not prove that it knows"):
        preflight(scram(broker, last))


def test_a_listener_that_wants_a_login_is_told_with_its_offer() -> None:
    with fake_broker() as broker:
        broker.on(messages.DESCRIBE_CLUSTER, Act.CLOSE)
        offer = messages.SASL_HANDSHAKE.response(error_code=33, mechanisms=["PLAIN", "A"])
        broker.on(messages.SASL_HANDSHAKE, offer)
        told = refusal(settings(broker, None))
    assert told.endswith("wants a SASL login, and kplan has none. It offers: A, PLAIN.")


def test_a_listener_that_takes_no_login_is_told() -> None:
    with fake_broker() as broker:
        settings = replace(settings_for(broker.endpoint), sasl=ScramSha256("a", "b"))
        assert refusal(settings).endswith("takes no SASL login.")


def test_a_port_that_never_answers_is_told_within_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        endpoint = Endpoint("127.0.0.1", mute.getsockname()[1])
        for tls in (None, Tls()):
            with pytest.raises(UnreachableError, match="accepted the connection, but no answer"):
                preflight(replace(settings_for(endpoint), tls=tls))
