"""The sandbox starts, serves and ends a real Apache Kafka."""

import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported in silence
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kplan.model.errors import SandboxError
from kplan.sandbox import launch
from kplan.sandbox.fault import kill, pause, restart, resume
from kplan.sandbox.launch import find_free_ports
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.lifecycle import (
    prepare_runtime,
    read_logs,
    read_status,
    start_sandbox,
    stop_sandbox,
    temporary_sandbox,
)
from kplan.sandbox.process import ProcessState, is_alive
from kplan.sandbox.runtime import Java
from kplan.sandbox.sandbox import Sandbox, properties_file

pytestmark = pytest.mark.broker

AN_ACL = AclBinding(
    ResourceType.TOPIC,
    "sandbox-test",
    ResourcePatternType.LITERAL,
    "User:sandbox-test",
    "*",
    AclOperation.READ,
    AclPermissionType.ALLOW,
)


def client(properties: Mapping[str, str]) -> AdminClient:
    """Read a user's Java properties as a person would who has only librdkafka."""
    jaas = properties.get("sasl.jaas.config", "")
    settings = {
        "bootstrap.servers": properties["bootstrap.servers"],
        "security.protocol": properties["security.protocol"],
        "sasl.mechanism": properties.get("sasl.mechanism"),
        "sasl.username": _quoted("username", jaas),
        "sasl.password": _quoted("password", jaas),
        "ssl.ca.location": properties.get("ssl.truststore.location"),
        "ssl.certificate.location": properties.get("ssl.keystore.location"),
        "ssl.key.location": properties.get("ssl.keystore.location"),
    }
    return AdminClient({key: value for key, value in settings.items() if value})


def _quoted(name: str, jaas: str) -> str | None:
    found = re.search(f'{name}="([^"]+)"', jaas)
    return found[1] if found else None


def test_three_brokers_stand_in_three_racks(cluster3: Sandbox) -> None:
    """S30."""
    assert cluster_id(cluster3.properties) == cluster3.cluster_id
    admin = client(cluster3.properties)
    described = admin.describe_cluster().result(timeout=10)
    assert {node.id: node.rack for node in described.nodes} == {
        1: "rack-a",
        2: "rack-b",
        3: "rack-c",
    }


def cluster_id(properties: Mapping[str, str]) -> str:
    admin = client(properties)
    return str(admin.describe_cluster().result(timeout=10).cluster_id)


