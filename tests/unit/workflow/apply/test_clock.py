"""A clock that is moved between two runs: nothing but the life of a saved plan depends on it."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import StalePlanError
from kplan.model.plan import Action
from kplan.state.file import read_state
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.plan import PlanResult, save_plan
from kplan.workflow.ports import PlanOptions, Ports
from tests.project_harness import MAIN_TF, Killed, ProjectHarness

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NEXT = MAIN_TF.replace("86400000", "3600000")


@dataclass(slots=True)
class ClockedSite(ProjectHarness):
    """A site whose clock a test may move."""

    now: datetime = field(default=NOON)

    @property
    def ports(self) -> Ports:
        return replace(ProjectHarness(self.folder, self.cluster).ports, now=lambda: self.now)


@pytest.fixture
def site(tmp_path: Path) -> ClockedSite:
    found = ClockedSite(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    found.apply()
    found.write(NEXT)
    return found


@pytest.mark.parametrize("later", [-400 * DAY, -DAY, DAY - timedelta(seconds=1)])
def test_a_saved_plan_is_applied_before_its_time_is_over_and_from_the_future_too(
    site: ClockedSite, later: timedelta
) -> None:
    """The clock of the machine that applies is another one than that of the one that planned."""
    path = site.folder / "p"
    save_plan(site.plan(), path, site.ports.now())
    site.now = NOON + later
    hands = ApplyHandlers(lambda _: False, site.watcher)
    done = apply_saved(site.project, path, PlanOptions(), (site.ports, hands))
    assert done.is_approved
    assert not site.plan().plan.has_changes


def test_a_clock_that_jumps_ahead_ends_the_life_of_a_saved_plan(site: ClockedSite) -> None:
    path = site.folder / "p"
    save_plan(site.plan(), path, site.ports.now())
    site.now = NOON + DAY
    with pytest.raises(StalePlanError, match="good until 2026-01-03T12:00:00"):
        apply_saved(
            site.project,
            path,
            PlanOptions(),
            (site.ports, ApplyHandlers(lambda _: True, site.watcher)),
        )
    assert site.plan().plan.has_changes


@pytest.mark.parametrize("later", [-400 * DAY, 400 * DAY])
def test_an_apply_that_was_killed_is_resumed_whatever_the_clock_says_then(
    site: ClockedSite, later: timedelta
) -> None:
    """Which state is the later one is told by its serial."""

    def strike() -> None:
        raise Killed

    def approve(_: PlanResult) -> bool:
        site.cluster.run_before("alter_topic_configs", strike)
        return True

    with pytest.raises(Killed):
        site.apply(approve)
    site.cluster.clear_faults()
    site.now = NOON + later
    resume_apply(
        site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: False, site.watcher)
    )
    assert not site.plan().plan.has_changes
    site.write(MAIN_TF)
    assert site.apply().plan_result.plan.count(Action.UPDATE) == 2
    state = read_state(site.project.state_path)
    assert state is not None
    assert state.serial == 4
