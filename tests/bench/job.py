"""One kplan job, measured: `python -m tests.bench.job plan|apply|destroy BOOTSTRAP FOLDER`.

Prints one JSON line: seconds of each stage, seconds spent on journal and state and those of them
that the processor worked, peak memory.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

from kplan.apply.limits import Limits
from kplan.cluster.port import Cluster
from kplan.config.inputs import Inputs
from kplan.config.load import Configuration
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kafka.wire.transport import FrameStream
from kplan.model.errors import InProgress
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Batch, Change
from kplan.state.file_store import FileStore
from kplan.state.journal_writer import JournalWriter
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.plan.plan import PlanResult, make_plan
from kplan.workflow.ports import PlanOptions, Ports, Project

WAITING = "Waiting until visible"
PATIENCE_S = 1_200.0
"""How long the wait may take; the floor waits no longer."""
KEEPING = {
    FileStore: ("write", "discard_journal"),
    JournalWriter: ("on_send", "on_outcomes", "on_state_write", "end"),
}
"""What keeps state and journal, all of which is measured together."""


@dataclass(slots=True)
class Stages:
    """A progress that notes when each stage began; also the watcher of an apply."""

    begun: list[tuple[str, float]] = field(default_factory=list)
    requests: int = 0

    def stage(self, name: str, total: int | None = None) -> None:
        """Note the time."""
        del total
        self.begun.append((name, time.monotonic()))

    def advance(self, done: int = 1) -> None:
        """Hear it."""

    def note(self, text: str) -> None:
        """Hear it."""

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Count requests."""
        del batch, changes
        self.requests += 1

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Stop at the first failure: a benchmark of failures says nothing."""
        for each in outcomes:
            if each.status is not OutcomeStatus.APPLIED:
                raise AssertionError(each)

    def on_reassignment(self, progress: InProgress) -> None:
        """Hear it."""

    def on_visibility(self, visibility: Visibility) -> None:
        """Note when the last answer was there and the wait for the brokers began."""
        del visibility
        if self.begun[-1][0] != WAITING:
            self.stage(WAITING)

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Note when the last answer was there and the wait for the brokers began."""

    def seconds(self, end: float) -> dict[str, float]:
        """Give the length of each stage."""
        ends = [begun for _, begun in self.begun[1:]] + [end]
        found: dict[str, float] = {}
        for (name, begun), ended in zip(self.begun, ends, strict=True):
            found[name] = found.get(name, 0.0) + ended - begun
        return found


class Wall:
    """Real time."""

    def now(self) -> float:
        """Tell it."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(slots=True)
class Kept:
    """All calls that keep state or journal: name, seconds, and those that the processor worked.

    The seconds hold waits for disk, other threads and a broker on the same processors.
    """

    calls: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def clock(self) -> float:
        """Give the seconds of all."""
        return sum(seconds for _, seconds, _ in self.calls)

    @property
    def processor(self) -> float:
        """Give those that the processor worked."""
        return sum(worked for _, _, worked in self.calls)

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        """Add a call; threads may do so at the same time."""
        begun, worked = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            self.calls.append((name, time.monotonic() - begun, time.thread_time() - worked))


def measured(kept: Kept) -> None:
    """Note every call that keeps state or journal."""

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def calling(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is called with
            with kept.noted(name):
                return call(*given, **named)

        return calling

    begin = FileStore.open_journal

    @contextmanager
    def recording(
        store: FileStore,
        *given: Any,  # noqa: ANN401 - whatever it is called with
        **named: Any,  # noqa: ANN401 - as above
    ) -> Iterator[JournalWriter]:
        with ExitStack() as stack:
            with kept.noted("recording"):
                journal = stack.enter_context(begin(store, *given, **named))
            yield journal

    FileStore.open_journal = recording  # type: ignore[assignment, method-assign]
    for owner, names in KEEPING.items():
        for name in names:
            setattr(owner, name, timed(name, getattr(owner, name)))


def counted(asked: list[int]) -> None:
    """Note the API of every request that goes over kplan's own connections."""
    exchange = FrameStream.exchange

    def exchanging(
        link: FrameStream,
        frame: bytes | bytearray,
        *given: Any,  # noqa: ANN401 - whatever it is called with
    ) -> memoryview:
        asked.append(int.from_bytes(frame[4:6]))
        return exchange(link, frame, *given)

    FrameStream.exchange = exchanging  # type: ignore[assignment, method-assign]


def main() -> None:
    """Measure one job."""
    asked: list[int] = []
    counted(asked)
    kept = Kept()
    stages = Stages()
    measured(kept)
    job, bootstrap, folder = sys.argv[1:]
    environ = {**os.environ, "KPLAN_BOOTSTRAP_SERVERS": bootstrap, "KPLAN_TLS_ENABLED": "false"}
    project = Project(Path(folder), Path(folder) / "state" / "kplan.json", Inputs(environ=environ))

    def connect(configuration: Configuration, key: str) -> Cluster:
        del key  # there is one provider block
        block = configuration.providers[0]
        resolved = resolve_settings(block, environ, folder=Path(folder))
        assert resolved.settings is not None
        return open_cluster(resolved.settings)

    ports = Ports(connect, stages, Wall(), lambda: datetime.now(UTC), lambda: False)
    begun = time.monotonic()
    if job == "plan":
        found = make_plan(project, PlanOptions(), ports)
        assert not found.plan.has_changes, "the plan was to be empty"
    else:
        options = PlanOptions(is_destroy=job == "destroy", limits=Limits(visible_s=PATIENCE_S))
        done = apply(project, options, ports, ApplyHandlers(_approve, stages))
        assert all(each.is_verified for each in done.outcomes), "the brokers never served it"
    end = time.monotonic()
    print(
        json.dumps(
            {
                "seconds": end - begun,
                "stages": stages.seconds(end),
                "requests": stages.requests,
                "exchanges": len(asked),
                "kept": kept.clock,
                "kept_worked": kept.processor,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def _approve(planned: PlanResult) -> bool:
    return not planned.plan.has_errors


if __name__ == "__main__":
    main()
