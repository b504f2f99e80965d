from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import StateError
from kplan.state import file
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.watchers import CHECKPOINT_INTERVAL_S
from kplan.workflow.ports import PlanOptions
from tests.apply_harness import FakeClock, RecordingWatcher
from tests.project_harness import MAIN_TF, Killed, ProjectHarness


@dataclass(slots=True)
class SlowClock(FakeClock):
    """Every outcome comes a while after the one before."""

    step_s: float = CHECKPOINT_INTERVAL_S

    def now(self) -> float:
        self.time += self.step_s
        return self.time


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    return found


def applied(site: ProjectHarness, clock: FakeClock) -> None:
    ports = replace(site.ports, clock=clock)
    apply(site.project, PlanOptions(), ports, ApplyHandlers(lambda _: True, RecordingWatcher()))


def serials(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Remember the serial of every state that is written, and how much it owns."""
    seen: list[tuple[int, int]] = []
    write: Callable[..., None] = file.write_state

    def noting(path: Path, state: object) -> None:
        seen.append((state.serial, len(state.owned)))  # type: ignore[attr-defined] # a State
        write(path, state)

    monkeypatch.setattr(file, "write_state", noting)
    return seen


def test_a_short_apply_writes_its_state_once(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = serials(monkeypatch)
    applied(site, FakeClock())
    assert seen == [(1, 3)]


def test_a_long_apply_writes_what_it_owns_so_far(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """plan-apply.md 3b: one write at the end, and every 30 s before."""
    seen = serials(monkeypatch)
    applied(site, SlowClock())
    assert [serial for serial, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[0] == (1, 1)
    assert seen[-1][1] == 3
    assert not site.plan().plan.has_changes


@pytest.mark.parametrize("call", ["create_acls", "create_topics"])
def test_an_apply_killed_after_such_a_write_is_resumed_to_the_goal(
    site: ProjectHarness, call: str
) -> None:
    def strike() -> None:
        raise Killed

    site.cluster.run_before(call, strike)
    with pytest.raises(Killed):
        applied(site, SlowClock())
    resume_apply(
        site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: False, site.watcher)
    )
    assert not site.plan().plan.has_changes


def test_a_write_in_between_that_fails_is_made_up_for_at_the_end(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    write: Callable[..., None] = file.write_state
    failures = [StateError("the disk is full")]

    def failing(path: Path, state: object) -> None:
        if failures:
            raise failures.pop()
        write(path, state)

    monkeypatch.setattr(file, "write_state", failing)
    applied(site, SlowClock())
    assert not failures
    assert not site.plan().plan.has_changes
