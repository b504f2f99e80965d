"""Progress and interrupts of a real kplan; in CI with a Spark of its own."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fleet.spark_target import CONNECT, LOCAL, STANDALONE, SparkTarget
from tests.fleet.terminal import TIMEOUT_S, Terminal, children, is_alive

pytestmark = pytest.mark.spark

OWN_PROCESSES = {LOCAL: 2, STANDALONE: 1, CONNECT: 0}
"""Java, and a Python that reads where Spark is all here."""
FLEET = """
cluster "silent" {{
  provider "kafka" {{
    bootstrap_servers = ["127.0.0.1:{port}"]
    tls_enabled       = false
    timeout           = 100
  }}
  deadline_s = 100
}}
"""


@pytest.fixture
def silent() -> Iterator[int]:
    """Listen as a broker that takes connections and then says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=50)) as listener:
        port: int = listener.getsockname()[1]
        yield port


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_tasks_are_shown_and_an_interrupt_leaves_no_process_and_no_run_behind(
    at_work: SparkTarget, tmp_path: Path, silent: int, number: signal.Signals
) -> None:
    (tmp_path / "fleet.hcl").write_text(FLEET.format(port=silent), encoding="utf-8")
    screen = Terminal(tmp_path, "fleet", "snapshot", *at_work.options)
    assert screen.shows(r"Reading 1 cluster\b.* 0/1 "), screen.text
    time.sleep(1)  # the task is with its worker
    started = children(screen.process.pid)
    assert len(started) >= OWN_PROCESSES[at_work.name], started
    screen.process.send_signal(number)
    if number is signal.SIGINT:
        assert screen.ended() == 128 + signal.SIGINT, screen.text
        assert "Interrupted." in screen.text
    else:
        assert screen.ended() == -signal.SIGKILL
    assert "Traceback" not in screen.text
    assert "WARN" not in screen.text
    deadline = time.monotonic() + TIMEOUT_S
    while any(map(is_alive, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [each for each in started if is_alive(each)]
    assert not list((tmp_path / "fleet").glob("runs/*")), "what is half written does not count"


def test_a_spark_that_ends_before_its_answer_is_an_error_with_a_way_out(
    at_work: SparkTarget, tmp_path: Path, silent: int
) -> None:
    """As it does without memory: it takes kplan's answer with it, and no traceback is shown."""
    if at_work.name == CONNECT:
        pytest.skip("the Java of a Connect server is not that of the command")
    (tmp_path / "fleet.hcl").write_text(FLEET.format(port=silent), encoding="utf-8")
    screen = Terminal(tmp_path, "fleet", "snapshot", *at_work.options)
    assert screen.shows(r"Reading 1 cluster\b.* 0/1 "), screen.text
    (java,) = (each for each in children(screen.process.pid) if _program(each) == "java")
    os.kill(java, signal.SIGKILL)
    assert screen.ended() == 1, screen.text
    text = " ".join(screen.text.replace("│", " ").split())
    assert "Spark ended before it had answered." in text
    assert "-conf=spark.driver.memory=4g" in text
    assert "Traceback" not in screen.text


def _program(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
