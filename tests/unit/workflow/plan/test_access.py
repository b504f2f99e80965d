"""A plan says who gains and loses what, from what the brokers say of themselves."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, ConfigEntry, ConfigSource, NewTopic
from kplan.cluster.settings import ConfigDetail, ConfigResource
from kplan.config.inputs import Inputs
from kplan.model.errors import Refusal
from kplan.model.impact import AccessEffect
from kplan.model.plan import Risk
from kplan.report.documents.plan import plan_document
from kplan.report.format import PLAIN_STYLE
from kplan.report.formats.text import render_text
from kplan.workflow.plan.plan import PlanResult, make_plan
from kplan.workflow.ports import PlanOptions, Ports, Project
from tests.apply_harness import FakeClock
from tests.golden.case import NOW, Silence

ACL = """
resource "kafka_acl" "a" {
  resource_type       = "Topic"
  resource_name       = "orders"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


class Brokers(MemoryCluster):
    """A cluster whose brokers are set to something; None is a value they keep to themselves."""

    settings: dict[str, str | None]

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        more = {
            key: ConfigDetail(ConfigEntry(value, ConfigSource.STATIC_BROKER, is_sensitive=True))
            for key, value in self.settings.items()
        }
        found = super().configs(resources, broker=broker)
        assert not any(isinstance(each, Refusal) for each in found.values())
        return {resource: {**details, **more} for resource, details in found.items()}  # type: ignore[dict-item] # nothing is refused


def planned(
    tmp_path: Path,
    declared: str,
    accepts: frozenset[str] = frozenset(),
    cluster: Brokers | None = None,
    **settings: str | None,
) -> PlanResult:
    (tmp_path / "main.tf").write_text(declared)
    cluster = cluster or Brokers(1)
    cluster.settings = {key.replace("_", "."): value for key, value in settings.items()}
    cluster.seed([NewTopic("orders", 1, 1), NewTopic("other", 1, 1)])
    cluster.add_groups("billing", "billing-test", "audit")
    ports = Ports(lambda *_: cluster, Silence(), FakeClock(), lambda: NOW, lambda: False)
    project = Project(tmp_path, tmp_path / "state.json", Inputs())
    return make_plan(project, PlanOptions(accepted_guards=accepts), ports)


GROUPS = (
    ACL.replace('"Topic"', '"Group"')
    .replace('"orders"', '"billing"')
    .replace("  acl_principal", '  resource_pattern_type_filter = "Prefixed"\n  acl_principal')
)


def codes(made: PlanResult) -> list[str]:
    return [each.code for each in made.plan.diagnostics]


def test_a_plan_counts_the_live_topics_somebody_gains(tmp_path: Path) -> None:
    made = planned(tmp_path, ACL)
    assert made.plan.access is not None
    (gained,) = made.plan.access.shifts
    assert (gained.effect, gained.operations) == (AccessEffect.GAIN, ("READ", "DESCRIBE"))
    assert (gained.existing, gained.examples) == (1, ("orders",))
    assert codes(made) == []


def test_a_topic_that_the_plan_creates_counts_as_there(tmp_path: Path) -> None:
    topic = 'resource "kafka_topic" "t" {\n  name = "new"\n}\n'
    made = planned(tmp_path, topic + ACL.replace('"orders"', '"new"'))
    assert made.plan.access is not None
    (gained,) = made.plan.access.shifts
    assert (gained.existing, gained.examples) == (1, ("new",))


def allow(principal: str, operation: str = "READ") -> AclBinding:
    return AclBinding("TOPIC", "orders", "LITERAL", principal, "*", operation, "ALLOW")


DENY_ALL = (
    ACL.replace('"Allow"', '"Deny"').replace('"Read"', '"All"').replace('"User:app"', '"User:*"')
)


def test_a_deny_that_takes_rights_is_dangerous_and_names_who_loses_what(tmp_path: Path) -> None:
    """It outweighs every Allow; -max-dangerous counts it."""
    cluster = Brokers(1)
    cluster.create_acls([allow("User:a"), allow("User:b", "WRITE"), allow("User:root")])
    made = planned(tmp_path, DENY_ALL, cluster=cluster, super_users="User:root")
    (change,) = made.plan.changes
    assert change.risk is Risk.DANGEROUS
    assert change.notes == ("KP2305 this Deny takes DESCRIBE, READ, WRITE from User:a, User:b",)
    ports = Ports(lambda *_: cluster, Silence(), FakeClock(), lambda: NOW, lambda: False)
    project = Project(tmp_path, tmp_path / "state.json", Inputs())
    made = make_plan(project, PlanOptions(max_dangerous=0), ports)
    assert "KP451" in codes(made)


@pytest.mark.parametrize(
    "change",
    [
        (("", ""),),  # nobody has anything there
        (('"User:*"', '"User:other"'),),
        (('"orders"', '"bills"'),),
    ],
)
def test_a_deny_that_takes_nothing_is_not_dangerous(
    tmp_path: Path, change: tuple[tuple[str, str], ...]
) -> None:
    text = DENY_ALL
    for before, after in change:
        text = text.replace(before, after)
    cluster = Brokers(1)
    if change != (("", ""),):
        cluster.create_acls([allow("User:a")])
    (denied,) = planned(tmp_path, text, cluster=cluster).plan.changes
    assert denied.risk is Risk.SAFE


def test_a_plan_without_acls_says_nothing_of_access(tmp_path: Path) -> None:
    assert planned(tmp_path, 'resource "kafka_topic" "t" {\n  name = "t"\n}\n').plan.access is None


def test_a_plan_counts_the_groups_there_are(tmp_path: Path) -> None:
    """Issue 7, item 6: on how many existing topics and groups."""
    made = planned(tmp_path, GROUPS)
    assert made.plan.access is not None
    (gained,) = made.plan.access.shifts
    assert (gained.resource_type, gained.patterns) == ("GROUP", ("billing*",))
    assert (gained.existing, gained.examples) == (2, ("billing", "billing-test"))
    assert made.plan.access.unknown == ()


def test_groups_are_listed_only_where_an_acl_on_them_changes(tmp_path: Path) -> None:
    for declared, count in ((ACL, 0), (GROUPS, 1)):
        cluster = Brokers(1)
        planned(tmp_path, declared, cluster=cluster)
        assert cluster.count("group_names") == count


def test_groups_that_cannot_be_listed_are_unknown_and_never_none(tmp_path: Path) -> None:
    cluster = Brokers(1)
    cluster.refuse("COORDINATOR_NOT_AVAILABLE", call="group_names")
    made = planned(tmp_path, GROUPS, cluster=cluster)
    assert made.plan.access is not None
    (gained,) = made.plan.access.shifts
    assert gained.existing is None
    (why,) = made.plan.access.unknown
    assert "Which groups there are is not known" in why
    assert "COORDINATOR_NOT_AVAILABLE" in why
    told = render_text(plan_document(made.plan), PLAIN_STYLE)
    assert "how many groups is not known" in told
    assert why in told


def test_a_setting_that_brokers_keep_to_themselves_is_unknown(tmp_path: Path) -> None:
    made = planned(tmp_path, ACL, allow_everyone_if_no_acl_found=None, super_users=None)
    assert codes(made) == ["KP444"]
    assert made.plan.access is not None
    assert len(made.plan.access.unknown) == 2


@pytest.mark.parametrize("accepts", [frozenset[str](), frozenset({"KP443"})])
def test_the_provider_block_says_what_brokers_do_not(
    tmp_path: Path, accepts: frozenset[str]
) -> None:
    block = 'provider "kafka" {\n  allow_everyone_if_no_acl_found = true\n}\n'
    made = planned(tmp_path, block + ACL, accepts, allow_everyone_if_no_acl_found=None)
    assert codes(made) == ["KP443"]
    assert made.plan.has_errors is not bool(accepts)
