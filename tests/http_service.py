"""A service with a REST API as a process of its own: started, waited for, and ended."""

import http.client
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_START_S = 240
_STOP_S = 20


@contextmanager
def http_service(
    line: Sequence[str],
    log: Path,
    ready: tuple[int, str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Run a service until the block ends; `ready` are its port and a path that answers 200."""
    with log.open("wb") as output:
        process = subprocess.Popen(line, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_until_ready(process, ready, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], ready: tuple[int, str], log: Path) -> None:
    until = time.monotonic() + _START_S
    while not _answers(*ready):
        assert process.poll() is None, f"the service ended: {log.read_text()[-2000:]}"
        assert time.monotonic() < until, f"the service did not start: {log.read_text()[-2000:]}"
        time.sleep(0.2)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
