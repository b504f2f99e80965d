"""`python -m tests.bench.keeping`: what journal and state of a create-all cost the processor.

The apply is the real one, on a cluster in memory. Milliseconds of processor time of its threads,
the best of some runs: other programs on the machine change them little, a broker not at all.
"""

import gc
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.ports import PlanOptions, Ports, Project
from tests.bench.job import Kept, Stages, Wall, measured
from tests.bench.sizes import SMALL, write_configuration

RUNS = 5


def create_all(scratch: Path) -> float:
    """Apply the small estate for the first time; give the seconds of all of it."""
    folder = scratch / "estate"
    write_configuration(SMALL, folder)
    inputs = Inputs(environ={"XDG_CACHE_HOME": str(scratch)})
    project = Project(folder, folder / "state" / "kplan.json", inputs)
    cluster, stages = MemoryCluster(), Stages()
    ports = Ports(lambda *_: cluster, stages, Wall(), lambda: datetime.now(UTC), lambda: False)
    gc.collect()
    begun = time.process_time()
    done = apply(project, PlanOptions(), ports, ApplyHandlers(lambda _: True, stages))
    assert len(done.outcomes) == SMALL.topics + SMALL.acls
    return time.process_time() - begun


def main() -> None:
    """Measure some applies and print the best."""
    kept = Kept()
    measured(kept)
    runs: list[tuple[float, float, Mapping[str, float]]] = []
    for _ in range(RUNS):
        kept.calls.clear()
        with tempfile.TemporaryDirectory() as scratch:
            whole = create_all(Path(scratch))
        parts: defaultdict[str, float] = defaultdict(float)
        for name, _clock, worked in kept.calls:
            parts[name] += worked
        runs.append((kept.processor, whole, parts))
    spent, whole, best = min(runs, key=lambda each: each[0])
    told = ", ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in best.items())
    print(f"{SMALL}: journal and state {spent * 1000:.1f} ms of {whole * 1000:.0f} ({told})")


if __name__ == "__main__":
    main()
