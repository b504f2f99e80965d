"""The process that Python workers are forked from, asked for workers as Spark asks."""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, cast

import pytest

pytest.importorskip("pyspark")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this process")

IDLE_S = 1.0
PROGRAM = (
    "from kplan.fleet.spark import daemon; "
    f"daemon.IDLE_S = {IDLE_S}; daemon._IMPORTS = (); daemon.main()"
)


@pytest.fixture
def daemon() -> Iterator[subprocess.Popen[bytes]]:
    environ = {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": "secret"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
    )
    with process:
        yield process
        process.kill()


def read_number(source: IO[bytes]) -> int:
    return cast("int", struct.unpack("!i", source.read(4))[0])


def test_it_stays_with_a_worker_and_ends_without(daemon: subprocess.Popen[bytes]) -> None:
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    port = read_number(daemon.stdout)
    with socket.create_connection(("127.0.0.1", port)) as line, line.makefile("rb") as said:
        worker = read_number(said)
        assert worker != daemon.pid
        time.sleep(3 * IDLE_S)
        assert daemon.poll() is None

        daemon.stdin.write(struct.pack("!i", worker))  # Spark ends a worker without a task
        daemon.stdin.flush()
        daemon.wait(30)
        with pytest.raises(ProcessLookupError):
            os.kill(worker, signal.SIG_DFL)


def test_it_ends_when_it_is_never_asked(daemon: subprocess.Popen[bytes]) -> None:
    assert daemon.stdout is not None
    read_number(daemon.stdout)
    daemon.wait(30)
