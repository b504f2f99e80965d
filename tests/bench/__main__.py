"""`poe bench`: one table of what each stage of kplan costs, by size, as ratios.

    python -m tests.bench [--size small|medium|large]... [--runs N]

Offline stages are CPU seconds of one block per object; parsing stands beside python-hcl2 alone, the
others beside reading the same cluster with confluent-kafka and nothing else (the raw read floor).
Reading, planning and applying stand beside the same work of the raw floor, on a broker of their
own, in turn. The exponent tells how a stage grows from the smallest to the largest size (1.0 is
linear). Every run is a process of its own, so that peak memory is that of the job alone. Absolute
seconds belong to the machine and the moment.

The table is printed after each size, so that whoever cuts a run keeps what was measured; a part
that could not be measured is told on stderr, where every step is, and leaves its cells empty.
"""

import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kplan.model.errors import SandboxError
from kplan.sandbox.lifecycle import temporary_sandbox
from tests.bench.pairs import READING, SERVED, measured
from tests.bench.sizes import Size, cluster_for, write_configuration

SIZES: Mapping[str, Size] = {
    "small": Size(1_000, 2_000, 1),
    "medium": Size(5_000, 10_000, 1),
    "large": Size(20_000, 50_000, 1),
}
"""One partition each; `large` is on two brokers (decision 0081)."""

