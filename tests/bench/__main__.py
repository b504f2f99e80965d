"""`python -m tests.bench`: kplan against the raw floor, on one broker, in alternating runs.

The floor's job is compared with those stages of kplan that do the same work; evaluating HCL, asking
the broker for its verdict and waiting until every broker serves the result are shown apart.
Absolute seconds belong to the machine and the moment; the ratios are what counts. Every run is a
process of its own, so that peak memory is that of the job alone.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kplan.sandbox.lifecycle import running
from kplan.sandbox.spec import SandboxSpec
from tests.bench.sizes import LARGE, SMALL, Size, write_configuration

Figures = Mapping[str, Any]

READING = ("Connecting", "Reading the cluster", "Planning")
WRITING = ("Applying",)


def measured(module: str, *words: str) -> Figures:
    """Run one job in a process of its own."""
    command = [sys.executable, "-m", f"tests.bench.{module}", *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, floor: list[Figures], kplan: list[Figures], stages: Sequence[str]) -> None:
    """Compare the floor with the stages of kplan that do the same: medians, ratio pair by pair."""
    mine = [sum(each["stages"].get(stage, 0.0) for stage in stages) for each in kplan]
    ratio = statistics.median(
        own / theirs["seconds"] for own, theirs in zip(mine, floor, strict=True)
    )
    peak = max(each["peak_mb"] for each in kplan)
    print(
        f"  {name:<16} floor {statistics.median(each['seconds'] for each in floor):6.2f} s"
        f"   kplan {statistics.median(mine):6.2f} s   ratio {ratio:5.2f}   peak {peak:4.0f} MB",
        flush=True,
    )
    visible = statistics.median(each.get("visible", 0.0) for each in floor)
    took = {
        stage: statistics.median(each["stages"].get(stage, 0.0) for each in kplan)
        for stage in kplan[-1]["stages"]
    }
    parts = ", ".join(f"{stage.lower()} {seconds:.2f}" for stage, seconds in took.items())
    print(f"    all of kplan: {parts}; the floor waited {visible:.2f} until visible")


def compare(size: Size, runs: int) -> None:
    """Measure create-all, no-change plan and destroy-all of one size, each side on its broker.

    A broker is busy for long after it answered (it makes and removes folders), which would be
    charged to whoever comes next. TMPDIR on a memory file system shortens that.
    """
    print(f"{size}, {runs} alternating runs")
    counts = (str(size.topics), str(size.acls))
    with (
        running(SandboxSpec()) as theirs,
        running(SandboxSpec()) as ours,
        tempfile.TemporaryDirectory() as scratch,
    ):
        folder = Path(scratch) / "estate"
        write_configuration(size, folder)
        at, own = theirs.bootstrap_servers, ours.bootstrap_servers
        floor: dict[str, list[Figures]] = {"create": [], "read": [], "delete": []}
        kplan: dict[str, list[Figures]] = {"create": [], "read": [], "delete": []}
        for _ in range(runs):
            floor["create"].append(measured("floor", "create", at, *counts))
            kplan["create"].append(measured("job", "apply", own, str(folder)))
            for _ in range(2):
                floor["read"].append(measured("floor", "read", at, *counts))
                kplan["read"].append(measured("job", "plan", own, str(folder)))
            floor["delete"].append(measured("floor", "delete", at, *counts))
            kplan["delete"].append(measured("job", "destroy", own, str(folder)))
    row("no-change plan", floor["read"], kplan["read"], READING)
    row("create all", floor["create"], kplan["create"], WRITING)
    row("destroy all", floor["delete"], kplan["delete"], WRITING)


def main() -> None:
    """Measure the sizes asked for."""
    parser = ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", choices=("small", "large", "both"), default="both")
    asked = parser.parse_args()
    sizes = {"small": (SMALL,), "large": (LARGE,), "both": (SMALL, LARGE)}[asked.size]
    for size in sizes:
        compare(size, asked.runs)


if __name__ == "__main__":
    main()
