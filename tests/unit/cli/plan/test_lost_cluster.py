"""One of two clusters does not let kplan in, or does not answer."""

from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import AuthError, UnreachableError
from tests.unit.cli.memory_command import MemoryCommand, memory_command

TWO = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
provider "kafka" {
  alias             = "al"
  bootstrap_servers = ["127.0.0.1:2"]
}
resource "kafka_topic" "t" {
  name               = "here"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_topic" "a" {
  provider           = kafka.al
  name               = "there"
  partitions         = 1
  replication_factor = 1
}
"""
REFUSED = AuthError("SASL SCRAM-SHA-256 failed as al.", hint="Check the password.")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)

    def connect(*asked: object) -> MemoryCluster:
        if asked[3]:
            raise REFUSED
        return found.cluster

    monkeypatch.setattr(wiring, "_connect", connect)
    found.write(TWO)
    return found


def test_a_plan_tells_the_error_at_the_provider_block(desk: MemoryCommand) -> None:
    told = desk.run_failing("plan")
    assert "Error: Connection refused by the cluster [KP912]" in told
    assert 'on main.tf line 3, column 1, in provider "kafka"' in told
    assert "kafka.al: SASL SCRAM-SHA-256 failed as al. Nothing is planned for kafka.al." in told
    assert "hint: Check the password." in told
    assert "KP234" not in told
    assert "[KP912]" in desk.run_failing("plan", "-compact-warnings")
    assert "here" in desk.run("plan", "-detailed-exitcode", code=7)


def test_an_apply_of_the_other_cluster_is_not_called_complete(desk: MemoryCommand) -> None:
    told = desk.run("apply", "-auto-approve", "-detailed-exitcode", code=4)
    assert (
        "Apply incomplete! Resources: 1 added, 0 changed, 0 destroyed; nothing was planned for "
        "kafka.al.\n" in told
    )
    assert "here" in desk.cluster.topics()
    desk.run("apply", "-auto-approve", "-detailed-exitcode", code=7)
    desk.run("apply", "-auto-approve", code=1)


def test_a_saved_plan_has_the_error_too(desk: MemoryCommand) -> None:
    desk.run("plan", "-out=p.kplan", code=1)
    assert "KP912" in desk.run("show", "-json", "p.kplan")


def test_a_cluster_that_does_not_answer_is_told_the_same_way(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*asked: object) -> MemoryCluster:
        if asked[3]:
            raise UnreachableError("Nobody answers at 127.0.0.1:2.")
        return desk.cluster

    monkeypatch.setattr(wiring, "_connect", connect)
    assert "Error: Cannot reach the cluster [KP911]" in desk.run_failing("plan")
