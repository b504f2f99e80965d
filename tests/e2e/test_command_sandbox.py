"""`kplan sandbox` as a script uses it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import kplan

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
    assert shown.out.startswith(f"export KPLAN_BOOTSTRAP_SERVERS={told['bootstrap_servers']}\n")
    assert json.loads(kplan(folder, "sandbox", "status", "-folder=s", "-json").out)["running"]
    assert "Kafka Server started" in kplan(folder, "sandbox", "logs", "-folder=s").out

    other = kplan(folder, "sandbox", "start", "-folder=s", "-brokers=3")
    assert other.code == 1
    assert "another shape" in other.err

    assert kplan(folder, "sandbox", "stop", "-folder=s").out == "Stopped the sandbox.\n"
    assert json.loads(kplan(folder, "sandbox", "stop", "-folder=s", "-json").out) == {
        "stopped": False
    }
    assert kplan(folder, "sandbox", "status", "-folder=s").out == "No sandbox is running.\n"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["-brokers=0"], "1 to 9 brokers"),
        (["-brokers=many"], "-brokers"),
        (["-security=kerberos"], "'kerberos' is not one of"),
        (["-kafka-version=2.8.0"], "2.8.0"),
    ],
)
def test_a_sandbox_that_cannot_be_is_refused(folder: Path, args: list[str], told: str) -> None:
    ran = kplan(folder, "sandbox", "start", "-folder=s", *args)
    assert ran.code == 1
    assert told in ran.err
    assert "Traceback" not in ran.err
