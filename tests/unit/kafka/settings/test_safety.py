"""Where credentials may go: what a block cannot do with those of the environment."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kplan.kafka.settings.connection import Endpoint
from tests.unit.kafka.settings.test_resolver import problems, settings

ENVIRONMENT = {
    "KPLAN_BOOTSTRAP_SERVERS": "kafka-1:9092,kafka-2:9092",
    "KPLAN_SASL_MECHANISM": "SCRAM-SHA-512",
    "KPLAN_SASL_USERNAME": "ci",
    "KPLAN_SASL_PASSWORD": "secret",
}
PLAIN = {"sasl_mechanism": "plain", "sasl_username": "u", "sasl_password": "p"}


def codes(arguments: Mapping[str, object], environ: Mapping[str, str] | None = None) -> list[str]:
    return [each.partition(" ")[0] for each in problems(arguments, environ)]


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True), ("LOCALHOST.", True), ("127.0.0.1", True), ("127.9.9.9", True),
        ("::1", True), ("kafka-1", False), ("10.0.0.1", False),
        ("localhost.example.org", False), ("127.0.0.1.example.org", False),
    ],
)  # fmt: skip
def test_loopback_is_told_by_name_or_address(host: str, is_here: bool) -> None:
    assert Endpoint(host, 1).is_loopback is is_here


@pytest.mark.parametrize("mechanism", ["plain", "scram-sha256", "scram-sha512"])
def test_a_login_over_a_network_without_tls_is_refused(mechanism: str) -> None:
    block = {
        **PLAIN, "sasl_mechanism": mechanism, "tls_enabled": False,
        "bootstrap_servers": ["localhost:1", "kafka-1:9092"],
    }  # fmt: skip
    (told,) = problems(block)
    assert told.startswith("KP309")
    assert "kafka-1:9092 without TLS" in told
    assert settings({**block, "allow_plaintext_sasl": True}).allows_plaintext_login
    assert settings({**block, "bootstrap_servers": ["localhost:1"]}).sasl is not None


def test_a_login_of_the_environment_needs_the_leave_of_the_environment() -> None:
    environ = {**ENVIRONMENT, "KPLAN_TLS_ENABLED": "false"}
    assert codes({}, environ) == ["KP309"]
    assert codes({"allow_plaintext_sasl": True}, environ) == ["KP309"]
    assert settings({}, {**environ, "KPLAN_ALLOW_PLAINTEXT_SASL": "true"}).tls is None


def test_a_block_cannot_send_the_password_of_the_environment_elsewhere() -> None:
    """Review B2: the block of a pull request named a server of its author's."""
    (told,) = problems({"bootstrap_servers": ["evil:9092"]}, ENVIRONMENT)
    assert told.startswith("KP310 evil:9092 is not among the servers of KPLAN_BOOTSTRAP_SERVERS.")
    assert "those of KPLAN_SASL_PASSWORD" in told
    assert codes({"bootstrap_servers": ["kafka-1:9092", "evil:9092"]}, ENVIRONMENT) == ["KP310"]
    assert codes({"config": {"bootstrap.servers": "evil:1"}}, ENVIRONMENT) == ["KP310"]
    assert settings({"bootstrap_servers": ["kafka-2:9092"]}, ENVIRONMENT).sasl is not None


def test_a_file_that_the_block_names_is_the_blocks(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=evil:9092\nsecurity.protocol=SASL_SSL\n")
    assert codes({"properties_file": str(file)}, ENVIRONMENT) == ["KP310"]
    environ = {**ENVIRONMENT, "KPLAN_COMMAND_CONFIG": str(file)}
    assert settings({}, environ).bootstrap_servers == (Endpoint("evil", 9092),)


@pytest.mark.parametrize(
    ("arguments", "codes_found"),
    [
        ({"sasl_mechanism": "plain"}, ["KP310"]),
        ({"sasl_mechanism": "scram-sha256"}, ["KP310"]),
        ({"sasl_mechanism": "scram-sha512"}, []),
        ({"config": {"sasl.mechanism": "PLAIN"}}, ["KP310"]),
        ({"tls_enabled": False}, ["KP309"]),
        ({"config": {"security.protocol": "SASL_PLAINTEXT"}}, ["KP309"]),
        ({"skip_tls_verify": True}, ["KP310"]),
        ({"config": {"enable.ssl.certificate.verification": "false"}}, ["KP310"]),
        ({"config": {"ssl.endpoint.identification.algorithm": "none"}}, ["KP310"]),
        ({"timeout": 30, "skip_tls_verify": False}, []),
    ],
)
def test_a_block_cannot_weaken_the_login_of_the_environment(
    arguments: Mapping[str, object], codes_found: list[str]
) -> None:
    if codes_found:
        assert codes(arguments, ENVIRONMENT) == codes_found
    else:
        assert settings(arguments, ENVIRONMENT).tls is not None


def test_what_the_environment_itself_allows_a_block_may_say_too() -> None:
    environ = {**ENVIRONMENT, "KPLAN_TLS_SKIP_VERIFY": "true"}
    assert settings({"skip_tls_verify": True}, environ).tls is not None


def test_credentials_of_the_block_go_where_the_block_says() -> None:
    block = {**PLAIN, "bootstrap_servers": ["other:9092"], "skip_tls_verify": True}
    assert settings(block, ENVIRONMENT).bootstrap_servers == (Endpoint("other", 9092),)


def test_another_token_endpoint_does_not_get_the_secret_of_the_environment() -> None:
    environ = {
        **ENVIRONMENT,
        "KPLAN_SASL_MECHANISM": "OAUTHBEARER",
        "KPLAN_SASL_TOKEN_URL": "https://sso/token",
    }
    assert codes({"sasl_token_url": "https://evil/token"}, environ) == ["KP310"]
    assert settings({"sasl_token_url": "https://sso/token"}, environ).sasl is not None


def test_a_reserved_connection_takes_nothing_from_a_block() -> None:
    environ = {**ENVIRONMENT, "KPLAN_CONNECTION": "environment"}
    assert settings({"timeout": 30}, environ).sasl is not None
    assert settings(None, environ).sasl is not None
    both = {"bootstrap_servers": ["kafka-1:9092"], "ca_cert": "", "sasl_username": "u"}
    assert codes(both, environ) == ["KP310", "KP310"]
    assert codes({}, {**environ, "KPLAN_CONNECTION": "env"}) == ["KP302"]
