"""What clusters offer: told, and held against plans."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import NodeVersions
from kplan.model.errors import UnsupportedError
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from kplan.workflow.inspect.cluster import list_features, list_versions
from tests.project_harness import ProjectHarness

QUOTA = """
provider "kafka" {
  bootstrap_servers = ["127.0.0.1:1"]
}
resource "kafka_quota" "a" {
  entity_type = "user"
  config      = { "producer_byte_rate" = 5 }
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(QUOTA)
    return found


def test_a_plan_that_takes_what_the_cluster_lacks_is_refused(site: ProjectHarness) -> None:
    """K117-21: API, needed and offered versions are named, and nothing is changed."""
    site.cluster.remove_api("alter_quotas", "AlterClientQuotas", (0, 1))
    plan = site.plan().plan
    (problem,) = plan.diagnostics
    assert (problem.code, plan.is_applyable) == ("KP229", False)
    assert "AlterClientQuotas in versions 0 to 1; the cluster offers none" in problem.detail
    assert site.apply().outcomes == ()
    assert site.cluster.quotas() == {}


def test_what_cannot_be_tried_with_the_broker_has_its_own_error(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It timed out, said the plan; and said so again of what it had refused."""

    def lacking(*_: object, **__: object) -> None:
        raise UnsupportedError("kplan needs AlterClientQuotas in version 1; b lacks it.")

    monkeypatch.setattr(site.cluster, "alter_quotas", lacking)
    (problem,) = site.plan().plan.diagnostics
    assert (problem.code, problem.is_error) == ("KP242", False)
    assert "UNSUPPORTED_VERSION: The cluster does not support this operation" in problem.detail
    site.cluster.remove_api("alter_quotas", "AlterClientQuotas", (0, 1))
    assert [each.code for each in site.plan().plan.diagnostics] == ["KP229"]


def test_what_nothing_takes_may_be_lacking(site: ProjectHarness) -> None:
    site.cluster.remove_api("alter_scram_users", "AlterUserScramCredentials", (0, 0))
    assert site.plan().plan.diagnostics == ()


def test_a_kind_that_the_cluster_lacks_is_an_error_at_its_block_and_stops_no_other(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(**_: object) -> None:
        raise UnsupportedError(
            "kplan needs DescribeClientQuotas in a version of 0 to 1; b lacks it."
        )

    monkeypatch.setattr(site.cluster, "quotas", lacking)
    plan = site.plan().plan
    assert [(each.code, str(each.address)) for each in plan.diagnostics] == [
        ("KP590", "kafka_quota.a"),
        ("KP234", "None"),
    ]
    assert "DescribeClientQuotas" in plan.diagnostics[0].detail
    assert plan.diagnostics[0].subject is not None
    assert not plan.is_applyable
    site.write(QUOTA.partition("resource")[0])
    assert site.plan().plan.diagnostics == ()


def test_an_acl_on_a_user_is_refused_where_brokers_know_none(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka 2.8 refuses it with `Failed to create ACL`, which says nothing."""
    plain = site.cluster.versions()
    older = replace(plain, apis={**plain.apis, "CreateAcls": (0, 2)})
    monkeypatch.setattr(site.cluster, "versions", lambda **_: older)
    site.write(
        """
        provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
        resource "kafka_acl" "tokens" {
          resource_type       = "User"
          resource_name       = "User:bob"
          acl_principal       = "User:app"
          acl_host            = "*"
          acl_operation       = "CreateTokens"
          acl_permission_type = "Allow"
        }
        """
    )
    problem = next(each for each in site.plan().plan.diagnostics if each.code == "KP229")
    assert str(problem.address) == "kafka_acl.tokens"
    assert problem.detail.endswith("Kafka has ACLs on users since 3.3 (KIP-373).")


def test_a_feature_that_an_older_broker_lacks_cannot_be_raised(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of an upgrade every node counts."""
    newer = site.cluster.versions()
    older = replace(newer, supported={"metadata.version": (1, 21)})
    monkeypatch.setattr(
        site.cluster, "versions", lambda broker=None: older if broker == 1 else newer
    )
    (table,) = list_features(site.cluster).tables
    rows = {str(row[0]): row[1:] for row in table.rows}
    assert rows["share.version" if "share.version" in rows else "group.version"][2:] == (0, False)
    assert rows["metadata.version"][2] == 21


def test_the_brokers_are_told_with_apis_and_features(site: ProjectHarness) -> None:
    """K117-17."""
    found = list_versions(site.project, site.ports)
    text = views.figures_text(found, PLAIN_STYLE)
    assert "CreateTopics" in text
    assert "metadata.version" in text
    assert found.notes == ()
    data = json.loads(views.figures_json(found))
    assert data["tables"]["apis"]["rows"][0]["broker 1"] == "0 to 4"
    assert [each["release"] for each in data["tables"]["brokers"]["rows"]] == ["4.3"] * 3


def test_brokers_that_differ_and_those_that_are_silent_are_noted(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K117-08, K117-17."""
    plain = site.cluster.versions()

    def own(broker: int | None = None) -> NodeVersions:
        if broker == 3:
            site.cluster.stop_brokers(3)
            return MemoryCluster.versions(site.cluster, broker=3)
        return replace(plain, apis={**plain.apis, "Metadata": (0, 12)}) if broker == 2 else plain

    monkeypatch.setattr(site.cluster, "versions", own)
    found = list_versions(site.project, site.ports)
    silent, mixed = found.notes
    assert silent.startswith("Broker 3 cannot be asked: ")
    assert "different versions of 1 APIs (Metadata)" in mixed
