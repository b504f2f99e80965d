"""The installed command against a cluster that asks for a password."""

from pathlib import Path

import pytest

from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.e2e.actors import password
from tests.e2e.commands import kplan

pytestmark = pytest.mark.broker

CONFIGURATION = """
provider "kafka" {}
resource "kafka_topic" "t" {
  name               = "secured"
  partitions         = 1
  replication_factor = 1
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(CONFIGURATION, encoding="utf-8")
    return tmp_path


def test_a_properties_file_of_kafkas_own_tools_is_all_it_takes(
    folder: Path, sasl_broker: Sandbox
) -> None:
    file = properties_file(sasl_broker.folder, "admin")
    ran = kplan(folder, "plan", "-detailed-exitcode", env={"KPLAN_COMMAND_CONFIG": str(file)})
    assert ran.code == 2
    assert "as User:admin" in ran.out


def test_a_wrong_password_is_told_as_such(folder: Path, sasl_broker: Sandbox) -> None:
    right = properties_file(sasl_broker.folder, "admin").read_text(encoding="utf-8")
    wrong = folder / "wrong.properties"
    wrong.write_text(right.replace(password(sasl_broker, "admin"), "not-it"), encoding="utf-8")
    ran = kplan(folder, "plan", "-detailed-exitcode", env={"KPLAN_COMMAND_CONFIG": str(wrong)})
    assert ran.code == 7
    assert "Error: Connection refused by the cluster" in ran.err
    assert "admin" in ran.err


def test_a_password_is_in_no_output_no_log_and_no_file(folder: Path, sasl_broker: Sandbox) -> None:
    secret = password(sasl_broker, "admin")
    env = {
        "KPLAN_COMMAND_CONFIG": str(properties_file(sasl_broker.folder, "admin")),
        "KPLAN_LOG": "trace",
    }
    said = ""
    for typed in ("plan -out=p", "apply p", "show -json", "destroy -auto-approve"):
        ran = kplan(folder, *typed.split(), env=env)
        assert ran.code == 0, ran
        said += ran.out + ran.err
    assert secret not in said
    written = [each for each in folder.rglob("*") if each.is_file()]
    assert len(written) > 2
    assert all(secret.encode() not in each.read_bytes() for each in written)


def test_without_the_right_to_list_acls_nothing_is_planned_from_them(
    folder: Path, sasl_broker: Sandbox
) -> None:
    """An ACL listing without permission is no empty listing (P3)."""
    acl = """
resource "kafka_acl" "a" {
  resource_type       = "Topic"
  resource_name       = "secured"
  acl_principal       = "User:bob"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
    (folder / "acl.tf").write_text(acl, encoding="utf-8")
    file = properties_file(sasl_broker.folder, "alice")
    ran = kplan(folder, "plan", env={"KPLAN_COMMAND_CONFIG": str(file)})
    assert "kafka_acl.a" not in ran.out.partition("Plan:")[0]
    assert "kafka_acl objects could not be read" in " ".join(ran.out.split())


def provider(sandbox: Sandbox, arguments: str) -> str:
    """Write a configuration whose provider block has these arguments."""
    servers = ", ".join(f'"{each}"' for each in sandbox.bootstrap_servers.split(","))
    block = f'provider "kafka" {{\n  bootstrap_servers = [{servers}]\n{arguments}\n}}'
    return CONFIGURATION.replace('provider "kafka" {}', block)


@pytest.mark.parametrize("mechanism", ["scram-sha512", "SCRAM-SHA-256", "Plain", ""])
def test_the_names_of_sasl_mechanisms_are_those_of_terraforms_provider_and_kafkas_in_any_case(
    mechanism: str, folder: Path, sasl_broker: Sandbox
) -> None:
    login = f"""
  tls_enabled    = false
  sasl_mechanism = "{mechanism}"
  sasl_username  = "admin"
  sasl_password  = "{password(sasl_broker, "admin")}"
  timeout        = "30"
  kafka_version  = "2.7.0"
"""
    (folder / "main.tf").write_text(provider(sasl_broker, login), encoding="utf-8")
    ran = kplan(folder, "plan", "-detailed-exitcode")
    assert (ran.code, "as User:admin" in ran.out) == (2, True), ran.err


TLS = {
    "inline": (
        "ca_cert = <<EOT\n{ca}\nEOT\n"
        "client_cert = <<EOT\n{cert}\nEOT\n"
        "client_key = <<EOT\n{key}\nEOT"
    ),
    "a path in the argument": (
        'ca_cert = "ca.pem"\nclient_cert = "cert.pem"\nclient_key = "key.pem"'
    ),
    "the old arguments": (
        'ca_cert_file = "ca.pem"\nclient_cert_file = "cert.pem"\nclient_key_file = "key.pem"'
    ),
    "nothing verified": (
        'skip_tls_verify = true\nclient_cert = file("cert.pem")\nclient_key = file("key.pem")'
    ),
    "a key with a passphrase": (
        'ca_cert = "ca.pem"\nclient_cert = "cert.pem"\nclient_key = "locked.pem"\n'
        'client_key_passphrase = "pass phrase"'
    ),
}


@pytest.mark.parametrize("way", TLS)
def test_certificates_are_given_in_every_way_of_terraforms_provider_and_are_written_nowhere(
    way: str, folder: Path, tls_broker: Sandbox
) -> None:
    properties = tls_broker.client_properties("admin")
    both = Path(properties["ssl.keystore.location"]).read_text(encoding="utf-8")
    at = both.index("-----BEGIN CERTIFICATE-----")
    pems = {
        "ca": Path(properties["ssl.truststore.location"]).read_text(encoding="utf-8"),
        "key": both[:at],
        "cert": both[at:],
    }
    for name, pem in {**pems, "locked": locked(pems["key"])}.items():
        (folder / f"{name}.pem").write_text(pem, encoding="utf-8")
    arguments = TLS[way].format(**pems) if way == "inline" else TLS[way]
    (folder / "main.tf").write_text(provider(tls_broker, arguments), encoding="utf-8")
    ran = kplan(folder, "plan", "-detailed-exitcode", "-out=p", "-json")
    assert ran.code == 2, ran.err
    assert "PRIVATE KEY" not in ran.out + ran.err
    assert b"PRIVATE KEY" not in (folder / "p").read_bytes()


def locked(key: str) -> str:
    """Encrypt a private key."""
    from cryptography.hazmat.primitives import serialization as form

    way = form.BestAvailableEncryption(b"pass phrase")
    found = form.load_pem_private_key(key.encode(), None)
    return found.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, way).decode()
