"""Wait until nodes serve, and start anew those that ended by a failure that may pass."""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.process import is_alive
from kplan.sandbox.runtime import node_folder
from kplan.sandbox.sandbox import Progress, ProgressStep, Sandbox, Stage

STARTED_LINE = re.compile(rb"Kafka Server started|\[KafkaServer id=\d+\] started|binding to port")
"""What says that a node serves: one with KRaft, one with ZooKeeper, or ZooKeeper itself."""
UNFENCED_LINE = re.compile(rb"The broker has been unfenced")
COUNTED_LINE = re.compile(rb"Recorded new (ZK )?controller")
FIRST_RELEASE_THAT_STARTS_UNFENCED = (4, 0)
"""Older brokers say that they serve before the cluster counts on them, and then one of these."""
LONGEST_STARTED_LINE = 40
PASSING_FAILURES = {
    b"Address already in use": 2,
    b"waiting for the controller to acknowledge that we are caught up": 1,
}
"""Failures with the retries that they are worth.

A port that was taken between our look and Kafka's; a broker that no controller registered within
the minute that Kafka gives it, as on a machine that stood still. Some misconfigured brokers end so
too, each time.
"""
LEAST_START_S = 3.0
"""With less time no other attempt is made: its end would hide why the one before failed."""
LOG_TAIL_LINES = 25
POLL_S = 0.03


class PassingError(SandboxError):
    """What another attempt may not meet."""

    def __init__(self, detail: str, hint: str, retries: int) -> None:
        super().__init__(detail, hint=hint)
        self.retries = retries


def retry_start(start: Callable[[float], Sandbox], timeout_s: float) -> Sandbox:
    """Start nodes, anew after a failure that may pass; `start` gets the time that is left.

    Raises SandboxError.
    """
    deadline = time.monotonic() + timeout_s
    left_s = timeout_s
    for attempt in count():
        try:
            return start(left_s)
        except PassingError as failure:
            left_s = deadline - time.monotonic()
            if attempt >= failure.retries or left_s < LEAST_START_S:
                raise
    raise AssertionError  # the loop returns or raises


def wait_until_started(
    sandbox: Sandbox, seen: Mapping[int, int], progress: Progress, timeout_s: float
) -> None:
    """Wait until the nodes in `seen` serve; `seen` says how much of each one's log is old (bytes).

    A broker says so itself once it has caught up with the metadata and the cluster counts on it.
    Raises SandboxError for a node that ended, or when the time is up.
    """
    deadline = time.monotonic() + timeout_s
    waiting = dict(seen)
    missing = {number: _lines_of_start(sandbox, number) for number in seen}
    while waiting:
        for number in list(waiting):
            log = node_folder(sandbox.folder, sandbox.node(number)) / "server.log"
            old = max(seen[number], waiting[number] - LONGEST_STARTED_LINE)
            waiting[number], fresh = _read_log(log, old)
            missing[number] = [each for each in missing[number] if not each.search(fresh)]
            if not missing[number]:
                del waiting[number]
                progress(
                    ProgressStep(Stage.START, f"node {number}", len(seen) - len(waiting), len(seen))
                )
            elif not is_alive(sandbox.processes[number]):
                raise _crash_error(sandbox, number, seen[number])
        if time.monotonic() > deadline:
            raise _timeout_error(sandbox, sorted(waiting), timeout_s)
        time.sleep(POLL_S)


def _lines_of_start(sandbox: Sandbox, number: int) -> list[re.Pattern[bytes]]:
    release = replace(sandbox.spec, kafka_version=sandbox.version(number)).release
    if not sandbox.node(number).is_broker or release >= FIRST_RELEASE_THAT_STARTS_UNFENCED:
        return [STARTED_LINE]
    return [STARTED_LINE, COUNTED_LINE if sandbox.spec.has_zookeeper else UNFENCED_LINE]


def _read_log(log: Path, old: int) -> tuple[int, bytes]:
    """Return how far the log was read, and what is behind the first `old` bytes."""
    try:
        with log.open("rb") as handle:
            handle.seek(old)
            fresh = handle.read()
            return handle.tell(), fresh
    except FileNotFoundError:
        return old, b""


def _crash_error(sandbox: Sandbox, number: int, seen: int) -> SandboxError:
    home = node_folder(sandbox.folder, sandbox.node(number))
    _, fresh = _read_log(home / "server.log", seen)
    said = f"Node {number} ended while starting. {log_tail(sandbox, number)}"
    hint = f"The whole log is in {home}."
    for failure, retries in PASSING_FAILURES.items():
        if failure in fresh:
            return PassingError(said, hint, retries)
    return SandboxError(said, hint=hint)


def _timeout_error(sandbox: Sandbox, numbers: list[int], timeout_s: float) -> SandboxError:
    names = ", ".join(str(number) for number in numbers)
    waited = f"{round(timeout_s, 1):g} s"
    return SandboxError(
        f"Not serving after {waited}: node {names}. {log_tail(sandbox, numbers[0])}"
    )


def log_tail(sandbox: Sandbox, number: int) -> str:
    """Return the end of a node's log and of its console, where Java itself speaks."""
    home = node_folder(sandbox.folder, sandbox.node(number))
    items = [
        *last_lines(home / "server.log", LOG_TAIL_LINES),
        *last_lines(home / "console.log", LOG_TAIL_LINES),
    ]
    return "\n".join([f"The end of the log of node {number}:", *items])


def last_lines(file: Path, lines: int) -> list[str]:
    """Return the last lines of a file; none if it does not exist."""
    try:
        with file.open(encoding="utf-8", errors="replace") as handle:
            return [line.rstrip("\n") for line in deque(handle, maxlen=lines)]
    except FileNotFoundError:
        return []
