"""Processes that outlive kplan, identified even if their number is reused."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from kplan.model.dataclass import dataclass

PROC_FOLDER = Path("/proc")
POLL_S = 0.02
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ProcessState(StrEnum):
    """What a process does; a paused one was stopped by SIGSTOP."""

    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Process:
    """A process id and when that process began; a number alone is handed out again."""

    pid: int
    began: str


def spawn(command: tuple[str, ...], output: Path) -> Process:
    """Start a command in a session of its own, its output going to a file, without waiting.

    A terminal's Ctrl-C does not reach it, and it lives on when kplan ends.
    """
    quiet = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    written = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            quiet,
            (os.POSIX_SPAWN_OPEN, 1, os.fspath(output), written, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE),
    )
    seen = _read_status(pid)
    return Process(pid, seen.began if seen else "")


@contextmanager
def hold_signals() -> Iterator[None]:
    """Let signals wait for the end of the block, so that no process is started and then lost.

    They are kept by handlers: a mask would hold this thread only, and a drawing progress bar is
    another one that the system may pick.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hands signals to the main thread alone
        return
    kept: list[int] = []
    before = {
        number: signal.signal(number, lambda found, _: kept.append(found))
        for number in _END_SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for found in kept:
            signal.raise_signal(found)


def process_state(process: Process) -> ProcessState:
    """Return the identity of this process."""
    _reap(process.pid)
    found = _read_status(process.pid)
    if found is None or found.began != process.began:
        return ProcessState.ENDED
    return ProcessState.PAUSED if found.code in ("T", "t") else ProcessState.RUNNING


def is_alive(process: Process) -> bool:
    """Return whether this very process still runs or is paused."""
    return process_state(process) is not ProcessState.ENDED


def send_signal(process: Process, number: signal.Signals) -> bool:
    """Send a signal to this very process; False when it has ended."""
    if not is_alive(process):
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def end_processes(processes: Iterable[Process], grace_s: float) -> None:
    """End processes: SIGTERM, and SIGKILL for those still there after `grace_s` (0: at once)."""
    alive = [each for each in processes if is_alive(each)]
    if grace_s > 0:
        for each in alive:
            send_signal(each, signal.SIGTERM)
            send_signal(each, signal.SIGCONT)
        alive = _wait_for_end(alive, grace_s)
    for each in alive:
        send_signal(each, signal.SIGKILL)
    _wait_for_end(alive, 10.0)


def _wait_for_end(processes: Iterable[Process], within_s: float) -> list[Process]:
    deadline = time.monotonic() + within_s
    alive = list(processes)
    while (alive := [each for each in alive if is_alive(each)]) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return alive


def _reap(pid: int) -> None:
    """Reap an ended child process; other processes are left alone."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


@dataclass(frozen=True, slots=True)
class _ProcessStatus:
    code: str
    began: str


def _read_status(pid: int) -> _ProcessStatus | None:
    """Return the state letter and the start time of a process; None when it ended."""
    if not (PROC_FOLDER / "self" / "stat").exists():
        return _read_status_by_ps(pid)
    try:
        stat = (PROC_FOLDER / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Behind the command name, which may hold spaces and brackets: state is field 3, start time 22.
    code, *fields = stat.rpartition(")")[2].split()
    return None if code in ("Z", "X") else _ProcessStatus(code, f"{_boot_id()}/{fields[18]}")


def _boot_id() -> str:
    """Name this boot: start times count from it, and begin again with it."""
    return (PROC_FOLDER / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _read_status_by_ps(pid: int) -> _ProcessStatus | None:
    """Do the same where there is no /proc (macOS, BSD); the start time is exact to a second."""
    found = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C", "TZ": "UTC"},
    ).stdout.split(maxsplit=1)
    if len(found) < 2 or found[0].startswith("Z"):  # noqa: PLR2004
        return None
    return _ProcessStatus(found[0][0], found[1].strip())
