"""`kplan reconcile` as a service on a real broker: two instances, kills, probes and SIGTERM."""

import json
import signal
import subprocess
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kplan.cluster.request import ConfigAlteration
from tests.e2e.commands import start
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker
KILLS = 5


def serve(place: Place, name: str) -> "tuple[subprocess.Popen[str], Path]":
    log = place.folder / f"{name}.txt"
    with log.open("a") as out:
        running = start(
            place.folder, "reconcile", "-interval=1s", "-listen=127.0.0.1:0",
            env=place.env, stdout=out,
        )  # fmt: skip
    return running, log


def end(running: "subprocess.Popen[str]") -> str:
    running.send_signal(signal.SIGTERM)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 0, told
    return str(told)


def retention(place: Place) -> str | None:
    topic = f"{place.prefix}.a"
    with closing(place.cluster()) as cluster:
        found = cluster.topic_configs([topic])[topic]
    return found["retention.ms"].value if isinstance(found, dict) else None


def drift(place: Place) -> None:
    with closing(place.cluster()) as cluster:
        cluster.alter_topic_configs(
            [ConfigAlteration(f"{place.prefix}.a", {"retention.ms": "60000"})]
        )


def address(running: "subprocess.Popen[str]") -> str:
    assert running.stderr is not None
    line = running.stderr.readline()
    assert "http://" in line, line
    return line.strip().partition("http://")[2]


def get(at: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(at, timeout=10)
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_a_service_mends_drift_and_serves_health_and_metrics(place: Place) -> None:
    running, log = serve(place, "one")
    try:
        at = address(running)
        assert get(at, "/livez")[0] == 200
        until(lambda: get(at, "/readyz")[0] == 200)
        until(lambda: retention(place) == "86400000")
        drift(place)
        until(lambda: retention(place) == "86400000")
        until(lambda: log.read_text().count("Reconciled:") >= 2)
        until(lambda: "kplan_reconcile_leader 1" in get(at, "/metrics")[1])
        names = {each.name for each in text_string_to_metric_families(get(at, "/metrics")[1])}
        assert {"kplan_reconcile_rounds", "kplan_reconcile_left"} <= names
        assert get(at, "/nothing")[0] == 404
    finally:
        told = end(running)
    assert "Stopped." in told
    place.run("destroy", "-auto-approve")


def test_two_instances_and_kills_leave_one_state_and_the_cluster_as_declared(place: Place) -> None:
    """The lock of a killed instance does not keep the other one from leading."""
    place.run("apply", "-auto-approve")
    first, _ = serve(place, "first")
    second, _ = serve(place, "second")
    try:
        for number in range(KILLS):
            drift(place)
            time.sleep(0.4 + 0.35 * number)  # at another moment of the round each time
            first.kill()
            first.communicate(timeout=60)
            until(lambda: retention(place) == "86400000")
            first, second = second, serve(place, f"instance-{number}")[0]
        address(second)  # it has begun: before that a signal ends the process
    finally:
        end(first)
        end(second)
    assert not (place.folder / "state" / "kplan.json.journal").exists()
    plan = place.run("plan", "-detailed-exitcode")
    assert "No changes." in plan
    state = json.loads((place.folder / "state" / "kplan.json").read_text())
    assert len({each["identity"] for each in state["resources"]}) == len(state["resources"])
    place.run("destroy", "-auto-approve")
