"""`python -m tests.soak`: what applies survive on a real Kafka, as a table.

Every line is a fault that is brought about while the installed command applies an estate; it is
passed when no state was torn, the run was finished afterwards, and the next plan was empty.
"""

import random
import shutil
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kplan.sandbox import control
from kplan.sandbox.lifecycle import running
from kplan.sandbox.record import Sandbox
from kplan.sandbox.spec import SandboxSpec
from tests.soak.estate import Estate, applied_while, kill_after

TOPICS = 250
PATIENCE = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    fault: str
    runs: int
    passed: int
    took_s: float


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is removed again."""
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kills(runs: int) -> Line:
    """SIGKILL kplan at random moments of an apply of 500 items, and resume."""
    moments = random.Random(7)
    begun, passed = time.monotonic(), 0
    with running(SandboxSpec()) as sandbox, scratch() as folder:
        for number in range(runs):
            estate = Estate(folder / f"kill{number}", sandbox.bootstrap_servers, TOPICS)
            estate.write()
            applied_while(estate, kill_after(moments.uniform(0.0, 1.5)))
            passed += estate.finished().code == 0 and estate.is_reached()
            estate.destroyed()
    return Line("SIGKILL of kplan, then resume", runs, passed, time.monotonic() - begun)


def struck(
    fault: str, spec: SandboxSpec, strike: Callable[[Sandbox], None], runs: int, factor: int = 1
) -> Line:
    """Strike a node while kplan applies; that apply may fail, the next must reach the goal."""
    begun, passed = time.monotonic(), 0
    for number in range(runs):
        with running(spec) as sandbox, scratch() as folder:
            estate = Estate(folder / f"node{number}", sandbox.bootstrap_servers, TOPICS, factor)
            estate.write()
            other = threading.Thread(target=strike, args=(sandbox,))
            applied_while(estate, lambda _, other=other: other.start())  # type: ignore[misc]
            other.join()
            passed += estate.finished().code == 0 and estate.is_reached()
    return Line(fault, runs, passed, time.monotonic() - begun)


def kill_and_restart(node: int, after_s: float) -> Callable[[Sandbox], None]:
    """Make a strike: the node dies and comes back."""

    def strike(sandbox: Sandbox) -> None:
        control.kill(sandbox.folder, node)
        time.sleep(after_s)
        control.restart(sandbox.folder, node)

    return strike


def pause_a_while(node: int, for_s: float) -> Callable[[Sandbox], None]:
    """Make a strike: the node stands still and goes on."""

    def strike(sandbox: Sandbox) -> None:
        control.pause(sandbox.folder, node)
        time.sleep(for_s)
        control.resume(sandbox.folder, node)

    return strike


def large() -> Line:
    """Apply 6,000 topics and as many ACLs."""
    begun = time.monotonic()
    with running(SandboxSpec(heap_mb=2048)) as sandbox, scratch() as folder:
        estate = Estate(folder / "large", sandbox.bootstrap_servers, 6_000)
        estate.write()
        passed = estate.run("apply", "-auto-approve").code == 0
    return Line("6,000 topics + 6,000 ACLs", 1, int(passed), time.monotonic() - begun)


def main() -> None:
    """Run the faults asked for and print the table."""
    parser = ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--runs", type=int, default=2)
    asked = parser.parse_args()
    runs = asked.runs
    one = SandboxSpec(server_properties=PATIENCE)
    three = SandboxSpec(brokers=3, server_properties=PATIENCE)
    jobs: list[Callable[[], Line]] = [
        lambda: kills(asked.kills),
        lambda: struck("the only broker killed, back after 5 s", one, kill_and_restart(1, 5), runs),
        lambda: struck("one of three brokers killed", three, kill_and_restart(2, 5), runs, 2),
        lambda: struck("a controller killed", three, kill_and_restart(101, 5), runs, 2),
        lambda: struck("a broker paused for 8 s", three, pause_a_while(1, 8), runs, 2),
        large,
    ]
    print(f"{'fault':<42}{'runs':>6}{'passed':>8}{'seconds':>9}", flush=True)
    is_bad = False
    for job in jobs:
        line = job()
        is_bad |= line.passed < line.runs
        print(f"{line.fault:<42}{line.runs:>6}{line.passed:>8}{line.took_s:>9.0f}", flush=True)
    raise SystemExit(is_bad)


if __name__ == "__main__":
    main()
