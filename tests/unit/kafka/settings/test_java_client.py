import pytest

from kplan.kafka.settings.connection import ConnectionSettings, Endpoint, Plain, ScramSha512, Tls
from kplan.kafka.settings.java import java_client_settings

SERVER = (Endpoint("broker", 9092),)


def test_a_plain_connection_has_nothing_but_its_address() -> None:
    assert java_client_settings(ConnectionSettings(SERVER)) == {
        "bootstrap.servers": "broker:9092",
        "client.id": "kplan",
        "security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("login", "module"),
    [(Plain("ann", 'a"b\\c'), "plain.PlainLoginModule"), (ScramSha512("ann", "x"), "ScramLogin")],
)
def test_names_and_passwords_are_quoted_for_jaas(login: Plain | ScramSha512, module: str) -> None:
    written = java_client_settings(ConnectionSettings(SERVER, sasl=login))
    assert written["sasl.mechanism"] == login.name
    assert module in written["sasl.jaas.config"]
    if isinstance(login, Plain):
        assert written["sasl.jaas.config"].endswith('password="a\\"b\\\\c";')


def test_certificates_are_handed_over_as_text() -> None:
    """KIP-651."""
    tls = Tls(ca="CA", certificate="CERT", key="KEY", is_host_checked=False)
    written = java_client_settings(ConnectionSettings(SERVER, tls=tls))
    assert written["ssl.truststore.certificates"] == "CA"
    assert written["ssl.truststore.type"] == written["ssl.keystore.type"] == "PEM"
    assert written["ssl.endpoint.identification.algorithm"] == ""
