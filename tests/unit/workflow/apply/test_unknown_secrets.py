"""A secret whose change may have been carried out, and the configuration as it was before."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.state.journal import read_journal
from kplan.workflow.state.forget import forget_objects
from tests.project_harness import Killed, ProjectHarness

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
PASSWORD = """
resource "kafka_user_scram_credential" "u" {
  username        = "alice"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "secret-%s"
}
"""
WRITE_ONLY = """
resource "kafka_user_scram_credential" "u" {
  username            = "alice"
  scram_mechanism     = "SCRAM-SHA-256"
  password_wo         = "secret-%s"
  password_wo_version = "%s"
}
"""
BROKER = """
resource "kafka_broker_config" "b" {
  broker_id        = 1
  config           = { "log.retention.ms" = "1000000" }
  sensitive_config = { "listener.name.x.ssl.key.password" = "secret-%s", "ssl.key.password" = "k" }
}
"""
CASES = pytest.mark.parametrize(
    ("text", "call"),
    [
        (PASSWORD, "alter_scram_users"),
        (WRITE_ONLY, "alter_scram_users"),
        (BROKER, "alter_configs"),
    ],
    ids=["password", "password_wo", "broker"],
)


def declare(harness: ProjectHarness, text: str, version: int) -> None:
    """Declare a version of the secret."""
    harness.write(PROVIDER + text.replace("%s", str(version)))


def begin(folder: Path, text: str) -> ProjectHarness:
    """Apply the first version and declare the second."""
    harness = ProjectHarness(folder, MemoryCluster())
    declare(harness, text, 1)
    harness.apply(has_broker_check=False)
    declare(harness, text, 2)
    return harness


def check_set_again(harness: ProjectHarness, text: str) -> None:
    """Expect that the first version is set again, and that all is well then."""
    harness.cluster.clear_faults()
    declare(harness, text, 1)
    planned = harness.plan(has_broker_check=False).plan
    assert [each.action for each in planned.changes] == [Action.UPDATE]
    assert not planned.drift, "nobody else has changed anything"
    done = harness.apply(has_broker_check=False)
    assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED]
    assert not harness.plan(has_broker_check=False).plan.has_changes


@CASES
def test_a_lost_answer(tmp_path: Path, text: str, call: str) -> None:
    """Unknown: the cluster may have either secret."""
    harness = begin(tmp_path, text)
    harness.cluster.time_out(call=call, times=None, carried_out=True)
    done = harness.apply(has_broker_check=False)
    assert [each.status for each in done.outcomes] == [OutcomeStatus.UNKNOWN]
    check_set_again(harness, text)


@CASES
def test_a_lost_answer_that_a_refusal_follows(tmp_path: Path, text: str, call: str) -> None:
    """Failed says only that the second send was refused."""
    harness = begin(tmp_path, text)
    harness.cluster.time_out(call=call, times=1, carried_out=True)
    send = getattr(harness.cluster, call)
    sent: list[object] = []

    def refuse_the_second(*given: object, **options: object) -> object:
        sent.append(given)
        if len(sent) == 2:
            harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call=call, times=1)
        return send(*given, **options)

    setattr(harness.cluster, call, refuse_the_second)
    done = harness.apply(has_broker_check=False)
    assert [each.status for each in done.outcomes] == [OutcomeStatus.FAILED]
    setattr(harness.cluster, call, send)
    check_set_again(harness, text)


@CASES
def test_a_run_that_is_killed_after_the_send(tmp_path: Path, text: str, call: str) -> None:
    """Its journal tells that something was sent."""
    harness = begin(tmp_path, text)
    send: Callable[..., object] = getattr(harness.cluster, call)

    def strike(*given: object, **options: object) -> None:
        send(*given, **options)
        raise Killed

    setattr(harness.cluster, call, strike)
    with pytest.raises(Killed):
        harness.apply(has_broker_check=False)
    setattr(harness.cluster, call, send)
    assert read_journal(harness.project.state_path) is not None
    check_set_again(harness, text)


def test_a_clear_refusal_leaves_the_secret_known(tmp_path: Path) -> None:
    """Nothing was done, so nothing is to be set again."""
    harness = begin(tmp_path, PASSWORD)
    harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="alter_scram_users", times=1)
    harness.apply(has_broker_check=False)
    declare(harness, PASSWORD, 1)
    assert not harness.plan().plan.has_changes


def test_a_doubt_outlasts_the_journal_that_a_person_ends(tmp_path: Path) -> None:
    """The only creation without an answer is forgotten, and the rest goes into the state."""
    harness = begin(tmp_path, PASSWORD)
    topic = 'resource "kafka_topic" "y" {\n  name = "y"\n  partitions = 1\n}\n'
    harness.write(PROVIDER + PASSWORD.replace("%s", "2") + topic)

    def kill() -> None:
        raise Killed

    def refuse() -> None:
        harness.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="alter_scram_users")

    harness.cluster.time_out(call="alter_scram_users", carried_out=True, times=1)
    harness.cluster.run_before(
        "alter_scram_users", lambda: harness.cluster.run_before("alter_scram_users", refuse)
    )
    harness.cluster.run_before("create_topics", kill)
    with pytest.raises(Killed):
        harness.apply(has_broker_check=False)
    harness.cluster.clear_faults()
    forget_objects(harness.project, ("kafka_topic.y",), harness.ports)
    assert not harness.project.store.has_journal()
    declare(harness, PASSWORD, 1)
    (change,) = harness.plan().plan.changes
    assert change.action is Action.UPDATE
