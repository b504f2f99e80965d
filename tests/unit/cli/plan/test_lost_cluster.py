"""One of two clusters does not let kplan in, or does not answer."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kplan.cli import wiring
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import AuthError, UnreachableError
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.workflow.plan.test_controller_access import Controllers

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


def test_a_saved_plan_tells_an_outage_as_of_the_time_when_it_was_made(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("plan", "-out=p.kplan", code=1)
    back = MemoryCluster(cluster_id="al")
    monkeypatch.setattr(wiring, "_connect", lambda *asked: back if asked[3] else desk.cluster)
    then = "when the plan was made: "
    past = f"kafka.al: {then}SASL SCRAM-SHA-256 failed as al. Nothing is planned for kafka.al."
    shown = " ".join(desk.run("show", "p.kplan").split())
    assert f"could not be read ({then}Connection refused by the cluster: SASL" in shown
    assert past in desk.run("show", "-format=markdown", "p.kplan")
    document = desk.run("show", "-json", "p.kplan")
    assert past in document
    assert "Check the password. To plan for it too, make the plan again." in document
    told = desk.run_failing("apply", "p.kplan")
    assert past in told
    assert "here" in desk.cluster.topics()


def test_a_cluster_that_does_not_answer_is_told_the_same_way(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*asked: object) -> MemoryCluster:
        if asked[3]:
            raise UnreachableError("Nobody answers at 127.0.0.1:2.")
        return desk.cluster

    monkeypatch.setattr(wiring, "_connect", connect)
    assert "Error: Cannot reach the cluster [KP911]" in desk.run_failing("plan")


def test_the_stream_and_the_reports_of_an_apply_do_not_call_it_complete(
    desk: MemoryCommand,
) -> None:
    lines = desk.run("apply", "-auto-approve", "-json", code=1).splitlines()
    assert json.loads(lines[-1])["@message"] == (
        "Apply incomplete: Resources: 1 added, 0 changed, 0 destroyed; nothing was planned for "
        "kafka.al."
    )
    desk.run("apply", "-auto-approve", "-report=json=r.json", "-report=prometheus=r.prom", code=1)
    assert json.loads((desk.folder / "r.json").read_text())["complete"] is False
    gauges = (desk.folder / "r.prom").read_text()
    assert re.search(r"^kplan_run_success\{.*\} 0$", gauges, re.MULTILINE), gauges


def test_the_lost_cluster_is_a_failed_case_of_an_apply(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve", "-report=junit=r.xml", code=1)
    suites = ET.fromstring((desk.folder / "r.xml").read_text())  # noqa: S314 - our own
    cases = {each.attrib["name"]: each for each in suites.iter("testcase")}
    assert set(cases) == {"kafka_topic.t", "kafka.al"}
    assert cases["kafka_topic.t"].find("failure") is None
    failure = cases["kafka.al"].find("failure")
    assert failure is not None
    assert "SASL SCRAM-SHA-256 failed as al." in failure.attrib["message"]
    assert "Nothing is planned for kafka.al." in (failure.text or "")
    assert "Check the password." in (failure.text or "")


def test_controllers_for_one_cluster_do_not_hide_that_another_is_lost(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What controllers do not show is no news (KP245); a cluster that does not answer is."""
    desk.run("apply", "-auto-approve", code=1)
    direct = Controllers(store=desk.cluster._store)

    def connect(*asked: object) -> MemoryCluster:
        if asked[3]:
            raise REFUSED
        return direct

    monkeypatch.setattr(wiring, "_connect", connect)
    here = 'name               = "here"'
    desk.write(TWO.replace(here, f'{here}\n  config = {{ "retention.ms" = "1000" }}'))
    told = desk.run("apply", "-auto-approve", "-detailed-exitcode", code=4)
    assert "Apply incomplete!" in told
    assert "nothing was planned for kafka.al." in told
    desk.run("apply", "-auto-approve", "-detailed-exitcode", code=7)


def test_a_refused_delete_is_refused_whether_a_cluster_is_lost_or_not(desk: MemoryCommand) -> None:
    begin = TWO.index('resource "kafka_topic" "t"'), TWO.index('resource "kafka_topic" "a"')
    protected = "  lifecycle {\n    prevent_destroy = true\n  }\n}\n"
    desk.write(TWO[: begin[1]].rstrip()[:-1] + protected + TWO[begin[1] :])
    desk.run("apply", "-auto-approve", code=1)
    desk.write(TWO[: begin[0]] + TWO[begin[1] :])
    told = desk.run_failing("plan", "-detailed-exitcode", code=3)
    assert "KP232" in told
    assert "KP912" in told


def test_only_errors_that_stop_the_plan_are_counted_as_those(desk: MemoryCommand) -> None:
    desk.write(TWO.replace("replication_factor = 1", "replication_factor = 9", 1))
    assert "This plan cannot be applied because of 1 error." in desk.run("plan", code=1)


def test_a_round_of_reconcile_says_why_it_failed(desk: MemoryCommand) -> None:
    for _ in range(2):  # with something to do, and without
        assert "SASL SCRAM-SHA-256 failed as al." in desk.run_failing("reconcile", "-once")


def test_a_target_on_the_lost_cluster_is_declared_nevertheless(desk: MemoryCommand) -> None:
    told = desk.run_failing("plan", "-target=kafka_topic.a", "-target=kafka_topic.nope")
    assert 'No declared or owned resource fits -target "kafka_topic.nope".' in told
    assert 'fits -target "kafka_topic.a"' not in told
