"""A saved plan is held against thresholds and policies again when it is carried out."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.model.errors import PolicyDeniedError
from kplan.model.outcome import OutcomeStatus
from kplan.workflow.apply.apply import ApplyHandlers, ApplyResult
from kplan.workflow.apply.saved_plan import StaleAction, apply_saved
from kplan.workflow.plan.plan import PlanResult, save_plan
from kplan.workflow.ports import PlanOptions, PolicyOptions
from tests.project_harness import MAIN_TF, ProjectHarness

WITHOUT_PAYMENTS = MAIN_TF.replace(", payments = 6", "")
KEEP = """
class Keep:
    def validate_delete_topic(self, request, cluster):
        raise ValueError(f"{request.topic} is kept")
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    found.apply()
    found.cluster.set_topic_use("payments", TopicUse({0: PartitionUse(0, 5, None, 500, 0)}, ()))
    found.write(WITHOUT_PAYMENTS)
    save_plan(found.plan(), tmp_path / "p.kplan", found.ports.now())
    return found


def no(_: PlanResult) -> bool:
    return False


def applied(site: ProjectHarness, **given: object) -> ApplyResult:
    options = PlanOptions(**given)  # type: ignore[arg-type]
    hands = ApplyHandlers(no, site.watcher)
    path = site.folder / "p.kplan"
    return apply_saved(site.project, path, options, (site.ports, hands), StaleAction.ABORT)


@pytest.mark.parametrize(
    ("given", "code"),
    [({"max_dangerous": 0}, "KP451"), ({"max_change_pct": 30}, "KP452")],
)
def test_a_threshold_of_today_stops_a_plan_that_was_saved(
    site: ProjectHarness, given: dict[str, object], code: str
) -> None:
    """Issue 7: the same check again at apply; one of three objects goes, and it is dangerous."""
    done = applied(site, **given)
    assert [each.code for each in done.plan_result.plan.diagnostics] == [code]
    assert done.outcomes == ()
    assert "payments" in site.cluster.topics()


def test_more_deletes_than_today_are_let_through_stop_it(site: ProjectHarness) -> None:
    with pytest.raises(PolicyDeniedError):
        applied(site, max_deletes=0)
    assert "payments" in site.cluster.topics()


def test_a_threshold_that_it_keeps_lets_it_through(site: ProjectHarness) -> None:
    done = applied(site, max_dangerous=1, max_change_pct=40, max_deletes=1)
    assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED]
    assert "payments" not in site.cluster.topics()


def test_a_policy_of_today_refuses_the_change_it_is_about(
    site: ProjectHarness, tmp_path: Path
) -> None:
    """K201-26, item 1: the same check again at apply."""
    file = tmp_path / "keep.py"
    file.write_text(KEEP)
    done = applied(site, policies=PolicyOptions(paths=(str(file),)))
    (outcome,) = done.outcomes
    assert outcome.refusal is not None
    assert (outcome.status, outcome.refusal.error) == (OutcomeStatus.FAILED, "POLICY_VIOLATION")
    assert "payments is kept" in outcome.refusal.message
    assert "payments" in site.cluster.topics()
