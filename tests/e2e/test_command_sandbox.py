"""`kplan sandbox` as a script uses it."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import kplan
from tests.e2e.places import until

pytestmark = pytest.mark.broker


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    kplan(tmp_path, "sandbox", "stop", "-folder=s")


def test_a_sandbox_starts_once_tells_how_to_connect_and_stops(folder: Path) -> None:
    assert kplan(folder, "sandbox", "status", "-folder=s").code == 1
    first = kplan(folder, "sandbox", "start", "-folder=s", "-json")
    told = json.loads(first.out)
    assert first.code == 0
    assert told["properties"]["bootstrap.servers"] == told["bootstrap_servers"]
    assert kplan(folder, "sandbox", "start", "-folder=s", "-json").out == first.out

    shown = kplan(folder, "sandbox", "status", "-folder=s")
    assert shown.code == 0
    servers = told["bootstrap_servers"]
    export = f"export KPLAN_BOOTSTRAP_SERVERS={servers} KPLAN_TLS_ENABLED=false\n"
    assert shown.out.startswith(export)
    assert json.loads(kplan(folder, "sandbox", "status", "-folder=s", "-json").out)["running"]
    assert "Kafka Server started" in kplan(folder, "sandbox", "logs", "-folder=s").out

    other = kplan(folder, "sandbox", "start", "-folder=s", "-brokers=3")
    assert other.code == 1
    assert "another shape" in other.err

    stopped = kplan(folder, "sandbox", "stop", "-folder=s").out
    assert stopped.startswith("Stopped the sandbox. The next start is an empty cluster")
    assert json.loads(kplan(folder, "sandbox", "stop", "-folder=s", "-json").out) == {
        "stopped": False,
        "kept": False,
    }
    assert kplan(folder, "sandbox", "status", "-folder=s").out == "No sandbox is running.\n"


def _topics(folder: Path, env: dict[str, str]) -> list[str]:
    ran = kplan(folder, "topics", "list", "-json", env=env)
    rows = json.loads(ran.out)["tables"]["topics"]["rows"]
    return [each["topic"] for each in rows]


def test_a_node_that_died_is_started_alone_and_a_kept_sandbox_has_its_data_again(
    folder: Path,
) -> None:
    told = json.loads(kplan(folder, "sandbox", "start", "-folder=s", "-json").out)
    env = {"KPLAN_BOOTSTRAP_SERVERS": told["bootstrap_servers"], "KPLAN_TLS_ENABLED": "false"}
    (folder / "main.tf").write_text('resource "kafka_topic" "t" {\n  name = "kept"\n}\n')
    assert kplan(folder, "apply", "-auto-approve", env=env).code == 0
    (node,) = told["nodes"]
    os.kill(node["pid"], signal.SIGKILL)
    until(lambda: kplan(folder, "sandbox", "status", "-folder=s").code == 1)
    again = kplan(folder, "sandbox", "restart", str(node["id"]), "-folder=s")
    assert again.code == 0, again
    assert _topics(folder, env) == ["kept"]

    stopped = kplan(folder, "sandbox", "stop", "-keep", "-folder=s").out
    assert "starts it again with its data" in stopped
    other = kplan(folder, "sandbox", "start", "-folder=s", "-brokers=3")
    assert "another shape is kept" in " ".join(other.err.replace("│", "").split())
    kept = json.loads(kplan(folder, "sandbox", "start", "-folder=s", "-json").out)
    assert kept["cluster_id"] == told["cluster_id"]
    assert _topics(folder, env) == ["kept"]
    kplan(folder, "sandbox", "stop", "-folder=s")
    fresh = json.loads(kplan(folder, "sandbox", "start", "-folder=s", "-json").out)
    assert fresh["cluster_id"] != told["cluster_id"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["-brokers=0"], "1 to 9 brokers"),
        (["-brokers=many"], "-brokers"),
        (["-security=kerberos"], "'kerberos' is not one of"),
        (["-kafka-version=2.7.2"], "2.7.2"),
    ],
)
def test_a_sandbox_that_cannot_be_is_refused(folder: Path, args: list[str], told: str) -> None:
    ran = kplan(folder, "sandbox", "start", "-folder=s", *args)
    assert ran.code == 1
    assert told in ran.err
    assert "Traceback" not in ran.err
