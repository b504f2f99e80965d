"""The installed command given bad input, and brokers that are not what it was told."""

import json
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import NewTopic
from kplan.model.errors import Refusal
from kplan.sandbox import fault
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.e2e.commands import kplan
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

LOGIN = """
  sasl_mechanism = "scram-sha512"
  sasl_username  = "admin"
  sasl_password  = "not-the-password"
"""


@pytest.mark.parametrize(
    ("cluster", "arguments", "told"),
    [
        ("tls_broker", 'ca_cert_file = "other.pem"', "is not trusted (CERTIFICATE_VERIFY_FAILED"),
        ("tls_broker", "tls_enabled = false", "uses TLS, and TLS is disabled for this connection"),
        ("broker", "tls_enabled = true", "does not use TLS, and TLS is enabled"),
        ("broker", f"tls_enabled = false{LOGIN}", "takes no SASL login"),
        ("sasl_broker", "tls_enabled = false", "wants a SASL login, and kplan has none"),
        ("sasl_broker", f"tls_enabled = false{LOGIN}", "refused the login of User:admin"),
    ],
)
def test_a_connection_that_does_not_fit_the_broker_is_told_precisely(
    cluster: str, arguments: str, told: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Where both client libraries say no more than that the time is up, after two minutes."""
    import trustme

    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    sandbox: Sandbox = request.getfixturevalue(cluster)
    place = Place(tmp_path, {})
    servers = json.dumps(sandbox.bootstrap_servers.split(","))
    block = f'provider "kafka" {{\n  bootstrap_servers = {servers}\n  {arguments}\n}}'
    place.edit('provider "kafka" {}', block)
    began = time.monotonic()
    err = place.fails("plan", "-detailed-exitcode", code=7)
    assert time.monotonic() - began < 30  # of the 120 s a request may take
    assert "Error: Connection refused by the cluster" in err
    assert told in err
    assert sandbox.bootstrap_servers in err
    assert "not-the-password" not in err


def test_one_of_several_addresses_is_enough(place: Place) -> None:
    place.env["KPLAN_BOOTSTRAP_SERVERS"] = f"127.0.0.1:1,{place.env['KPLAN_BOOTSTRAP_SERVERS']}"
    assert "Plan: 3 to add" in place.run("plan")


def test_a_broker_may_hang_come_back_and_die_between_two_runs(tmp_path: Path) -> None:
    with temporary_sandbox() as sandbox:
        place = Place(
            tmp_path,
            {"KPLAN_BOOTSTRAP_SERVERS": sandbox.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        )
        place.edit('provider "kafka" {}', 'provider "kafka" {\n  timeout = 3\n}')
        place.run("apply", "-auto-approve")
        before = (tmp_path / "state" / "kplan.json").read_bytes()
        fault.pause(sandbox.folder, 1)
        assert "no answer came in time" in place.fails("plan", "-detailed-exitcode", code=7)
        assert "no answer came in time" in place.fails("apply", "-auto-approve")
        fault.resume(sandbox.folder, 1)
        place.run("plan", "-detailed-exitcode")
        fault.kill(sandbox.folder, 1)
        assert "nothing listens there" in place.fails("drift")
        shown = kplan(tmp_path, "sandbox", "status", f"-folder={sandbox.folder}")
    assert shown.code == 1
    assert "# node 1: ended\n# The end of the log of node 1:\n" in shown.out
    assert "kafka.server" in shown.out
    assert (tmp_path / "state" / "kplan.json").read_bytes() == before


def test_topics_are_planned_on_a_cluster_without_authorizer_and_acls_are_not(
    tmp_path: Path, open_broker: Sandbox
) -> None:
    """K4-51: SECURITY_DISABLED is no empty list of ACLs."""
    place = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": open_broker.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
    )
    planned = place.ran("plan", "-detailed-exitcode", code=1)
    said = " ".join(planned.err.replace("│", " ").split())
    assert "Plan: 2 to add, 0 to change, 0 to destroy." in planned.out
    assert "kafka_acl.reader" not in planned.out
    assert "Warning: Kind could not be read" in said
    assert "the cluster has no authorizer" in said
    applied = place.run("apply", "-auto-approve", "-detailed-exitcode", code=4)
    assert "Resources: 2 added" in applied
    place.run("plan", "-target=kafka_topic.*", "-detailed-exitcode")
    place.run("destroy", "-auto-approve")


def test_what_the_broker_does_not_take_is_told_at_its_line_before_anything_is_done(
    place: Place,
) -> None:
    """One run tells an unknown key, a bad value and a collision with a topic that is there."""
    with closing(place.cluster()) as cluster:
        cluster.create_topics([NewTopic(f"{place.prefix}.live_one", 1, 1)])
        until(lambda: f"{place.prefix}.live_one" in cluster.topics())
    for name, config in (
        ("unknown", '"no.such.key" = "1"'),
        ("bad", '"segment.bytes" = "1000"'),  # old brokers take it
        ("live.one", '"retention.ms" = "1"'),
    ):
        block = f'name = "{place.prefix}.{name}"\n  config = {{ {config} }}'
        with (place.folder / "more.tf").open("a") as file:
            file.write(f'resource "kafka_topic" "{name.replace(".", "-")}" {{\n  {block}\n}}\n')
    err = place.fails("plan")
    assert err.count("Error:") == 3, err
    assert err.count("INVALID_CONFIG") == 2
    assert "Topic names collide" in err
    assert all(f"more.tf line {number}" in err for number in (3, 7, 10))
    assert "This plan cannot be applied" in place.run("apply", "-auto-approve", code=1)
    assert place.run("state", "list") == ""


def test_fewer_partitions_are_refused_and_nothing_is_recreated(place: Place) -> None:
    """Terraform's provider destroys the topic and creates it anew."""
    place.run("apply", "-auto-approve", "-var=partitions=6")
    ran = place.ran("apply", "-auto-approve", "-var=partitions=3", code=1)
    assert "Error: Partition count cannot shrink" in ran.err
    name = f"{place.prefix}.a"
    with closing(place.cluster()) as cluster:
        live = cluster.topics()[name]
    assert not isinstance(live, Refusal)
    assert len(live.assignment) == 6


def test_a_state_that_cannot_be_trusted_is_an_error_and_never_means_no_state(
    place: Place, sandbox_of: StartSandbox
) -> None:
    """Terraform takes an empty file for no state, and plans to create everything."""
    place.run("apply", "-auto-approve")
    file = place.folder / "state" / "kplan.json"
    whole = file.read_bytes()
    shutil.rmtree(place.folder / "state" / "backup", ignore_errors=True)
    damages: dict[str, Callable[[bytes], bytes]] = {
        "It is empty": lambda _: b"",
        "It is truncated or damaged": lambda text: text[: len(text) // 2],
        "Its format is 99": lambda text: text.replace(b'"format": 1', b'"format": 99'),
        "Its checksum is wrong": lambda text: text.replace(b'"retention.ms"', b'"retention.mx"'),
        "It is a state of Terraform": lambda _: b'{"version": 4, "terraform_version": "1.5.0"}',
    }
    for told, damage in damages.items():
        damaged = damage(whole)
        file.write_bytes(damaged)
        ran = place.ran("apply", "-auto-approve", code=1)
        assert ran.out == ""
        assert told in ran.err
        assert file.read_bytes() == damaged
    file.write_bytes(whole)
    other = sandbox_of(SandboxSpec(authorizer=False)).bootstrap_servers
    right = place.env.pop("KPLAN_BOOTSTRAP_SERVERS")
    place.env["KPLAN_BOOTSTRAP_SERVERS"] = other
    err = place.fails("destroy", "-auto-approve", "-detailed-exitcode", code=6)
    assert "Error: State belongs to a different cluster" in err
    place.env["KPLAN_BOOTSTRAP_SERVERS"] = right
    place.run("plan", "-detailed-exitcode")
