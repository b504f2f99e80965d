"""Start, stop, status and logs, with a stand-in for Kafka."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.model.errors import SandboxError
from kplan.sandbox import fault, lifecycle, readiness
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.lifecycle import (
    crashes,
    describe_sandbox,
    read_logs,
    read_status,
    restart_nodes,
    start_sandbox,
    stop_sandbox,
)
from kplan.sandbox.process import ProcessState, is_alive
from kplan.sandbox.runtime import set_protocol_version
from kplan.sandbox.sandbox import ProgressStep, Sandbox, Stage, read_sandbox
from tests.unit.sandbox.fake_kafka import FakeKafka


@pytest.fixture
def kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    fake = FakeKafka(tmp_path / "java")
    for module in (lifecycle,):
        monkeypatch.setattr(module, "prepare_runtime", lambda *_: fake.kit)
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "sandbox"
    stop_sandbox(tmp_path / "sandbox", grace_s=0)


def recorded(folder: Path) -> Sandbox:
    found = read_sandbox(folder)
    assert found is not None
    return found


@pytest.mark.usefixtures("kafka")
def test_a_started_sandbox_runs_and_a_stopped_one_does_not(folder: Path) -> None:
    assert read_status(folder) == lifecycle.SandboxStatus(None, {})
    assert not stop_sandbox(folder)
    sandbox = start_sandbox(folder, SandboxSpec(brokers=3))
    assert read_status(folder).is_running
    assert set(read_status(folder).nodes) == {1, 2, 3, 101, 102, 103}
    assert stop_sandbox(folder)
    assert not read_status(folder).is_running
    assert not any(is_alive(each) for each in sandbox.processes.values())
    assert not stop_sandbox(folder)


@pytest.mark.usefixtures("kafka")
def test_a_second_start_returns_the_running_one(folder: Path) -> None:
    spec = SandboxSpec(server_properties={"num.partitions": "2"}, class_path=(folder,))
    assert start_sandbox(folder, spec) == start_sandbox(folder, spec)


@pytest.mark.usefixtures("kafka")
def test_another_shape_must_wait_for_the_stop(folder: Path) -> None:
    start_sandbox(folder, SandboxSpec())
    with pytest.raises(SandboxError, match="another shape") as told:
        start_sandbox(folder, SandboxSpec(security=Security.SASL))
    assert "kplan sandbox stop" in told.value.hint
    stop_sandbox(folder)
    assert start_sandbox(folder, SandboxSpec(security=Security.SASL)).spec.security is Security.SASL


@pytest.mark.usefixtures("kafka")
def test_each_start_begins_an_empty_cluster(folder: Path) -> None:
    before = start_sandbox(folder, SandboxSpec(security=Security.SASL))
    (folder / "node-1" / "data").mkdir()
    stop_sandbox(folder)
    after = start_sandbox(folder, SandboxSpec())
    assert after.cluster_id != before.cluster_id
    assert not (folder / "node-1" / "data").exists()
    assert not (folder / "admin.properties").exists()


def test_storage_is_formatted_with_the_users_and_the_metadata_version(
    kafka: FakeKafka, folder: Path
) -> None:
    """KIP-900 for the users."""
    start_sandbox(folder, SandboxSpec(security=Security.SASL, metadata_version="4.0-IV3"))
    (told,) = kafka.formats
    assert "--release-version 4.0-IV3" in told
    assert "--add-scram=SCRAM-SHA-256=[name=alice," in told
    assert f"--cluster-id={recorded(folder).cluster_id}" in told


def test_a_format_that_fails_is_told_in_the_tools_words(kafka: FakeKafka, folder: Path) -> None:
    kafka.tell("bad-format")
    with pytest.raises(SandboxError, match="node 1 was not formatted:\nInvalid value"):
        start_sandbox(folder, SandboxSpec())


def test_a_node_that_crashes_is_reported_at_once_with_the_end_of_its_log(
    kafka: FakeKafka, folder: Path
) -> None:
    kafka.tell("crash")
    with pytest.raises(SandboxError, match=r"Node \d+ ended while starting(.|\n)*OutOfMemory"):
        start_sandbox(folder, SandboxSpec(brokers=3))
    assert not any(is_alive(each) for each in recorded(folder).processes.values())


def test_a_node_that_never_serves_is_ended_when_the_time_is_up(
    kafka: FakeKafka, folder: Path
) -> None:
    kafka.tell("hang")
    with pytest.raises(SandboxError, match=r"Not serving after 0\.2 s: node 1\.(.|\n)*starting"):
        start_sandbox(folder, SandboxSpec(), timeout_s=0.2)
    assert not any(is_alive(each) for each in recorded(folder).processes.values())


@pytest.mark.usefixtures("kafka")
def test_a_broker_with_zookeeper_serves_when_the_controller_has_told_it_of_brokers(
    folder: Path,
) -> None:
    """Until then it refuses topics: more replicas than the 0 brokers it knows."""
    spec = SandboxSpec(kafka_version="3.9.1", zookeeper=True)
    with pytest.raises(SandboxError, match=r"Not serving after 0\.3 s: node 1\.(.|\n)* started"):
        start_sandbox(folder, spec, timeout_s=0.3)


@pytest.mark.parametrize("failure", ["port-taken", "unregistered"])
def test_a_port_taken_or_no_registration_is_not_the_end(
    kafka: FakeKafka, folder: Path, failure: str
) -> None:
    kafka.tell(failure)
    start_sandbox(folder, SandboxSpec())
    assert len(kafka.formats) == 2


@pytest.mark.usefixtures("kafka")
def test_a_node_that_ended_later_is_seen_and_must_be_stopped_first(folder: Path) -> None:
    sandbox = start_sandbox(folder, SandboxSpec(brokers=2, controllers=1))
    fault.kill(folder, 2)
    assert read_status(folder).nodes == {
        1: ProcessState.RUNNING,
        2: ProcessState.ENDED,
        101: ProcessState.RUNNING,
    }
    assert not read_status(folder).is_running
    (crash,) = crashes(read_status(folder)).items()
    assert crash[0] == 2
    assert crash[1].startswith("The end of the log of node 2:\n")
    with pytest.raises(SandboxError, match="Node 2 of the sandbox has ended"):
        start_sandbox(folder, sandbox.spec)
    stop_sandbox(folder)
    assert crashes(read_status(folder)) == {}


@pytest.mark.usefixtures("kafka")
def test_a_sandbox_whose_nodes_all_ended_is_started_anew(folder: Path) -> None:
    """As after a restart of the machine."""
    before = start_sandbox(folder, SandboxSpec())
    fault.kill(folder, 1)
    assert start_sandbox(folder, SandboxSpec()).cluster_id != before.cluster_id


def test_one_that_ignores_the_wish_is_killed(kafka: FakeKafka, folder: Path) -> None:
    kafka.tell("stubborn")
    sandbox = start_sandbox(folder, SandboxSpec())
    assert stop_sandbox(folder, grace_s=0.1)
    assert not is_alive(sandbox.processes[1])


@pytest.mark.usefixtures("kafka")
def test_the_users_files_are_private_and_lead_to_the_cluster(folder: Path) -> None:
    sandbox = start_sandbox(folder, SandboxSpec(security=Security.SASL))
    for user in ("admin", "alice", "bob", "ci"):
        file = folder / f"{user}.properties"
        assert file.stat().st_mode & 0o777 == 0o600
        assert f"bootstrap.servers={sandbox.bootstrap_servers}" in (
            file.read_text(encoding="utf-8")
        )


@pytest.mark.usefixtures("kafka")
def test_the_description_says_how_to_connect(folder: Path) -> None:
    sandbox = start_sandbox(folder, SandboxSpec(brokers=2, controllers=1, security=Security.SASL))
    told = describe_sandbox(sandbox)
    assert json.loads(json.dumps(told)) == told
    assert told["bootstrap_servers"] == sandbox.bootstrap_servers
    assert told["bootstrap_controllers"] == sandbox.bootstrap_controllers
    assert told["properties"] == dict(sandbox.client_properties("admin"))
    assert told["users"] == {
        name: str(folder / f"{name}.properties") for name in ("admin", "alice", "bob", "ci")
    }
    nodes = told["nodes"]
    assert isinstance(nodes, list)
    assert [node["id"] for node in nodes] == [1, 2, 101]
    assert nodes[0]["pid"] == sandbox.processes[1].pid


@pytest.mark.usefixtures("kafka")
def test_logs_are_read_while_it_runs_and_after_the_stop(folder: Path) -> None:
    with pytest.raises(SandboxError, match="There is no sandbox"):
        read_logs(folder)
    start_sandbox(folder, SandboxSpec(brokers=2))
    assert read_logs(folder, 102).splitlines()[0] == "starting"
    stop_sandbox(folder)
    assert "Kafka Server started" in read_logs(folder, lines=1)
    assert "starting" not in read_logs(folder, lines=1)
    with pytest.raises(SandboxError, match="no node 9"):
        read_logs(folder, 9)


@pytest.mark.usefixtures("kafka")
def test_a_folder_with_other_things_in_it_is_not_touched(folder: Path) -> None:
    folder.mkdir()
    (folder / "main.tf").write_text("# mine", encoding="utf-8")
    with pytest.raises(SandboxError, match="not of a sandbox"):
        start_sandbox(folder, SandboxSpec())
    assert [entry.name for entry in folder.iterdir()] == ["main.tf"]


@pytest.mark.usefixtures("kafka")
def test_a_file_in_the_place_of_the_folder_is_an_error(folder: Path) -> None:
    folder.write_text("", encoding="utf-8")
    with pytest.raises(SandboxError, match="is not a folder"):
        start_sandbox(folder, SandboxSpec())
    folder.unlink()


def test_java_that_cannot_be_run_is_an_error_in_words(kafka: FakeKafka, folder: Path) -> None:
    kafka.launcher.chmod(0o600)
    with pytest.raises(SandboxError, match="could not be started"):
        start_sandbox(folder, SandboxSpec())


@pytest.mark.usefixtures("kafka")
def test_steps_are_told(folder: Path) -> None:
    steps: list[ProgressStep] = []
    start_sandbox(folder, SandboxSpec(brokers=2, controllers=1), steps.append)
    formats = [step.done for step in steps if step.stage is Stage.FORMAT]
    starts = [step.done for step in steps if step.stage is Stage.START]
    assert (formats, starts) == ([0, 1, 2], [1, 2, 3])


def test_ports_are_looked_for_three_times_only(kafka: FakeKafka, folder: Path) -> None:
    kafka.tell("ports-gone")
    with pytest.raises(SandboxError, match="Address already in use"):
        start_sandbox(folder, SandboxSpec())
    assert len(kafka.formats) == 3


def test_a_broker_that_is_never_registered_is_started_twice_only(
    kafka: FakeKafka, folder: Path
) -> None:
    """Each attempt takes a minute, and some errors of a broker look so each time."""
    kafka.tell("never-registered")
    with pytest.raises(SandboxError, match="acknowledge that we are caught up"):
        start_sandbox(folder, SandboxSpec())
    assert len(kafka.formats) == 2


def test_all_attempts_have_one_limit_of_time(
    kafka: FakeKafka, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "LEAST_START_S", 0)
    kafka.tell("ports-gone-slowly")
    with pytest.raises(SandboxError):
        start_sandbox(folder, SandboxSpec(), timeout_s=0.5)
    assert len(kafka.formats) <= 2


def test_no_attempt_that_has_no_time_hides_why_the_one_before_failed(
    kafka: FakeKafka, folder: Path
) -> None:
    kafka.tell("ports-gone-slowly")
    with pytest.raises(SandboxError, match="Address already in use"):
        start_sandbox(folder, SandboxSpec(), timeout_s=readiness.LEAST_START_S)
    assert len(kafka.formats) == 1


@pytest.mark.parametrize("failure", ["port-taken", "unregistered"])
def test_a_kept_cluster_and_a_single_node_are_tried_again_too(
    kafka: FakeKafka, folder: Path, failure: str
) -> None:
    cluster_id = start_sandbox(folder, SandboxSpec()).cluster_id
    stop_sandbox(folder, keep=True)
    kafka.tell(failure)
    assert start_sandbox(folder, SandboxSpec()).cluster_id == cluster_id
    kafka.tell(failure)
    restart_nodes(folder, [1])
    assert read_status(folder).is_running


def test_what_a_log_says_of_an_earlier_start_does_not_count(kafka: FakeKafka, folder: Path) -> None:
    log = folder / "node-1" / "server.log"
    start_sandbox(folder, SandboxSpec())
    stop_sandbox(folder, keep=True)
    log.write_text(log.read_text(encoding="utf-8") + "Address already in use\n", encoding="utf-8")
    kafka.tell("crash")
    with pytest.raises(SandboxError, match="OutOfMemory"):
        start_sandbox(folder, SandboxSpec())
    assert log.read_text(encoding="utf-8").count("starting\n") == 2, "not tried again"


def test_what_java_says_before_kafka_logs_is_told(kafka: FakeKafka, folder: Path) -> None:
    kafka.tell("no-java")
    with pytest.raises(SandboxError, match="Unrecognized VM option"):
        start_sandbox(folder, SandboxSpec())
    assert read_logs(folder) == "Unrecognized VM option"


@pytest.mark.usefixtures("kafka")
def test_a_node_is_upgraded_and_the_others_are_not(folder: Path) -> None:
    start_sandbox(folder, SandboxSpec(brokers=2, controllers=1, kafka_version="3.9.1"))
    upgraded = restart_nodes(folder, [2], kafka_version="4.3.0")
    assert [upgraded.version(each) for each in (1, 2, 101)] == ["3.9.1", "4.3.0", "3.9.1"]
    nodes = describe_sandbox(upgraded)["nodes"]
    assert isinstance(nodes, list)
    assert [each["kafka_version"] for each in nodes] == ["3.9.1", "4.3.0", "3.9.1"]
    assert restart_nodes(folder, [1, 2]).versions == {2: "4.3.0"}, "it stays upgraded"
    with pytest.raises(SandboxError, match=r"Kafka 1\.0 cannot be started"):
        restart_nodes(folder, [1], kafka_version="1.0")
    assert read_status(folder).is_running, "nothing was stopped"


def test_an_upgraded_broker_with_zookeeper_speaks_the_protocol_of_the_others(
    tmp_path: Path,
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("broker.id=2\n", encoding="utf-8")
    for _ in range(2):
        set_protocol_version(tmp_path, (2, 8))
    assert file.read_text(encoding="utf-8") == "broker.id=2\ninter.broker.protocol.version=2.8\n"
