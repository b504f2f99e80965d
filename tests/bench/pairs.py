"""`python -m tests.bench.pairs`: kplan against the raw floor, each on its broker, in turn.

The floor's job is compared with those stages of kplan that do the same work: "answered" is the
writes with their journal, "served" these and the wait until the broker serves all of them.
Evaluating HCL, asking the broker for its verdict and writing the state are shown apart; so is the
share that journal and state have in all of it.
Absolute seconds belong to the machine and the moment; the ratios are what counts. Every run is a
process of its own, so that peak memory is that of the job alone.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from tests.bench.job import WAITING
from tests.bench.sizes import LARGE, SMALL, Size, write_configuration, write_estate

Figures = Sequence[Mapping[str, Any]]

READING = ("Connecting", "Reading the cluster", "Planning")
WRITING = ("Applying",)
SERVED = ("Applying", WAITING)


def measured(module: str, *words: str) -> Mapping[str, Any]:
    """Run one job in a process of its own."""
    command = [sys.executable, "-m", f"tests.bench.{module}", *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, floor: Figures, kplan: Figures, stages: Sequence[str]) -> None:
    """Compare the floor with the stages of kplan that do the same: medians, ratio pair by pair."""
    is_served = WAITING in stages
    theirs = [each["seconds"] + is_served * each["visible"] for each in floor]
    mine = [sum(each["stages"].get(stage, 0.0) for stage in stages) for each in kplan]
    ratio = statistics.median(own / other for own, other in zip(mine, theirs, strict=True))
    print(
        f"  {name:<28} floor {statistics.median(theirs):6.2f} s"
        f"   kplan {statistics.median(mine):6.2f} s   ratio {ratio:5.2f}",
        flush=True,
    )


def rows(name: str, floor: Figures, kplan: Figures) -> None:
    """Compare the writes, the writes with the wait for their effect, and tell what else it took."""
    row(f"{name}, answered", floor, kplan, WRITING)
    row(f"{name}, served", floor, kplan, SERVED)
    parts(kplan)
    share = statistics.median(each["kept"] / each["seconds"] for each in kplan)
    worked = statistics.median(each["kept_worked"] / each["seconds"] for each in kplan)
    kept = statistics.median(each["kept"] for each in kplan)
    print(
        f"    journal and state: {kept:.3f} s, {share:.1%} of the apply;"
        f" {worked:.1%} without waits for disk, threads and the broker's processors"
    )


def parts(kplan: Figures) -> None:
    """Tell the seconds of every stage of kplan."""
    took = {
        stage: statistics.median(each["stages"].get(stage, 0.0) for each in kplan)
        for stage in kplan[-1]["stages"]
    }
    told = ", ".join(f"{stage.lower()} {seconds:.2f}" for stage, seconds in took.items())
    peak = max(each["peak_mb"] for each in kplan)
    print(f"    all of kplan: {told}; peak {peak:.0f} MB", flush=True)


def compare(size: Size, runs: int) -> None:
    """Measure create-all, small changes, empty plans and destroy-all, each side on its broker.

    A broker is busy for long after it answered (it makes and removes folders), which would be
    charged to whoever comes next. TMPDIR on a memory file system shortens that.
    """
    print(f"{size}, {runs} alternating runs")
    counts = (str(size.topics), str(size.acls), str(size.partitions))
    with (
        temporary_sandbox(SandboxSpec()) as theirs,
        temporary_sandbox(SandboxSpec()) as ours,
        tempfile.TemporaryDirectory() as scratch,
    ):
        folder = Path(scratch) / "estate"
        write_configuration(size, folder)
        at, own = theirs.bootstrap_servers, ours.bootstrap_servers
        floor: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        kplan: dict[str, list[Mapping[str, Any]]] = defaultdict(list)

        def both(what: str, job: str, verb: str, *more: str) -> None:
            floor[what].append(measured("floor", job, at, *counts, *more))
            kplan[what].append(measured("job", verb, own, str(folder)))

        for _ in range(runs):
            write_estate(size, folder)
            both("create all", "create", "apply")
            for number in (1, 2):
                both("no-change plan", "read", "plan")
                write_estate(size, folder, number)
                both("change 10", "change", "apply", str(number))
            both("destroy all", "delete", "destroy")
    row("no-change plan", floor["no-change plan"], kplan["no-change plan"], READING)
    parts(kplan["no-change plan"])
    for what in ("create all", "change 10", "destroy all"):
        rows(what, floor[what], kplan[what])


def main() -> None:
    """Measure the sizes asked for."""
    parser = ArgumentParser(prog="python -m tests.bench.pairs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", choices=("small", "large", "both"), default="both")
    asked = parser.parse_args()
    sizes = {"small": (SMALL,), "large": (LARGE,), "both": (SMALL, LARGE)}[asked.size]
    for size in sizes:
        compare(size, asked.runs)


if __name__ == "__main__":
    main()