def broker_config(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Return what broker 1 says of its settings."""
    admin = client(properties)
    resource = ConfigResource("broker", "1")
    answer = admin.describe_configs([resource])[resource].result(timeout=10)
    return {key: entry.value for key, entry in answer.items()}


def create_acl(properties: Mapping[str, str]) -> None:
    admin = client(properties)
    admin.create_acls([AN_ACL])[AN_ACL].result(timeout=10)


def test_everyone_manages_acls_without_security(broker: Sandbox) -> None:
    create_acl(broker.properties)


def test_without_an_authorizer_acl_requests_are_refused(open_broker: Sandbox) -> None:
    with pytest.raises(KafkaException, match="SECURITY_DISABLED"):
        create_acl(open_broker.properties)


@pytest.mark.parametrize("user", ["admin", "alice", "bob", "ci"])
@pytest.mark.parametrize("name", ["sasl_broker", "tls_broker"])
def test_every_users_file_leads_in(name: str, user: str, request: pytest.FixtureRequest) -> None:
    sandbox: Sandbox = request.getfixturevalue(name)
    assert cluster_id(sandbox.client_properties(user)) == sandbox.cluster_id


@pytest.mark.parametrize("name", ["sasl_broker", "tls_broker"])
def test_only_the_first_user_has_rights_and_refusals_are_logged_by_principal(
    name: str, request: pytest.FixtureRequest
) -> None:
    """The authorizer's log is a file of its own, for audit."""
    sandbox: Sandbox = request.getfixturevalue(name)
    assert broker_config(sandbox.properties)["node.id"] == "1"
    with pytest.raises(KafkaException, match="CLUSTER_AUTHORIZATION_FAILED"):
        broker_config(sandbox.client_properties("alice"))
    log = (sandbox.folder / "node-1" / "authorizer.log").read_text(encoding="utf-8")
    assert f"Principal = {sandbox.user('alice').principal} is Denied" in log


@pytest.mark.parametrize("name", ["sasl_broker", "tls_broker"])
def test_kafkas_own_tool_reads_the_file_and_controllers_answer_it(
    name: str, request: pytest.FixtureRequest
) -> None:
    """KIP-919: straight to the controllers, with the same credentials."""
    sandbox: Sandbox = request.getfixturevalue(name)
    made = prepare_runtime(sandbox.spec.kafka_version)
    command = [str(made.java.launcher), "-cp", ":".join(map(str, made.class_path))]
    command += ["kafka.admin.ConfigCommand", "--entity-type=brokers", "--describe", "--all"]
    command += ["--entity-name=1", f"--bootstrap-controller={sandbox.bootstrap_controllers}"]
    command += [f"--command-config={properties_file(sandbox.folder, 'admin')}"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "node.id=1 " in told


def test_a_wrong_password_does_not_lead_in(sasl_broker: Sandbox) -> None:
    wrong = {
        **sasl_broker.client_properties("alice"),
        "sasl.jaas.config": 'username="alice" password="no"',
    }
    with pytest.raises(KafkaException):
        client(wrong).list_topics(timeout=2)


def test_own_settings_and_an_older_metadata_version_reach_the_broker() -> None:
    spec = SandboxSpec(metadata_version="4.0-IV3", server_properties={"num.partitions": "7"})
    with temporary_sandbox(spec) as sandbox:
        assert broker_config(sandbox.properties)["num.partitions"] == "7"
        log = (sandbox.folder / "node-1" / "server.log").read_text(encoding="utf-8")
        assert "4.0-IV3" in log


def test_a_broker_that_cannot_start_is_reported_with_its_own_words(tmp_path: Path) -> None:
    """Formatting reads the settings that are wrong by themselves; this one only the server does."""
    spec = SandboxSpec(server_properties={"metric.reporters": "no.such.Reporter"})
    with pytest.raises(SandboxError, match=r"no\.such\.Reporter") as told:
        start_sandbox(tmp_path / "sandbox", spec)
    assert "node-1" in told.value.hint
    assert "no.such.Reporter" in read_logs(tmp_path / "sandbox")
    assert not read_status(tmp_path / "sandbox").is_running


def test_a_setting_that_kafka_refuses_is_reported_by_the_format(tmp_path: Path) -> None:
    spec = SandboxSpec(server_properties={"num.partitions": "many"})
    with pytest.raises(SandboxError, match=r"not formatted(.|\n)*num\.partitions"):
        start_sandbox(tmp_path / "sandbox", spec)


def test_a_port_that_someone_took_meanwhile_is_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        looks = iter([(taken.getsockname()[1], *find_free_ports(1)), find_free_ports(2)])
        monkeypatch.setattr(launch, "find_free_ports", lambda _: next(looks))
        sandbox = start_sandbox(tmp_path / "sandbox", SandboxSpec())
        assert cluster_id(sandbox.properties) == sandbox.cluster_id
    stop_sandbox(sandbox.folder, grace_s=0)
    assert next(looks, None) is None


def test_nodes_are_killed_paused_and_brought_back() -> None:
    """A restarted broker has its topics: data and ports are its own."""
    quick = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
    with temporary_sandbox(SandboxSpec(controllers=1, server_properties=quick)) as sandbox:
        pause(sandbox.folder, 101)
        assert read_status(sandbox.folder).nodes == {
            1: ProcessState.RUNNING,
            101: ProcessState.PAUSED,
        }
        resume(sandbox.folder, 101)
        kill(sandbox.folder, 1)
        assert read_status(sandbox.folder).nodes == {
            1: ProcessState.ENDED,
            101: ProcessState.RUNNING,
        }
        restart(sandbox.folder, 1)
        assert read_status(sandbox.folder).is_running
        assert cluster_id(sandbox.properties) == sandbox.cluster_id


START = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from kplan.sandbox.lifecycle import start_sandbox
    from kplan.sandbox.layout import SandboxSpec
    start_sandbox(Path(sys.argv[1]), SandboxSpec())
    """
)


def test_it_lives_on_when_its_starter_ends_and_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kplan sandbox start` is one process, `stop` another."""
    prepare_runtime(SandboxSpec().kafka_version)
    monkeypatch.setenv("KPLAN_MAVEN_REPOSITORY", "http://127.0.0.1:1")
    folder = tmp_path / "sandbox"
    subprocess.run([sys.executable, "-c", START, str(folder)], check=True)
    sandbox = read_status(folder).sandbox
    assert sandbox is not None
    assert read_status(folder).is_running
    assert start_sandbox(folder, SandboxSpec()) == sandbox
    assert cluster_id(sandbox.properties) == sandbox.cluster_id
    assert stop_sandbox(folder)
    assert not is_alive(sandbox.processes[1])


@pytest.mark.parametrize("after_s", [0.4, 0.9, 1.4])
def test_ctrl_c_leaves_no_process(after_s: float, tmp_path: Path) -> None:
    folder = tmp_path / "sandbox"
    with subprocess.Popen(
        [sys.executable, "-c", START, str(folder)], stderr=subprocess.DEVNULL
    ) as starter:
        time.sleep(after_s)
        starter.send_signal(signal.SIGINT)
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False)
    assert bool(left.stdout) is (starter.returncode == 0)
    stop_sandbox(folder, grace_s=0)


def test_the_classes_of_the_servers_are_archived() -> None:
    """Two thirds of a start are class loading otherwise."""
    made = prepare_runtime(SandboxSpec().kafka_version)
    assert isinstance(made.java, Java)
    assert made.archive is not None
    assert made.archive.stat().st_size > 10_000_000


@pytest.mark.parametrize("security", [Security.NONE, Security.SASL])
def test_kafka_3_9_starts_too(security: Security) -> None:
    with temporary_sandbox(SandboxSpec(kafka_version="3.9.1", security=security)) as sandbox:
        assert cluster_id(sandbox.properties) == sandbox.cluster_id
        log = (sandbox.folder / "node-1" / "server.log").read_text(encoding="utf-8")
        assert "Kafka version: 3.9.1" in log


@pytest.mark.parametrize("brokers", [1, 3])
def test_with_sasl_ssl_all_traffic_is_encrypted_and_users_log_in(brokers: int) -> None:
    with temporary_sandbox(SandboxSpec(brokers=brokers, security=Security.SASL_SSL)) as sandbox:
        assert cluster_id(sandbox.properties) == sandbox.cluster_id
        log = (sandbox.folder / "node-1" / "server.log").read_text(encoding="utf-8")
        assert "CLIENT:SASL_SSL,CONTROLLER:SASL_SSL" in log


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1"])
def test_a_started_broker_with_zookeeper_takes_topics(version: str) -> None:
    with temporary_sandbox(SandboxSpec(kafka_version=version, zookeeper=True)) as sandbox:
        admin = client(sandbox.properties)
        made = admin.create_topics([NewTopic("first", 1, 1)])
        assert made["first"].result(timeout=10) is None
