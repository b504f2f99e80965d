"""Rights that the principal lacks for a plan, told before anything is sent."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding
from kplan.cluster.settings import NodeVersions
from kplan.model.errors import UnreachableError
from kplan.model.plan import Plan
from tests.project_harness import ProjectHarness

TOPICS = """
resource "kafka_topic" "t" {
  for_each           = toset(["shop.a", "shop.b", "shop.c", "shop.d"])
  name               = each.key
  partitions         = 3
  replication_factor = 1
}
"""
ACL = """
resource "kafka_acl" "a" {
  resource_name       = "shop.a"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster(principal="User:ci"))
    found.write(TOPICS)
    return found


def told(plan: Plan) -> list[str]:
    return [each.detail for each in plan.diagnostics if each.code == "KP332"]


def test_the_right_to_create_is_told_once_for_all_topics_that_begin_alike(
    site: ProjectHarness,
) -> None:
    """K4-21."""
    site.cluster.deny_operation("CREATE", "TOPIC")
    plan = site.plan().plan
    assert told(plan) == ["User:ci needs CREATE on TOPIC shop.* (4 topics)."]
    (found,) = plan.diagnostics
    assert "--operation CREATE --topic shop. --resource-pattern-type prefixed" in found.hint
    assert str(found.address) == 'kafka_topic.t["shop.a"]'
    assert len(found.related) == 2
    assert site.apply().outcomes == ()
    assert site.cluster.topics() == {}


def test_the_right_to_delete_is_known_before_anything_is_deleted(site: ProjectHarness) -> None:
    """K4-34: nobody can ask Kafka whether it would delete, but what we may do it tells."""
    site.apply()
    site.write(TOPICS.replace(', "shop.d"', ""))
    site.cluster.deny_operation("DELETE", "TOPIC", "shop.d")
    assert told(site.plan().plan) == ["User:ci needs DELETE on TOPIC shop.d."]
    assert "shop.d" in site.cluster.topics()


@pytest.mark.parametrize("operation", ["DELETE", "ALL"])
def test_the_right_to_delete_on_the_cluster_is_enough_with_kraft(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """Seen on Kafka 4.3: a controller takes it for every topic; no answer tells of it."""
    site.apply()
    site.write(TOPICS.replace(', "shop.d"', ""))
    site.cluster.deny_operation("DELETE", "TOPIC", "shop.d")
    mode = "KRaft"
    versions = {"KRaft": NodeVersions({"DescribeQuorum": (0, 2)}), "ZooKeeper": NodeVersions({})}
    monkeypatch.setattr(site.cluster, "versions", lambda: versions[mode])
    held = ("CLUSTER", "kafka-cluster", "LITERAL", "User:ci", "*", operation)
    site.cluster.create_acls([AclBinding(*held, "ALLOW")])
    assert told(site.plan().plan) == []
    site.cluster.create_acls([AclBinding(*held, "DENY")])
    assert told(site.plan().plan) == ["User:ci needs DELETE on TOPIC shop.d."]
    site.cluster.delete_acls([AclBinding(*held, "DENY")])
    mode = "ZooKeeper"
    assert told(site.plan().plan) == ["User:ci needs DELETE on TOPIC shop.d."], "ZooKeeper"


def test_each_step_of_a_change_needs_a_right_of_its_own(site: ProjectHarness) -> None:
    site.apply()
    site.write(
        TOPICS.replace("= 3", "= 6").replace("= 1\n", '= 1\n config = { "retention.ms" = "5" }\n')
    )
    site.cluster.deny_operation("ALTER", "TOPIC", "shop.a")
    site.cluster.deny_operation("ALTER_CONFIGS", "TOPIC", "shop.b")
    plan = site.plan().plan
    assert told(plan) == [
        "User:ci needs ALTER on TOPIC shop.a.",
        "User:ci needs ALTER_CONFIGS on TOPIC shop.b.",
    ]
    assert {each.code for each in plan.diagnostics} == {"KP332"}, "each is told once"


def test_the_right_to_change_acls_is_told(site: ProjectHarness) -> None:
    """K4-48: ALTER on the cluster is enough, and ALL is not needed."""
    site.write(TOPICS + ACL)
    site.cluster.deny_operation("ALTER", "CLUSTER")
    plan = site.plan().plan
    assert told(plan) == ["User:ci needs ALTER on CLUSTER."]
    assert "--cluster" in plan.diagnostics[0].hint


SETTINGS = {
    "ALTER_CONFIGS on CLUSTER": """
resource "kafka_quota" "q" {
  entity_name = "app"
  entity_type = "user"
  config      = { consumer_byte_rate = "1000" }
}
resource "kafka_broker_config" "b" {
  config = { "log.cleaner.threads" = "2" }
}
""",
    "ALTER on CLUSTER": """
resource "kafka_user_scram_credential" "u" {
  username        = "app"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "secret"
}
""",
    "ALTER_CONFIGS on GROUP billing": """
resource "kafka_group_config" "g" {
  group_id = "billing"
  config   = { "consumer.session.timeout.ms" = "50000" }
}
""",
}


@pytest.mark.parametrize("right", SETTINGS)
def test_the_rights_that_settings_take_are_told(site: ProjectHarness, right: str) -> None:
    """Quotas, users, configs of brokers and of groups (KIP-546, KIP-554, KIP-848)."""
    site.write(SETTINGS[right])
    operation, _, on = right.partition(" on ")
    site.cluster.deny_operation(operation, on.partition(" ")[0])
    plan = site.plan().plan
    assert told(plan) == [f"User:ci needs {right}."]
    option = "--group billing" if "GROUP" in right else "--cluster"
    assert f"--operation {operation} {option}" in plan.diagnostics[0].hint
    assert site.apply().outcomes == ()


def test_names_with_spaces_are_quoted_in_the_command_that_grants_a_right(tmp_path: Path) -> None:
    """The principal of a certificate has them, as group ids may."""
    site = ProjectHarness(tmp_path, MemoryCluster(principal="User:CN=ci,O=Acme Inc"))
    site.write(SETTINGS["ALTER_CONFIGS on GROUP billing"].replace('"billing"', '"my app"'))
    site.cluster.deny_operation("ALTER_CONFIGS", "GROUP")
    (found,) = site.plan().plan.diagnostics
    assert "--allow-principal 'User:CN=ci,O=Acme Inc' --operation" in found.hint
    assert found.hint.endswith("--group 'my app'")


def test_whoever_may_do_everything_hears_nothing(site: ProjectHarness) -> None:
    site.write(TOPICS + ACL)
    assert site.plan().plan.diagnostics == ()


def test_a_hidden_topic_is_not_an_absent_one(site: ProjectHarness) -> None:
    """K4-34, trap 7: the answer 29 says nothing about whether there is a topic."""
    site.apply()
    site.cluster.hide_topic("shop.a")
    plan = site.plan().plan
    assert [each.code for each in plan.diagnostics] == ["KP233"]
    assert "needs DESCRIBE on TOPIC shop.a" in plan.diagnostics[0].detail
    assert plan.batches == ()


def test_the_rights_are_not_asked_for_where_there_is_nothing_to_do(site: ProjectHarness) -> None:
    site.apply()
    site.cluster.calls.clear()
    site.plan()
    assert site.cluster.count("rights") == 0


def test_a_cluster_that_does_not_tell_is_asked_by_applying(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_: object) -> None:
        raise UnreachableError("nobody answers")

    monkeypatch.setattr(site.cluster, "rights", silent)
    assert site.plan().plan.diagnostics == ()
