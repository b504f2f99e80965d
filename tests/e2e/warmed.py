"""Commands as forks of a process that has loaded what nearly all of them load.

A `kplan` of its own takes 0.8 s of a processor before it does a thing, and the suite runs some
hundreds. What a fork runs is `kplan.cli.main` with the arguments, folder, environment and streams
of the command, in a process of its own that ends as python ends. How kplan starts is for the
tests that start it.

`python -m tests.e2e.warmed FD [MODULE...]` answers at the socket FD until its other end is closed.
"""

import atexit
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

LOADED = (
    "kplan.cli.main",
    "kplan.cli.report.option",
    "kplan.cli.run",
    "kplan.cli.display",
    "kplan.cli.wiring",
    "kplan.kafka.cluster",
    "kplan.kafka.settings.resolver",
    "kplan.report.subject",
    # After kplan, which imports them without the rest of their packages.
    "kafka.protocol.admin.acl",
    "kafka.protocol.admin.cluster",
    "kafka.protocol.admin.configs",
    "kafka.protocol.admin.topics",
    "kafka.protocol.metadata.api_versions",
    "kafka.protocol.metadata.metadata",
)
ALSO_LOADED: list[str] = []
"""What nearly all commands of a folder of tests load beside that."""
AT_THE_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_")
"""What Python and the system's libraries read when a process starts: a fork is too late."""
LONGEST = 1 << 17
_SERVER: list[socket.socket] = []
_STARTING = threading.Lock()


def fits(env: Mapping[str, str]) -> bool:
    """Whether a fork behaves in this environment as a process of its own would."""

    def early(given: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in given.items() if name.startswith(AT_THE_START)}

    return early(env) == early({**os.environ, "PYTHONPATH": env["PYTHONPATH"]})


def run(
    args: Sequence[str], folder: Path, env: Mapping[str, str], typed: str, timeout_s: float
) -> tuple[int, str, str]:
    """Run a command; give its exit code and what it wrote to stdout and stderr.

    Raises `subprocess.TimeoutExpired` when it does not end in time; it is killed then.
    """
    asked = json.dumps([list(args), str(folder), dict(env)]).encode()
    assert len(asked) < LONGEST
    mine, its = socket.socketpair()
    with (
        mine,
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(typed.encode())
        stdin.seek(0)
        with its:
            streams = [each.fileno() for each in (its, stdin, stdout, stderr)]
            socket.send_fds(_server(env), [asked], streams)
        pid = _number(mine)
        mine.settimeout(timeout_s)
        try:
            status = _number(mine)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(args), timeout_s) from None
        return os.waitstatus_to_exitcode(status), _text(stdout), _text(stderr)


def _number(connection: socket.socket) -> int:
    found = connection.recv(8, socket.MSG_WAITALL)
    assert found, "the process that forks commands is gone"
    return int.from_bytes(found)


def _text(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode().replace("\r\n", "\n")


def _server(env: Mapping[str, str]) -> socket.socket:
    """Start the process that forks, once; it ends when this one does."""
    with _STARTING:
        if not _SERVER:
            mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with its:
                server = subprocess.Popen(
                    [sys.executable, "-m", "tests.e2e.warmed", str(its.fileno()), *ALSO_LOADED],
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    pass_fds=[its.fileno()],
                )
            _SERVER.append(mine)
            atexit.register(_end, server, mine)
        return _SERVER[0]


def _end(server: "subprocess.Popen[bytes]", connection: socket.socket) -> None:
    connection.close()
    server.wait()


def _serve(server: socket.socket) -> None:
    """Fork for each message; return in the fork, as the process that it asks for."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.data:
                    waiting.unregister(key.fd)
                    _tell(key.fd, *key.data)
                    continue
                asked, fds, _, _ = socket.recv_fds(server, LONGEST, 4)
                if not asked:
                    sys.exit()
                if (pid := os.fork()) == 0:
                    server.close()
                    _become(asked, fds)
                    return
                caller = socket.socket(fileno=fds[0])
                caller.sendall(pid.to_bytes(8))
                for fd in fds[1:]:
                    os.close(fd)
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, caller))


def _tell(pidfd: int, pid: int, caller: socket.socket) -> None:
    """Tell how a command ended; its caller may no longer wait."""
    os.close(pidfd)
    _, status = os.waitpid(pid, 0)
    with caller:
        try:
            caller.sendall(status.to_bytes(8))
        except BrokenPipeError:
            return


def _become(asked: bytes, fds: Sequence[int]) -> None:
    args, folder, env = json.loads(asked)
    for number, fd in enumerate(fds[1:]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv[1:] = args


if __name__ == "__main__":
    for name in (*LOADED, *sys.argv[2:]):
        importlib.import_module(name)
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    importlib.import_module("kplan.cli.main").main()
