"""Where the services beside the brokers are, and what may be sent to them."""

from pathlib import Path

import pytest

from kplan.kafka.settings.connection import RestService
from tests.unit.kafka.settings.test_resolver import problems, settings

BLOCK = {"bootstrap_servers": ["localhost:1"]}
REGISTRY = {
    **BLOCK,
    "schema_registry_url": "https://registry:8081/",
    "schema_registry_username": "u",
    "schema_registry_password": "p",
}
ENVIRONMENT = {
    "KPLAN_SCHEMA_REGISTRY_URL": "https://registry:8081",
    "KPLAN_SCHEMA_REGISTRY_USERNAME": "u",
    "KPLAN_SCHEMA_REGISTRY_PASSWORD": "p",
}


def test_a_service_is_named_by_the_block_or_the_environment() -> None:
    expected = RestService("https://registry:8081", "u", "p")
    assert settings(REGISTRY).schema_registry == expected
    assert settings(BLOCK, ENVIRONMENT).schema_registry == expected
    theirs = {name.removeprefix("KPLAN_"): each for name, each in ENVIRONMENT.items()}
    assert settings(BLOCK, theirs).schema_registry == expected
    assert settings(BLOCK).schema_registry is None
    connect = {
        "KAFKA_CONNECT_URL": "http://localhost:8083",
        "KAFKA_CONNECT_BASIC_AUTH_USERNAME": "c",
        "KAFKA_CONNECT_BASIC_AUTH_PASSWORD": "d",
    }
    assert settings(BLOCK, connect).connect == RestService("http://localhost:8083", "c", "d")


def test_the_files_of_confluents_clients_are_read(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text(
        "bootstrap.servers=localhost:1\nschema.registry.url=https://registry\n"
        "basic.auth.credentials.source=USER_INFO\nbasic.auth.user.info=key:a:b\n"
    )
    found = settings({"properties_file": str(tmp_path / "client.properties")})
    assert found.schema_registry == RestService("https://registry", "key", "a:b")


def test_no_password_is_ever_shown() -> None:
    assert "'p'" not in repr(settings(REGISTRY))


@pytest.mark.parametrize(
    "url", ["registry:8081", "ftp://registry", "https://", "https://u:p@registry", "https://r/?a=1",
            "https://r:port", "https://[::1", "https://r r"],
)  # fmt: skip
def test_what_is_no_url_of_a_service_is_refused(url: str) -> None:
    (told,) = problems({**BLOCK, "connect_url": url})
    assert told.startswith("KP302")


def test_a_user_without_password_is_refused() -> None:
    lacking = {name: each for name, each in REGISTRY.items() if "password" not in name}
    (told,) = problems(lacking)
    assert told.startswith("KP303")


def test_a_password_over_a_network_without_tls_is_refused() -> None:
    plain = {**REGISTRY, "schema_registry_url": "http://registry:8081"}
    (told,) = problems(plain)
    assert told.startswith("KP309")
    assert settings({**plain, "allow_plaintext_sasl": True}).schema_registry
    assert settings({**plain, "schema_registry_url": "http://localhost:8081"}).schema_registry
    assert settings({**BLOCK, "schema_registry_url": "http://registry:8081"}).schema_registry


def test_a_password_of_the_environment_needs_the_leave_of_the_environment() -> None:
    environ = {**ENVIRONMENT, "KPLAN_SCHEMA_REGISTRY_URL": "http://registry:8081"}
    (told,) = problems({**BLOCK, "allow_plaintext_sasl": True}, environ)
    assert told.startswith("KP309")
    allowed = {**environ, "KPLAN_ALLOW_PLAINTEXT_SASL": "true"}
    assert settings(BLOCK, allowed).schema_registry


def test_a_block_cannot_send_the_password_of_the_environment_elsewhere() -> None:
    (told,) = problems({**BLOCK, "schema_registry_url": "https://evil"}, ENVIRONMENT)
    assert told.startswith("KP310")
    assert "KPLAN_SCHEMA_REGISTRY_PASSWORD" in told
    own = {**REGISTRY, "schema_registry_url": "https://other"}
    assert settings(own, ENVIRONMENT).schema_registry  # with its own password it may


def test_a_reserved_connection_reserves_the_services_too() -> None:
    environ = {"KPLAN_CONNECTION": "environment", "KPLAN_BOOTSTRAP_SERVERS": "localhost:1"}
    (told,) = problems({"connect_url": "https://connect"}, environ)
    assert told.startswith("KP310")


def test_an_unknown_variable_of_a_service_is_told() -> None:
    (told,) = problems(BLOCK, {"KPLAN_SCHEMA_REGISTRY_URI": "https://registry"})
    assert told.startswith("KP301")
