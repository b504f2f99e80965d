"""`python -m tests.soak`: what applies survive on a real Kafka, as a table.

Every line is a fault that is brought about while the installed command applies an estate; it is
passed when no state was torn, the run was finished afterwards, and the next plan was empty.
"""

import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.bench.sizes import Size
from tests.soak.estate import Estate
from tests.soak.faults import (
    ONE,
    THREE,
    both_destroy,
    clock_moved,
    full_disk,
    kill_active_controller,
    kill_and_restart,
    killed,
    lock_of_the_dead,
    moments,
    pause_a_while,
    struck,
)
from tests.soak.large import MANY, SLOW, SLOW_RATE, came_through, mutation_quota
from tests.soak.rounds import run_rounds, table

TOPICS = 250
PAGES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)

Ordeal = Callable[[Estate, Sandbox], str]
"""Goes through a fault with an estate, and says what went wrong, "" for nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    fault: str
    runs: int
    passed: int
    took_s: float

    def __str__(self) -> str:
        """Write it."""
        return f"{self.fault:<46}{self.runs:>6}{self.passed:>8}{self.took_s:>9.0f}"


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is removed again."""
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measured(fault: str, spec: SandboxSpec, ordeal: Ordeal, runs: int, factor: int = 1) -> Line:
    """Go through a fault so many times on one sandbox; what went wrong goes to stderr."""
    begun, passed = time.monotonic(), 0
    with temporary_sandbox(spec) as sandbox, scratch() as folder:
        for number in range(runs):
            estate = Estate(folder / f"run{number}", sandbox.bootstrap_servers, TOPICS, factor)
            estate.write()
            wrong = ordeal(estate, sandbox)
            passed += not wrong
            if wrong:
                print(f"{fault}, run {number}: {wrong}", file=sys.stderr, flush=True)
            estate.destroyed()
    return Line(fault, runs, passed, time.monotonic() - begun)


def large(fault: str, size: Size, rate: float | None = None) -> Line:
    """Apply, plan and destroy an estate, with so many mutations a second if a rate is given."""
    begun = time.monotonic()
    with (
        temporary_sandbox(SandboxSpec(heap_mb=2048)) as sandbox,
        scratch() as folder,
        ExitStack() as stack,
    ):
        if rate is not None:
            stack.enter_context(mutation_quota(sandbox.bootstrap_servers, rate))
        wrong = came_through(size, folder / "estate", sandbox.bootstrap_servers)
    if wrong:
        print(f"{fault}: {wrong}", file=sys.stderr, flush=True)
    return Line(fault, 1, int(not wrong), time.monotonic() - begun)


def lines(kills: int, runs: int) -> Iterator[Line]:
    """Give line after line."""
    moment, pages = moments(), iter(PAGES)
    yield measured("SIGKILL of kplan", ONE, lambda each, _: killed(each, moment()), kills)
    for fault, spec, strike, factor in (
        ("the only broker killed, back after 5 s", ONE, kill_and_restart(1, 5), 1),
        ("one of three brokers killed", THREE, kill_and_restart(2, 5), 2),
        ("the active controller killed", THREE, kill_active_controller(5), 2),
        ("a broker paused for 8 s", THREE, pause_a_while(1, 8), 2),
    ):
        yield measured(fault, spec, partial(struck, strike=strike), runs, factor)
    yield measured(
        "a lock left by a dead process", ONE, lambda each, _: lock_of_the_dead(each, 0.1), runs
    )
    yield measured(
        "two destroys of the same objects at once", ONE, lambda each, _: both_destroy(each), runs
    )
    yield measured(
        "clock a day ahead, then a day behind", ONE, lambda each, _: clock_moved(each, 0.3), runs
    )
    yield measured(
        "disk full but for 0 to 256 pages",
        ONE,
        lambda each, _: full_disk(each, next(pages)),
        len(PAGES) if runs else 0,
    )
    if runs:
        yield large("6,000 topics + 12,000 ACLs", MANY)
        yield large(f"600 topics, {SLOW_RATE:.0f} mutations a second", SLOW, SLOW_RATE)


def main() -> None:
    """Run the faults asked for and print the table."""
    parser = ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=0, help="random rounds with an observer")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    if asked.rounds:
        with scratch() as folder:
            tally = run_rounds(asked.rounds, asked.seed, folder / "rounds")
        print(f"seed {asked.seed}", *table(tally), sep="\n", flush=True)
        raise SystemExit(bool(tally.false))
    print(f"{'fault':<46}{'runs':>6}{'passed':>8}{'seconds':>9}", flush=True)
    is_bad = False
    for line in lines(asked.kills, asked.runs):
        is_bad |= line.passed < line.runs
        print(line, flush=True)
    raise SystemExit(is_bad)


if __name__ == "__main__":
    main()
