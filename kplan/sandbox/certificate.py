"""Throw-away certificates: PKCS #12 for brokers, PEM for users (KIP-651)."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import trustme  # noqa: TID253 - this module is imported only when a TLS sandbox starts
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from kplan.sandbox.credential import BROKER, Credentials, User
from kplan.sandbox.runtime import write_private_file

ORGANIZATION = "kplan sandbox"


def make_tls_credentials(folder: Path, names: tuple[str, ...]) -> Credentials:
    """Make an authority, a certificate for the brokers and one for each user, written to `folder`.

    Principals are whole distinguished names, as Kafka builds them by default.
    """
    authority, trusted = _make_authority(folder)
    for name in names:
        write_private_file(folder / f"{name}.pem", _issue_pem(authority, name))
    users = tuple(
        User(
            name,
            _principal(name),
            {
                "security.protocol": "SSL",
                **_key_properties(folder / f"{name}.pem"),
                **_trust_properties(trusted),
            },
        )
        for name in names
    )
    server = {
        "ssl.client.auth": "required",
        **_trust_properties(trusted),
        **_write_broker_store(folder / f"{BROKER}.p12", authority),
    }
    return Credentials("SSL", users, (users[0].principal, _principal(BROKER)), server)


def add_tls(sasl: Credentials, folder: Path) -> Credentials:
    """Put TLS around SASL, with an authority and a certificate for the brokers in `folder`."""
    authority, trusted = _make_authority(folder)
    trust, protocol = _trust_properties(trusted), "SASL_SSL"
    client = {"security.protocol": protocol, **trust}
    server = {**sasl.server, **trust, **_write_broker_store(folder / f"{BROKER}.p12", authority)}
    users = tuple(replace(each, client={**each.client, **client}) for each in sasl.users)
    return replace(sasl, protocol=protocol, users=users, server=server)


def _make_authority(folder: Path) -> tuple[trustme.CA, Path]:
    """Make an authority, and write its certificate to the folder."""
    authority, trusted = trustme.CA(organization_name=ORGANIZATION), folder / "ca.pem"
    write_private_file(trusted, authority.cert_pem.bytes().decode())
    return authority, trusted


def _write_broker_store(file: Path, authority: trustme.CA) -> Mapping[str, str]:
    """Write the key store of the brokers, and return its properties.

    Kafka 2.8 takes no PEM file with a key that has no password.
    """
    issued, password = _issue_certificate(authority, BROKER), secrets.token_urlsafe(18)
    own, *chain = (load_pem_x509_certificate(each.bytes()) for each in issued.cert_chain_pems)
    key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    sealed = BestAvailableEncryption(password.encode())
    store = pkcs12.serialize_key_and_certificates(b"broker", key, own, chain or None, sealed)  # type: ignore[arg-type] # not a Diffie-Hellman key
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:  # noqa: PTH123 - private from the start
        handle.write(store)
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(file),
        "ssl.keystore.password": password,
        "ssl.key.password": password,
    }


def _issue_certificate(authority: trustme.CA, name: str) -> trustme.LeafCert:
    return authority.issue_cert(
        "127.0.0.1",
        "localhost",
        common_name=name,
        organization_name=ORGANIZATION,
        organization_unit_name="throw-away",
    )


def _issue_pem(authority: trustme.CA, name: str) -> str:
    """Return key and chain in one file; Kafka reads keys in PKCS#8 form only."""
    issued = _issue_certificate(authority, name)
    key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pkcs8.decode() + "".join(each.bytes().decode() for each in issued.cert_chain_pems)


def _principal(name: str) -> str:
    return f"User:CN={name},OU=throw-away,O={ORGANIZATION}"


def _key_properties(store: Path) -> Mapping[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}


def _trust_properties(trusted: Path) -> Mapping[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(trusted)}
