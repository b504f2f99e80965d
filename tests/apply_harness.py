"""What tests of an apply need: a clock that does not wait and a watcher that remembers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kplan.apply.apply import apply_plan
from kplan.apply.limits import ApplyContext, Limits
from kplan.apply.progress import state_after
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds import KINDS
from kplan.model.errors import InProgress
from kplan.model.outcome import Outcome, Visibility
from kplan.model.plan import Batch, Change, Plan
from kplan.model.resource import Resource
from kplan.model.state import State
from tests.values import make_plan, read_cluster


@dataclass(slots=True)
class FakeClock:
    """Time that passes only by sleeping."""

    time: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def now(self) -> float:
        """Tell the time."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.sleeps.append(seconds)
        self.time += seconds


@dataclass(slots=True)
class RecordingWatcher:
    """A watcher that remembers what it heard, in order."""

    sent: list[tuple[str, int]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    outcome_counts: list[int] = field(default_factory=list)
    reassignments: list[tuple[int, int]] = field(default_factory=list)
    visibility: list[Visibility] = field(default_factory=list)
    verified: list[Outcome] = field(default_factory=list)

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Remember the request."""
        self.sent.append((batch.step.name, len(changes)))

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Remember the outcomes, and how many came at a time."""
        self.outcome_counts.append(len(outcomes))
        self.outcomes += outcomes

    def on_visibility(self, visibility: Visibility) -> None:
        """Remember who was waited for."""
        self.visibility.append(visibility)

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Remember what every broker serves."""
        self.verified += outcomes

    def on_reassignment(self, progress: InProgress) -> None:
        """Remember how much is left."""
        self.reassignments.append((progress.left, progress.total))


@dataclass(slots=True)
class ApplyHarness:
    """A cluster with a configuration applied to it again and again."""

    cluster: MemoryCluster
    state: State
    clock: FakeClock = field(default_factory=FakeClock)
    watcher: RecordingWatcher = field(default_factory=RecordingWatcher)
    pace: Limits = field(default_factory=Limits)
    stop_after: int | None = None

    def plan(self, resources: Iterable[Resource], **given: object) -> Plan:
        """Plan against the cluster as it is now."""
        declared = tuple(resources)
        return make_plan(
            declared, self.state, read_cluster(self.cluster, declared, self.state), **given
        )

    def apply(self, plan: Plan) -> dict[str, Outcome]:
        """Carry the plan out, keep the state, and give the outcomes by identity."""
        means = ApplyContext(
            self.cluster, KINDS, self.clock, self.watcher, self.pace, is_stopped=self._is_stopped
        )
        outcomes = apply_plan(plan, means)
        self.state = state_after(self.state, plan, outcomes, {})
        return {outcome.change.identity: outcome for outcome in outcomes}

    def _is_stopped(self) -> bool:
        return self.stop_after is not None and len(self.watcher.sent) >= self.stop_after
