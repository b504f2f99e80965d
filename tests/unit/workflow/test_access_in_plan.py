"""A plan says who gains and loses what, from what the brokers say of themselves."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from kplan.cluster.memory import MemoryCluster
from kplan.cluster.setting_specs import ConfigDetail, ConfigResource
from kplan.cluster.specs import ConfigEntry, ConfigSource, NewTopic
from kplan.config.inputs import Inputs
from kplan.model.access import Effect
from kplan.model.refusal import Refusal
from kplan.workflow.plan import Planned, plan
from kplan.workflow.project import PlanOptions, Ports, Project
from tests.applying import FakeClock
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
    tmp_path: Path, text: str, accepts: frozenset[str] = frozenset(), **settings: str | None
) -> Planned:
    (tmp_path / "main.tf").write_text(text)
    cluster = Brokers(1)
    cluster.settings = {key.replace("_", "."): value for key, value in settings.items()}
    cluster.seed([NewTopic("orders", 1, 1), NewTopic("other", 1, 1)])
    ports = Ports(lambda *_: cluster, Silence(), FakeClock(), lambda: NOW, lambda: False)
    project = Project(tmp_path, tmp_path / "state.json", Inputs())
    return plan(project, PlanOptions(accepts=accepts), ports)


def codes(made: Planned) -> list[str]:
    return [each.code for each in made.plan.diagnostics]


def test_a_plan_counts_the_live_topics_somebody_gains(tmp_path: Path) -> None:
    made = planned(tmp_path, ACL)
    assert made.plan.access is not None
    (gained,) = made.plan.access.shifts
    assert (gained.effect, gained.operations) == (Effect.GAIN, ("READ", "DESCRIBE"))
    assert (gained.existing, gained.examples) == (1, ("orders",))
    assert codes(made) == []


def test_a_plan_without_acls_says_nothing_of_access(tmp_path: Path) -> None:
    assert planned(tmp_path, 'resource "kafka_topic" "t" {\n  name = "t"\n}\n').plan.access is None


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
