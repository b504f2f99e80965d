"""`poe bench`: one table of what each stage of kplan costs, by size, as ratios.

    python -m tests.bench [--size small|medium|large]... [--runs N]

Offline stages are CPU seconds of one block per object; parsing stands beside python-hcl2 alone, the
others beside reading the same cluster with confluent-kafka and nothing else (the raw read floor).
Reading, planning and applying stand beside the same work of the raw floor, on a broker of their
own, in turn. The exponent tells how a stage grows from the smallest to the largest size (1.0 is
linear). Every run is a process of its own, so that peak memory is that of the job alone. Absolute
seconds belong to the machine and the moment.
"""

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kplan.sandbox.lifecycle import running
from tests.bench.pairs import READING, SERVED, measured
from tests.bench.sizes import Size, cluster_for, write_configuration

SIZES: Mapping[str, Size] = {
    "small": Size(1_000, 2_000, 1),
    "medium": Size(5_000, 10_000, 1),
    "large": Size(20_000, 50_000, 1),
}
"""One partition each; `large` is on two brokers, for one could not open so many files."""

Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """All runs at one size: of kplan offline, of the floor, and of kplan on a broker."""

    size: Size
    offline: Run
    floor_create: Run
    floor_read: Sequence[Run]
    applied: Run
    planned: Sequence[Run]

    @property
    def read_s(self) -> float:
        """The raw read floor in seconds."""
        return float(statistics.median(each["seconds"] for each in self.floor_read))

    def staged(self, runs: Sequence[Run], *stages: str) -> float:
        """Give the seconds of stages, the median of the runs."""
        sums = [sum(each["stages"].get(stage, 0.0) for stage in stages) for each in runs]
        return float(statistics.median(sums))


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: seconds of kplan, and of what they are held against."""

    name: str
    mine: Callable[[Measured], float]
    base: Callable[[Measured], float]
    beside: str


def _read(found: Measured) -> float:
    return found.read_s


def _created(found: Measured) -> float:
    return float(found.floor_create["seconds"] + found.floor_create["visible"])


ROWS = (
    Row(
        "parse, no cache", lambda x: x.offline["parse"], lambda x: x.offline["hcl2"], "python-hcl2"
    ),
    Row(
        "evaluate",
        lambda x: x.offline["cold"] - x.offline["parse"],
        lambda x: x.offline["hcl2"],
        "python-hcl2",
    ),
    Row(
        "load, nothing changed",
        lambda x: x.offline["warm"],
        lambda x: x.offline["hcl2"],
        "python-hcl2",
    ),
    Row("read", lambda x: x.staged(x.planned, *READING[:2]), _read, "raw read"),
    Row("plan, nothing changes", lambda x: x.staged(x.planned, "Planning"), _read, "raw read"),
    Row("plan, everything new", lambda x: x.offline["plan"], _read, "raw read"),
    Row("render text", lambda x: x.offline["text"], _read, "raw read"),
    Row("render JSON", lambda x: x.offline["json"], _read, "raw read"),
    Row("apply, served", lambda x: x.staged([x.applied], *SERVED), _created, "raw create"),
    Row(
        "no-change plan, whole",
        lambda x: statistics.median(each["seconds"] for each in x.planned),
        lambda x: x.read_s + x.staged(x.planned, "Reading configuration"),
        "raw read + parsing",
    ),
)


def measure(size: Size, runs: int) -> Measured:
    """Measure one size: offline, the floor's writes on one broker, all else on another."""
    counts = (str(size.topics), str(size.acls), str(size.partitions))
    offline = measured("offline", *counts)
    with running(cluster_for(size)) as broker:
        create = measured("floor", "create", broker.bootstrap_servers, *counts)
    with running(cluster_for(size)) as broker, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "estate"
        write_configuration(size, folder)
        at = broker.bootstrap_servers
        applied = measured("job", "apply", at, str(folder))
        pairs = [
            (measured("floor", "read", at, *counts), measured("job", "plan", at, str(folder)))
            for _ in range(runs)
        ]
    read, planned = zip(*pairs, strict=True)
    return Measured(size, offline, create, read, applied, planned)


def table(found: Sequence[Measured]) -> list[str]:
    """Write the table as Markdown."""
    sizes = [f"{each.size.topics // 1000}k + {each.size.acls // 1000}k" for each in found]
    lines = [
        f"| stage | beside | {' | '.join(sizes)} | exponent |",
        f"|---|---|{'---|' * (len(sizes) + 1)}",
    ]
    for row in ROWS:
        cells = [f"{row.mine(x):.2f} s, {row.mine(x) / row.base(x):.2f} x" for x in found]
        exponent = _exponent([(x.size.topics + x.size.acls, row.mine(x)) for x in found])
        lines.append(f"| {row.name} | {row.beside} | {' | '.join(cells)} | {exponent} |")
    told: Mapping[str, Callable[[Measured], str]] = {
        "peak memory, plan": lambda x: _peak(x.planned),
        "peak memory, apply": lambda x: _peak([x.applied]),
        "peak memory, a block each": lambda x: _peak([x.offline]),
        "requests of a plan": lambda x: f"{x.planned[-1]['exchanges']}",
        "writes of an apply": lambda x: f"{x.applied['requests']}",
    }
    for name, tell in told.items():
        lines.append(f"| {name} | | {' | '.join(tell(x) for x in found)} | |")
    return lines


def _peak(runs: Sequence[Run]) -> str:
    return f"{max(each['peak_mb'] for each in runs):.0f} MB"


def _exponent(points: Sequence[tuple[int, float]]) -> str:
    (small, first), (large, last) = points[0], points[-1]
    if small == large or min(first, last) <= 0:
        return ""
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
    """Measure the sizes asked for, and print the table; raw figures go to stderr."""
    parser = ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--size", choices=tuple(SIZES), action="append")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    lines = start_up()
    found = []
    for name in asked.size or SIZES:
        try:
            found.append(measure(SIZES[name], asked.runs))
        except subprocess.CalledProcessError as failure:  # what was measured before is shown
            print(f"{name}: not measured, {failure}", file=sys.stderr)
            continue
        print(json.dumps({name: [found[-1].offline, found[-1].floor_create]}), file=sys.stderr)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{platform.platform()}, {os.cpu_count()} processors, load {load}\n")
    print("\n".join([*lines, "", *(table(found) if found else ())]))


if __name__ == "__main__":
    main()
