"""What needs no broker, measured: `python -m tests.bench.offline TOPICS ACLS PARTITIONS`.

One block for each object. Prints one JSON line: seconds of CPU for parsing (python-hcl2 alone, and
kplan), evaluating, planning to create everything, and writing that plan
as text and JSON; peak memory. python-hcl2's is scaled up from 300 blocks, for it is linear.
"""

import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kplan.config.inputs import Inputs
from kplan.config.load import Configuration, load_configuration
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from kplan.kinds import KINDS
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from tests.bench.sizes import Size, write_blocks
from tests.values import make_plan, snapshot, state

SAMPLE = Size(100, 200)
_T = TypeVar("_T")


def timed(work: Callable[[], _T]) -> tuple[float, _T]:
    """Give the CPU seconds of one run, and what came of it."""
    gc.collect()
    begun = time.process_time()
    found = work()
    return time.process_time() - begun, found


def parser_s(size: Size, folder: Path) -> float:
    """Tell what python-hcl2 alone would take, from a sample."""
    from hcl2 import parses_to_tree

    write_blocks(SAMPLE, folder)
    text = (folder / "main.tf").read_text()
    parses_to_tree(text)
    best = min(timed(lambda: parses_to_tree(text))[0] for _ in range(3))
    return best * (size.topics + size.acls) / (SAMPLE.topics + SAMPLE.acls)


def loaded(folder: Path, inputs: Inputs) -> Configuration:
    """Load what must be right."""
    found = load_configuration(folder, inputs, KINDS)
    if found.diagnostics:
        raise AssertionError(found.diagnostics[0])
    return found


def measure(size: Size, scratch: Path) -> dict[str, float]:
    """Measure every stage, the parser warmed up."""
    took = {"hcl2": parser_s(size, scratch / "sample")}
    folder = scratch / "estate"
    write_blocks(size, folder)
    text = (folder / "main.tf").read_text()
    took["parse"], _ = timed(lambda: parse_file(Source("main.tf", text)))
    took["cold"], found = timed(lambda: loaded(folder, Inputs()))
    took["plan"], plan = timed(lambda: make_plan(found.resources, state(), snapshot()))
    took["text"], _ = timed(lambda: views.plan_text(plan, PLAIN_STYLE))
    took["json"], _ = timed(lambda: views.plan_json(plan))
    return took


def main() -> None:
    """Measure one size."""
    size = Size(*map(int, sys.argv[1:]))
    with tempfile.TemporaryDirectory() as scratch:
        took = measure(size, Path(scratch))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**took, "peak_mb": peak}))


if __name__ == "__main__":
    main()