BEGUN = time.monotonic()
Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """All runs at one size by job: of kplan offline, of the floor, and of kplan on a broker."""

    size: Size
    runs: Mapping[str, list[Run]] = field(default_factory=lambda: defaultdict(list))

    def median(self, job: str, *parts: str) -> float:
        """Give the seconds of parts of a job, the median of its runs. Raises StatisticsError."""
        sums = [sum(each[part] for part in parts) for each in self.runs[job]]
        return float(statistics.median(sums))

    def staged(self, job: str, *stages: str) -> float:
        """Give the seconds of stages of kplan, the median of its runs. Raises StatisticsError."""
        sums = [sum(each["stages"].get(stage, 0.0) for stage in stages) for each in self.runs[job]]
        return float(statistics.median(sums))


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: seconds of kplan, and of what they are held against."""

    name: str
    mine: Callable[[Measured], float]
    base: Callable[[Measured], float]
    beside: str


def _read(found: Measured) -> float:
    return found.median("floor read", "seconds")


def _parsed(found: Measured) -> float:
    return found.median("offline", "hcl2")


def _offline(*parts: str) -> Callable[[Measured], float]:
    return lambda found: found.median("offline", *parts)


ROWS = (
    Row("parse", _offline("parse"), _parsed, "python-hcl2"),
    Row(
        "evaluate",
        lambda x: x.median("offline", "cold") - x.median("offline", "parse"),
        _parsed,
        "python-hcl2",
    ),
    Row("read", lambda x: x.staged("plan", *READING[:2]), _read, "raw read"),
    Row("plan, nothing changes", lambda x: x.staged("plan", "Planning"), _read, "raw read"),
    Row("plan, everything new", _offline("plan"), _read, "raw read"),
    Row("render text", _offline("text"), _read, "raw read"),
    Row("render JSON", _offline("json"), _read, "raw read"),
    Row(
        "apply, served",
        lambda x: x.staged("apply", *SERVED),
        lambda x: x.median("floor create", "seconds", "visible"),
        "raw create",
    ),
    Row(
        "no-change plan, whole",
        lambda x: x.median("plan", "seconds"),
        lambda x: _read(x) + x.staged("plan", "Reading configuration"),
        "raw read + parsing",
    ),
)


def measure(found: Measured, runs: int) -> None:
    """Measure one size: offline, the floor's writes on one cluster, all else on another.

    Raises CalledProcessError when a job fails and SandboxError when a cluster does; what was
    measured before stays in `found`.
    """
    size = found.size
    counts = (str(size.topics), str(size.acls), str(size.partitions))

    def run(job: str, *words: str) -> None:
        with told(f"{size}: {job}"):
            found.runs[job].append(measured(*words))

    run("offline", "offline", *counts)
    with cluster(size) as at:
        run("floor create", "floor", "create", at, *counts)
    with cluster(size) as at, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "estate"
        write_configuration(size, folder)
        run("apply", "job", "apply", at, str(folder))
        for _ in range(runs):
            run("floor read", "floor", "read", at, *counts)
            run("plan", "job", "plan", at, str(folder))


@contextmanager
def cluster(size: Size) -> Iterator[str]:
    """Run a cluster of the right shape, and give its address."""
    with ExitStack() as stack:
        with told(f"{size}: a cluster of {cluster_for(size).brokers}"):
            broker = stack.enter_context(temporary_sandbox(cluster_for(size)))
        yield broker.bootstrap_servers


@contextmanager
def told(step: str) -> Iterator[None]:
    """Say on stderr that a step begins, and how long it took."""
    begun = time.monotonic()
    tell(f"{step} ...")
    try:
        yield
    finally:
        tell(f"{step}: {time.monotonic() - begun:.1f} s")


def tell(text: str) -> None:
    """Say something on stderr, with the time since the benchmark began."""
    minutes, seconds = divmod(int(time.monotonic() - BEGUN), 60)
    print(f"{minutes:3}:{seconds:02} {text}", file=sys.stderr, flush=True)


def table(found: Sequence[Measured]) -> list[str]:
    """Write the table as Markdown."""
    sizes = [f"{each.size.topics // 1000}k + {each.size.acls // 1000}k" for each in found]
    lines = [
        f"| stage | compared with | {' | '.join(sizes)} | exponent |",
        f"|---|---|{'---|' * (len(sizes) + 1)}",
    ]
    for row in ROWS:
        cells = [_cell(row, each) for each in found]
        lines.append(
            f"| {row.name} | {row.beside} | {' | '.join(cells)} | {_exponent(row, found)} |"
        )
    told: Mapping[str, Callable[[Measured], str]] = {
        "peak memory, plan": lambda x: _most(x.runs["plan"], "peak_mb", " MB"),
        "peak memory, apply": lambda x: _most(x.runs["apply"], "peak_mb", " MB"),
        "peak memory, a block each": lambda x: _most(x.runs["offline"], "peak_mb", " MB"),
        "requests of a plan": lambda x: _most(x.runs["plan"], "exchanges"),
        "writes of an apply": lambda x: _most(x.runs["apply"], "requests"),
    }
    for name, tell in told.items():
        lines.append(f"| {name} | | {' | '.join(tell(x) for x in found)} | |")
    return lines


def _cell(row: Row, found: Measured) -> str:
    try:
        mine = row.mine(found)
    except statistics.StatisticsError:
        return ""
    try:
        return f"{mine:.2f} s, {mine / row.base(found):.2f} x"
    except statistics.StatisticsError:
        return f"{mine:.2f} s"


def _most(runs: Sequence[Run], figure: str, unit: str = "") -> str:
    return f"{max(each[figure] for each in runs):.0f}{unit}" if runs else ""


def _exponent(row: Row, found: Sequence[Measured]) -> str:
    points = []
    for each in found:
        with suppress(statistics.StatisticsError):
            points.append((each.size.topics + each.size.acls, row.mine(each)))
    if len(points) < 2 or points[0][1] <= 0:
        return ""
    (small, first), (large, last) = points[0], points[-1]
    return f"{math.log(last / first) / math.log(large / small):.2f}"


def start_up() -> list[str]:
    """Tell wall and CPU seconds of commands that ask nothing, the best of ten runs in turn.

    The import of typer alone, and of typer with what it loads to read one option, are their floor.
    """
    kplan = ("-m", "kplan.cli.main")
    asked = {
        "import typer": ("-c", "import typer"),
        "import typer, and pydantic with it": ("-c", "import typer, pydantic"),
        "kplan version": (*kplan, "version"),
        "kplan -help": (*kplan, "-help"),
        "kplan plan -help": (*kplan, "plan", "-help"),
        "kplan validate": (*kplan, "-chdir=examples/quickstart", "validate"),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(10):
        for name, words in asked.items():
            took[name].append(_command(words))
    lines = ["| start-up | wall | CPU |", "|---|---|---|"]
    for name, runs in took.items():
        wall, cpu = (min(each[at] for each in runs) for at in (0, 1))
        lines.append(f"| {name} | {wall * 1000:.0f} ms | {cpu * 1000:.0f} ms |")
    return lines


def _command(words: Sequence[str]) -> tuple[float, float]:
    begun, before = time.monotonic(), os.times()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return time.monotonic() - begun, cpu


def main() -> None:
    """Measure the sizes asked for, the smallest first, and print the table after each."""
    parser = ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--size", choices=tuple(SIZES), action="append")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with told("start-up"):
        lines = start_up()
    print("\n".join(lines), flush=True)
    found: list[Measured] = []
    for name in (name for name in SIZES if name in (asked.size or SIZES)):
        found.append(Measured(SIZES[name]))
        try:
            measure(found[-1], asked.runs)
        except (subprocess.CalledProcessError, SandboxError) as failure:
            tell(f"{SIZES[name]}: not measured to the end, {failure}")
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        print(f"\n{platform.platform()}, {os.cpu_count()} processors, load {load}\n")
        print("\n".join(table(found)), flush=True)


if __name__ == "__main__":
    main()
