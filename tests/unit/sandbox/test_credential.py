"""Throw-away users, passwords and certificates."""

import re
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kplan.sandbox.launch import make_credentials
from kplan.sandbox.layout import Security


@pytest.mark.parametrize("security", list(Security))
def test_the_first_user_is_a_super_user_and_only_they_of_all_users(
    security: Security, tmp_path: Path
) -> None:
    made = make_credentials(security, tmp_path)
    allowed = [user.name for user in made.users if user.principal in made.super_users]
    assert allowed == [made.users[0].name]


@pytest.mark.parametrize("security", [Security.SASL, Security.TLS, Security.SASL_SSL])
def test_there_are_users_without_rights_to_try(security: Security, tmp_path: Path) -> None:
    names = [user.name for user in make_credentials(security, tmp_path).users]
    assert names == ["admin", "alice", "bob", "ci"]


def test_passwords_are_new_each_time_and_in_no_repr(tmp_path: Path) -> None:
    """Law 11: secrets are in no dataclass repr."""
    seen = set()
    for _ in range(2):
        made = make_credentials(Security.SASL, tmp_path)
        for user in made.users:
            (password,) = re.findall(r'password="([^"]+)"', user.client["sasl.jaas.config"])
            assert password not in repr(made)
            seen.add(password)
    assert len(seen) == 8


def test_every_mechanism_is_in_some_users_file(tmp_path: Path) -> None:
    users = make_credentials(Security.SASL, tmp_path).users
    assert {user.client["sasl.mechanism"] for user in users} == {
        "PLAIN",
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
    }


def test_every_user_may_use_every_mechanism(tmp_path: Path) -> None:
    made = make_credentials(Security.SASL, tmp_path)
    plain = made.server["listener.name.client.plain.sasl.jaas.config"]
    for user in made.users:
        assert f"user_{user.name}=" in plain
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            assert any(each.startswith(f"{mechanism}=[name={user.name},") for each in made.scram)


def test_certificates_are_private_files_that_kafka_can_read(tmp_path: Path) -> None:
    """KIP-651: PKCS#8 key and chain in one PEM file."""
    made = make_credentials(Security.TLS, tmp_path)
    for user in made.users:
        file = Path(user.client["ssl.keystore.location"])
        assert file.stat().st_mode & 0o777 == 0o600
        content = file.read_bytes()
        assert content.startswith(b"-----BEGIN PRIVATE KEY-----")
        load_pem_private_key(content, password=None)
        assert x509.load_pem_x509_certificates(content)


def test_with_sasl_ssl_users_have_passwords_and_trust_the_brokers(tmp_path: Path) -> None:
    made = make_credentials(Security.SASL_SSL, tmp_path)
    for user in made.users:
        assert user.client["security.protocol"] == made.protocol == "SASL_SSL"
        assert "password=" in user.client["sasl.jaas.config"]
        assert Path(user.client["ssl.truststore.location"]).exists()
        assert "ssl.keystore.location" not in user.client
    assert "ssl.client.auth" not in made.server


def test_a_principal_is_the_distinguished_name_of_the_certificate(tmp_path: Path) -> None:
    for user in make_credentials(Security.TLS, tmp_path).users:
        file = Path(user.client["ssl.keystore.location"])
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        assert user.principal == f"User:{certificate.subject.rfc4514_string()}"
