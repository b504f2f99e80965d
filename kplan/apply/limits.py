"""Limits of an apply, the ports it takes (clock, watcher), and the context that holds them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Protocol

from kplan.cluster.port import Cluster
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.errors import InProgress
from kplan.model.outcome import Outcome, Visibility
from kplan.model.plan import Batch, Change

MAX_IN_FLIGHT = 2
"""Requests under way at a time: one is executed, and the next is there when it is done.

The controller works on one at a time, so more of them only wait there (decision 0010).
"""

_STOP_CHECK_S = 0.5  # how long a request to stop may go unnoticed


class Clock(Protocol):
    """Time, so that tests need none."""

    def now(self) -> float:
        """Seconds on a clock that never goes backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of waiting, in seconds. All are positive: Kafka 4 has no "do not wait" (trap 1).

    `in_flight`: how many requests of one step are under way at a time.
    `settle_s`: how long an item without an answer is looked for before it is called unknown.
    `visible_s`: how long apply waits for every broker to serve what was applied.
    `stall_s`: after this time in which no broker came nearer to that, the wait ends: another client
    has changed it meanwhile, or a partition stays without a leader.
    `total_s`: after this no request is sent any more.
    """

    in_flight: int = MAX_IN_FLIGHT
    max_attempts: int = 6
    first_pause_s: float = 0.2
    max_pause_s: float = 5.0
    settle_s: float = 20.0
    visible_s: float = 300.0
    stall_s: float = 30.0
    total_s: float = 3_600.0
    waits_for_visibility: bool = True

    def __post_init__(self) -> None:
        """Refuse bounds that cannot be kept."""
        if min(self.in_flight, self.max_attempts, self.settle_s, self.visible_s, self.total_s) <= 0:
            raise ValueError("bounds of an apply must be greater than 0")

    def pause_s(self, attempt: int, jitter: random.Random) -> float:
        """Seconds to wait before send number `attempt` + 1: exponential, with full jitter above."""
        ceiling = min(self.max_pause_s, self.first_pause_s * 2.0 ** min(attempt - 1, 30))
        return ceiling / 2 + jitter.random() * ceiling / 2


class Watcher(Protocol):
    """Receives the events of an apply: the progress display and the journal implement it."""

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Hear of changes that are about to be sent; a journal writes its intent here."""
        ...

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Hear the outcome of changes: all of one response, or of one reading."""
        ...

    def on_visibility(self, visibility: Visibility) -> None:
        """Receive the brokers that do not serve the applied changes yet."""
        ...

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Hear which applied changes every broker serves, once the wait is over."""
        ...

    def on_reassignment(self, progress: InProgress) -> None:
        """Hear how many partitions are not where they are to be yet."""
        ...


def never_stop() -> bool:
    """Never ask to stop."""
    return False


@dataclass(frozen=True, slots=True)
class ApplyContext:
    """What an apply works with. `is_stopped` is asked before every request."""

    cluster: Cluster
    kinds: Sequence[ResourceKind]
    clock: Clock
    watcher: Watcher
    limits: Limits = Limits()
    is_stopped: Callable[[], bool] = never_stop
    jitter: random.Random = field(default_factory=random.Random)

    def wait(self, seconds: float) -> None:
        """Wait, unless someone asks to stop meanwhile."""
        until = self.clock.now() + seconds
        while (left := until - self.clock.now()) > 0 and not self.is_stopped():
            self.clock.sleep(min(left, _STOP_CHECK_S))

    def kind(self, name: str) -> ResourceKind:
        """Return the kind of that name."""
        return next(kind for kind in self.kinds if kind.name == name)
