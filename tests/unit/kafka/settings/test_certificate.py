"""The principal of a client certificate."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from kplan.kafka.settings.certificate import certificate_subject
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint, Tls


def certificate(name: x509.Name) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(
        issuer_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")]),
        subject_name=name,
        public_key=key.public_key(),
        serial_number=2**150 + 1,
        not_valid_before=now,
        not_valid_after=now + dt.timedelta(days=1),
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def name(*pairs: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in pairs])


def test_a_subject_is_written_as_java_writes_it() -> None:
    """RFC 2253: the last part first, no blanks, as `X500Principal.getName()` has it."""
    written = certificate_subject(
        certificate(
            name(
                (NameOID.COUNTRY_NAME, "DE"),
                (NameOID.STATE_OR_PROVINCE_NAME, "Bayern"),
                (NameOID.LOCALITY_NAME, "M\u00fcnchen"),
                (NameOID.ORGANIZATION_NAME, "Acme, Inc."),
                (NameOID.ORGANIZATIONAL_UNIT_NAME, "a" * 60),
                (NameOID.COMMON_NAME, "alice"),
            )
        )
    )
    assert written == f"CN=alice,OU={'a' * 60},O=Acme\\, Inc.,L=M\u00fcnchen,ST=Bayern,C=DE"


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        ("  lead", "\\ \\ lead"),
        ("trail ", "trail\\ "),
        ("in  side", "in  side"),
        ("a#b=c", "a\\#b\\=c"),
        ('a+b"c\\d<e>f;g,h', 'a\\+b\\"c\\\\d\\<e\\>f\\;g\\,h'),
        ("\u65e5\u672c", "\u65e5\u672c"),
        ("a\0b", "a\\00b"),
    ],
    ids=repr,
)
def test_what_means_something_in_a_name_is_escaped(plain: str, written: str) -> None:
    """As printed by `X500Principal.getName()` of Java 17."""
    assert certificate_subject(certificate(name((NameOID.COMMON_NAME, plain)))) == f"CN={written}"


def test_an_attribute_java_has_no_word_for_is_written_as_a_number() -> None:
    mail = certificate(name((NameOID.EMAIL_ADDRESS, "a@b.c"), (NameOID.COMMON_NAME, "x")))
    assert certificate_subject(mail) == "CN=x,1.2.840.113549.1.9.1=#1605614062" + b".c".hex()


def test_attributes_of_one_level_stand_side_by_side() -> None:
    pair = x509.RelativeDistinguishedName(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "x"),
            x509.NameAttribute(NameOID.USER_ID, "y"),
        ]
    )
    assert sorted(certificate_subject(certificate(x509.Name([pair]))).split("+")) == [
        "CN=x",
        "UID=y",
    ]


def test_what_is_no_certificate_has_no_name() -> None:
    for text in ("", "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"):
        assert certificate_subject(text) == ""


def test_the_principal_is_told_from_the_settings() -> None:
    servers = (Endpoint("a", 1),)
    pem = certificate(name((NameOID.COMMON_NAME, "alice"), (NameOID.ORGANIZATION_NAME, "x")))
    assert ConnectionSettings(servers).principal == "User:ANONYMOUS"
    assert ConnectionSettings(servers, Tls()).principal == "User:ANONYMOUS"
    assert ConnectionSettings(servers, Tls(certificate=pem)).principal == "User:O=x,CN=alice"
    assert ConnectionSettings(servers, Tls(certificate="?")).principal == ""
