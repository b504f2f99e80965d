"""A plan beside the logged requests: what it says, and what policies make of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding
from kplan.model.plan import Plan, Replay
from kplan.report.documents.plan import replay_text
from kplan.report.format import PLAIN_STYLE
from kplan.report.views import plan_json, plan_text
from kplan.state.plan_file import decode_plan, encode_plan
from kplan.workflow.plan.plan import make_plan
from kplan.workflow.ports import PlanOptions, ReplayBasis
from tests.project_harness import ProjectHarness

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
ACL = """
resource "kafka_acl" "reader" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
DENIES = """
policy "no-denied-requests" {
  on   = ["delete"]
  kind = "kafka_acl"
  deny {
    condition = %s
    message   = "denies requests of ${join(", ", keys(plan.replay.principals))}"
  }
}
"""
FOUND = Replay(1204, 0, 90_000, "2026-11-16", (("User:billing", 1204),))
OTHER = AclBinding("TOPIC", "x", "LITERAL", "User:x", "*", "READ", "ALLOW")


def planned(
    folder: Path, policy: str = "", found: Replay = FOUND
) -> tuple[Plan, Mapping[str, ReplayBasis]]:
    """Plan to delete an ACL, with a replay that comes to this."""
    site = ProjectHarness(folder, MemoryCluster())
    site.cluster.create_acls([OTHER])
    site.write(PROVIDER + ACL)
    site.apply()
    site.write(PROVIDER + policy)
    asked: dict[str, ReplayBasis] = {}

    def replay(plan: Plan, bases: Mapping[str, ReplayBasis]) -> Plan:
        asked.update(bases)
        return replace(plan, replay=found)

    made = make_plan(site.project, PlanOptions(), replace(site.ports, replay=replay)).plan
    return made, asked


def test_the_plan_says_which_requests_it_would_have_denied(tmp_path: Path) -> None:
    made, asked = planned(tmp_path)
    said = plan_text(made, PLAIN_STYLE)
    sentence = "would have denied 1,204 requests of User:billing since Monday, 2026-11-16"
    assert sentence in " ".join(said.split())
    assert '"replay":{"denied":1204,"allowed":0,' in plan_json(made)
    assert {len(each.acls) for each in asked.values()} == {2}
    assert decode_plan(encode_plan(made)).replay == FOUND


@pytest.mark.parametrize(
    ("condition", "found", "is_refused"),
    [
        ("plan.replay.denied > 0", FOUND, True),
        ("plan.replay.denied > 2000", FOUND, False),
        ("plan.replay.denied > 0", Replay(0, 0, 90_000), False),
        ("plan.replay.denied > 0", Replay(None, 0), True),
    ],
)
def test_a_policy_can_refuse_denied_requests(
    tmp_path: Path, condition: str, found: Replay, *, is_refused: bool
) -> None:
    """Issue 19, 4.5; what is not known is never judged as nothing."""
    made, _ = planned(tmp_path, DENIES % condition, found)
    assert bool(made.refused_keys) == is_refused
    if found == FOUND and is_refused:
        assert made.violations[0].message == "denies requests of User:billing"


def test_without_a_replay_a_policy_may_try(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.write(PROVIDER + ACL)
    site.apply()
    site.write(PROVIDER + DENIES % "try(plan.replay.denied, 0) > 0")
    assert not site.plan().plan.refused_keys
    site.write(PROVIDER + DENIES % "plan.replay.denied > 0")
    assert site.plan().plan.refused_keys


def test_a_plan_without_acls_needs_no_replay(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.write(PROVIDER + ACL)
    site.apply()

    def replay(plan: Plan, bases: Mapping[str, ReplayBasis]) -> Plan:
        raise AssertionError((plan, bases))

    ports = replace(site.ports, replay=replay)
    assert make_plan(site.project, PlanOptions(), ports).plan.replay == Replay(0, 0)


def test_the_sentence_is_exact() -> None:
    several = Replay(7, 0, 10, "2026-11-17", (("User:a", 4), ("User:b", 3)))
    assert replay_text(several) == (
        "would have denied 7 requests of User:a (4), User:b (3) since Tuesday, 2026-11-17"
    )
    none = Replay(0, 0, 10, "2026-11-17")
    assert replay_text(none) == (
        "would have denied none of 10 logged requests since Tuesday, 2026-11-17"
    )
    assert replay_text(Replay(0, 0)) == "would have denied no logged request"
    assert replay_text(Replay(None, 0)) == "logged requests UNKNOWN"
