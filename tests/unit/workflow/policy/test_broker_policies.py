"""What a policy of the broker refuses at plan time, told apart from what is merely too large."""

from pathlib import Path

import pytest

from kplan.cli.exit_code import ExitCode, plan_exit
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import RefusalOrigin
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Plan
from kplan.workflow.ports import PolicyOptions
from tests.project_harness import ProjectHarness

TOPICS = """
resource "kafka_topic" "t" {
  for_each           = { a = 3, b = 3 }
  name               = each.key
  partitions         = each.value
  replication_factor = 1
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(TOPICS)
    return found


def said(plan: Plan) -> list[tuple[str, str, str]]:
    return [(each.identity, each.origin.value, each.message) for each in plan.violations]


def test_a_policy_of_the_broker_refuses_the_one_change_at_plan(site: ProjectHarness) -> None:
    """K201-13, K201-14: found at plan thanks to validate-only, with the broker's own text."""
    site.cluster.refuse(
        "POLICY_VIOLATION", on="a", call="preview_topics", message="names begin with x"
    )
    made = site.plan().plan
    assert said(made) == [("a", "broker", "names begin with x")]
    assert [each.code for each in made.all_diagnostics] == ["KP331"]
    assert plan_exit(made, detailed=True) is ExitCode.REFUSED
    done = site.apply()
    assert [(each.change.identity, each.status) for each in done.outcomes] == [
        ("b", OutcomeStatus.APPLIED),
        ("a", OutcomeStatus.FAILED),
    ]
    assert done.outcomes[1].refusal is not None
    assert done.outcomes[1].refusal.origin is RefusalOrigin.BROKER


def test_all_or_nothing_holds_for_policies_of_the_broker_too(site: ProjectHarness) -> None:
    site.cluster.refuse("POLICY_VIOLATION", on="a", call="preview_topics", message="no")
    assert not site.apply(policies=PolicyOptions(mode="all")).is_approved
    assert site.cluster.topics() == {}


def test_a_change_that_is_too_large_is_an_error_and_no_policy(site: ProjectHarness) -> None:
    """Trap 4: limits come back as POLICY_VIOLATION too."""
    text = "Unable to perform excessively large batch operation."
    site.cluster.refuse("POLICY_VIOLATION", on="a", call="preview_topics", message=text)
    made = site.plan().plan
    assert said(made) == []
    assert [each.code for each in made.diagnostics] == ["KP241"]
    assert "larger than the controller accepts" in made.diagnostics[0].hint


def test_the_refusal_of_the_second_of_two_steps_is_not_lost(site: ProjectHarness) -> None:
    """Configs are asked about first, partitions second: both have to be consented to."""
    site.apply()
    site.write(
        TOPICS.replace("a = 3", "a = 9").replace(
            "= 1\n", '= 1\n config = { "retention.ms" = "5" }\n'
        )
    )
    site.cluster.refuse("POLICY_VIOLATION", on="a", call="create_partitions", message="no more")
    assert said(site.plan().plan) == [("a", "broker", "no more")]


def test_the_brokers_are_not_asked_where_they_shall_not_be(site: ProjectHarness) -> None:
    site.cluster.refuse("POLICY_VIOLATION", on="a", call="preview_topics", message="no")
    assert said(site.plan(has_broker_check=False).plan) == []


def test_kplans_own_policies_are_asked_about_what_the_broker_refuses_too(
    site: ProjectHarness,
) -> None:
    site.cluster.refuse("POLICY_VIOLATION", on="a", call="preview_topics", message="theirs")
    site.write(
        TOPICS
        + 'policy "p" {\n on = ["create"]\n deny {\n condition = true\n message = "ours"\n }\n}'
    )
    found = said(site.plan().plan)
    assert sorted(found) == [
        ("a", "broker", "theirs"),
        ("a", "policy", "ours"),
        ("b", "policy", "ours"),
    ]


def test_the_quota_for_changes_is_waited_for(site: ProjectHarness) -> None:
    """Trap 8: asking costs as much of the quota as doing."""
    site.cluster.throttle(200, allowed=1)
    made = site.plan().plan
    assert (made.diagnostics, made.cluster["asked"], made.cluster["refused"]) == ((), "2", "0")


def test_a_quota_that_lasts_longer_than_the_dry_run_is_one_warning(site: ProjectHarness) -> None:
    """KIP-599: 44 warnings of eight lines each say no more than one."""
    names = ", ".join(f"n{number} = 1" for number in range(12))
    site.write(TOPICS.replace("a = 3", f"{names}, a = 3"))
    site.cluster.throttle(200, allowed=0, times=None)
    (only,) = site.plan().plan.diagnostics
    assert only.code == "KP242"
    assert "14 changes could not be tried" in only.detail
    assert "THROTTLING_QUOTA_EXCEEDED" in only.detail
