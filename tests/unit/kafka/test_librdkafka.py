"""Settings in librdkafka's words, held against librdkafka itself."""

import pytest

from kplan.kafka.settings.connection import (
    PASSWORD_MECHANISMS,
    ConnectionSettings,
    Endpoint,
    Plain,
    Timeouts,
    Tls,
    seconds,
)
from kplan.kafka.settings.key import LIBRDKAFKA_KEYS
from kplan.kafka.transaction import librdkafka_settings

SERVERS = (Endpoint("a", 1), Endpoint("::1", 2))


def test_plaintext_needs_little() -> None:
    assert librdkafka_settings(ConnectionSettings(SERVERS)) == {
        "bootstrap.servers": "a:1,[::1]:2",
        "client.id": "kplan",
        "security.protocol": "PLAINTEXT",
        "socket.connection.setup.timeout.ms": "10000",
        "socket.timeout.ms": "120000",
    }


def test_tls_and_sasl_are_told_in_full() -> None:
    tls = Tls("ca", "chain", "key", "open", is_verified=True, is_host_checked=False)
    written = librdkafka_settings(ConnectionSettings(SERVERS, tls, Plain("u", "p")))
    assert {key: value for key, value in written.items() if key.startswith(("s", "enable"))} == {
        "enable.ssl.certificate.verification": "true",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "p",
        "sasl.username": "u",
        "security.protocol": "SASL_SSL",
        "socket.connection.setup.timeout.ms": "10000",
        "socket.timeout.ms": "120000",
        "ssl.ca.pem": "ca",
        "ssl.certificate.pem": "chain",
        "ssl.endpoint.identification.algorithm": "none",
        "ssl.key.password": "open",
        "ssl.key.pem": "key",
    }


def test_times_stay_within_what_librdkafka_takes() -> None:
    timeouts = Timeouts(seconds(0.5), seconds(600))
    written = librdkafka_settings(ConnectionSettings(SERVERS, timeouts=timeouts))
    assert written["socket.connection.setup.timeout.ms"] == "1000"
    assert written["socket.timeout.ms"] == "300000"


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS, ids=lambda each: each.name)
def test_librdkafka_takes_what_is_written_for_it(mechanism: type[Plain]) -> None:
    from confluent_kafka.admin import AdminClient

    settings = ConnectionSettings(
        SERVERS,
        Tls(is_verified=False),
        mechanism("u", "p"),
        librdkafka={"retry.backoff.ms": "50"},
    )
    AdminClient({**librdkafka_settings(settings), "log_level": 0})


def test_librdkafka_knows_every_key_that_is_passed_to_it() -> None:
    from confluent_kafka.admin import AdminClient

    values = dict.fromkeys(sorted(LIBRDKAFKA_KEYS - {"debug"}), "5000") | {
        "broker.address.family": "v4",
        "client.dns.lookup": "use_all_dns_ips",
        "client.rack": "x",
        "enable.metrics.push": "true",
        "enable.random.seed": "true",
        "log.connection.close": "true",
        "log.thread.name": "true",
        "log_level": "0",
        "metadata.recovery.strategy": "none",
        "socket.keepalive.enable": "true",
        "socket.nagle.disable": "true",
        "topic.blacklist": "x",
        "topic.metadata.refresh.sparse": "true",
    }
    AdminClient({"bootstrap.servers": "a:1", **values})
