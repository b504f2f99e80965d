"""`python -m tests.bench.keeping`: what journal and state of a create-all cost the processor.

The apply is the real one, on a cluster in memory. Milliseconds of processor time of its threads,
the best of some runs: other programs on the machine change them little, a broker not at all.
"""

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

from kplan.cluster.memory import MemoryCluster
from kplan.config.load import Inputs
from kplan.model.plan import Plan
from kplan.state.file_store import FileStore
from kplan.state.journal_writer import JournalWriter
from kplan.workflow.apply import Hands, apply
from kplan.workflow.project import PlanOptions, Ports, Project
from tests.bench.job import KEEPING, Stages, Wall
from tests.bench.sizes import SMALL, write_configuration

RUNS = 5

Spent = dict[str, float]


@contextmanager
def adding(spent: Spent, name: str) -> Iterator[None]:
    """Add up the processor time of a piece of work."""
    begun = time.thread_time()
    try:
        yield
    finally:
        spent[name] = spent.get(name, 0.0) + time.thread_time() - begun


def measured(spent: Spent) -> None:
    """Note the time of every call that keeps state or journal."""

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def calling(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is called with
            with adding(spent, call.__name__):
                return call(*given, **named)

        return calling

    begin = FileStore.recording

    @contextmanager
    def recording(store: FileStore, plan: Plan, nonce: str = "") -> Iterator[JournalWriter]:
        opening = begin(store, plan, nonce)
        with adding(spent, "recording"):
            journal = opening.__enter__()
        yield journal
        opening.__exit__(None, None, None)

    FileStore.recording = recording  # type: ignore[assignment, method-assign]
    for owner, names in KEEPING.items():
        for name in names:
            setattr(owner, name, timed(getattr(owner, name)))


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
    done = apply(project, PlanOptions(), ports, Hands(lambda _: True, stages))
    assert len(done.outcomes) == SMALL.topics + SMALL.acls
    return time.process_time() - begun


def main() -> None:
    """Measure some applies and print the best."""
    spent: Spent = {}
    measured(spent)
    runs: list[tuple[float, float, Spent]] = []
    for _ in range(RUNS):
        spent.clear()
        with tempfile.TemporaryDirectory() as scratch:
            whole = create_all(Path(scratch))
        runs.append((sum(spent.values()), whole, dict(spent)))
    kept, whole, parts = min(runs, key=lambda each: each[0])
    told = ", ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in parts.items())
    print(f"{SMALL}: journal and state {kept * 1000:.1f} ms of {whole * 1000:.0f} ({told})")


if __name__ == "__main__":
    main()
