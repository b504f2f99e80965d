"""Settings declared, applied, changed outside and destroyed: in memory and on a real broker."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.setting_keys import BROKER_CONFIG_TYPES, known_configs
from kplan.cluster.settings import (
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
)
from kplan.cluster.topic import ConfigType
from kplan.kafka.settings.connection import ScramSha256
from kplan.kafka.wire.driver import WireCluster
from kplan.model.errors import AuthError, ConfigError, Refusal
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.sandbox.sandbox import Sandbox
from kplan.workflow.ports import Ports
from tests.capability import CLIENT_METRICS, ELIGIBLE_LEADERS, GROUP_CONFIGS, SCRAM
from tests.contract.clusters import settings_of, soon
from tests.project_harness import ProjectHarness

SETTINGS = """
provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
resource "kafka_quota" "user" {{
  entity_name = "{prefix}app"
  entity_type = "user"
  client_id   = "<default>"
  config      = {{ "producer_byte_rate" = {rate} }}
}}
resource "kafka_user_scram_credential" "app" {{
  username            = "{prefix}app"
  scram_mechanism     = "SCRAM-SHA-256"
  scram_iterations    = {iterations}
  password_wo         = "hunter2"
  password_wo_version = "1"
}}
resource "kafka_broker_config" "every" {{
  config = {{ "background.threads" = {threads} }}
}}
resource "kafka_broker_config" "one" {{
  broker_id = 1
  config    = {{ "log.cleaner.threads" = 2 }}
}}
resource "kafka_group_config" "group" {{
  group_id = "{prefix}group"
  config   = {{ "consumer.session.timeout.ms" = {timeout} }}
}}
resource "kafka_client_metrics" "metrics" {{
  name   = "{prefix}metrics"
  config = {{ "interval.ms" = 60000, "metrics" = "org.apache.kafka.consumer." }}
}}
resource "kafka_feature" "group" {{
  name  = "group.version"
  level = 1
}}
"""


class _Unclosed:
    """The cluster of the test, which outlives every run on it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> object:
        return getattr(self._cluster, name)

    def close(self) -> None:
        """Leave it open."""


@dataclass(slots=True)
class Estate(ProjectHarness):
    """A site on any implementation of the port."""

    @property
    def ports(self) -> Ports:
        """The outside world."""
        return replace(super(Estate, self).ports, connect=lambda *_: _Unclosed(self.cluster))  # type: ignore[arg-type] # stands for it


@pytest.fixture
def estate(cluster: Cluster, tmp_path: Path) -> Iterator[Estate]:
    found = Estate(tmp_path, cluster)  # type: ignore[arg-type] # any implementation does
    yield found
    if (tmp_path / "state").exists():
        found.apply(is_destroy=True)


def declare(site: ProjectHarness, prefix: str, **given: int) -> None:
    values = {"rate": 1000, "iterations": 4096, "threads": 11, "timeout": 50000, **given}
    site.write(SETTINGS.format(prefix=prefix, **values))


def actions(site: ProjectHarness) -> dict[str, Action]:
    found = {
        str(each.address).removeprefix("kafka_"): each.action for each in site.plan().plan.changes
    }
    return {name: action for name, action in found.items() if action is not Action.NO_OP}


def changed_outside(cluster: Cluster, prefix: str) -> ConfigResourceAlteration:
    """Change what kplan set, and start a throttle; give what ends it."""
    user = QuotaEntity(f"{prefix}app", "")
    cluster.alter_quotas([QuotaAlteration(user, {"producer_byte_rate": 5.0})])
    cluster.alter_scram_users([ScramAlteration(ScramUser(f"{prefix}app", "SCRAM-SHA-256"))])
    metrics = ConfigResource(ConfigScope.CLIENT_METRICS, f"{prefix}metrics")
    one = ConfigResource(ConfigScope.BROKER, "1")
    throttle = {"leader.replication.throttled.rate": "1000000"}
    specs = [
        ConfigResourceAlteration(metrics, delete=("metrics",)),
        ConfigResourceAlteration(one, throttle),
    ]
    assert cluster.alter_configs(specs) == {metrics: None, one: None}
    return ConfigResourceAlteration(one, delete=tuple(throttle))


@pytest.mark.needs(GROUP_CONFIGS, CLIENT_METRICS)
def test_settings_go_from_a_declaration_to_the_cluster_and_back(
    estate: Estate, prefix: str
) -> None:
    """S26, S27, K4o-16, K919-20."""
    cluster = estate.cluster
    declare(estate, prefix)
    planned = estate.plan().plan
    assert planned.diagnostics == ()
    assert {each.action for each in planned.changes} <= {Action.CREATE, Action.UPDATE, Action.NO_OP}
    done = estate.apply()
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert all(each.is_verified for each in done.outcomes)
    assert actions(estate) == {}, "what was applied needs nothing more"

    declare(estate, prefix, rate=2000, iterations=8192, threads=12, timeout=51000)
    assert actions(estate) == dict.fromkeys(
        ("quota.user", "user_scram_credential.app", "broker_config.every", "group_config.group"),
        Action.UPDATE,
    )
    done = estate.apply()
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert actions(estate) == {}

    throttled = changed_outside(cluster, prefix)
    wanted = {
        "quota.user": Action.UPDATE,
        "user_scram_credential.app": Action.CREATE,
        "client_metrics.metrics": Action.UPDATE,
    }
    soon(lambda: actions(estate) == wanted)
    cluster.alter_configs([throttled])
    done = estate.apply()
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}

    done = estate.apply(is_destroy=True)
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert [each.action for each in done.plan_result.plan.changes].count(Action.FORGET) == 1
    assert QuotaEntity(f"{prefix}app", "") not in cluster.quotas()
    assert cluster.versions().finalized["group.version"] == 1, "a feature stays as it is"


@pytest.mark.needs(GROUP_CONFIGS)
def test_what_a_broker_would_refuse_is_told_before_anything_is_done(
    estate: Estate, prefix: str
) -> None:
    """K919-06, trap "notanumber"."""
    del prefix
    estate.write(
        """
        provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
        resource "kafka_broker_config" "fixed" {
          broker_id = 1
          config    = { "node.id" = 7 }
        }
        resource "kafka_group_config" "unknown" {
          group_id = "g"
          config   = { "no.such.key" = "1" }
        }
        resource "kafka_quota" "address" {
          entity_type = "ip"
          entity_name = "no.such.host.invalid"
          config      = { "connection_creation_rate" = 1 }
        }
        """
    )
    plan = estate.plan().plan
    told = {str(each.address): (each.code, each.detail) for each in plan.diagnostics}
    assert {code for code, _ in told.values()} == {"KP241"}
    assert "read-only" in told["kafka_broker_config.fixed"][1]
    assert "kafka_group_config.unknown" in told
    is_real = not isinstance(estate.cluster, MemoryCluster)  # memory looks up no host names
    assert ("kafka_quota.address" in told) is is_real
    estate.write(
        """
        provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
        resource "kafka_broker_config" "typed" { config = { "log.cleaner.threads" = "notanumber" } }
        """
    )
    with pytest.raises(ConfigError) as refused:  # no broker has to be asked
        estate.plan()
    assert "Not a number of type INT" in refused.value.diagnostics[0].detail


@pytest.mark.broker
def test_every_key_that_brokers_write_in_their_own_way_has_a_type(broker: Sandbox) -> None:
    """Else a list with spaces is changed by every plan, and an apply waits for it in vain."""
    texts = {None, ConfigType.STRING, ConfigType.CLASS, ConfigType.PASSWORD}
    found: dict[str, ConfigType | None] = {}
    with closing(WireCluster(settings_of(broker, "anonymous"))) as cluster:
        for resource, types in (
            (ConfigResource(ConfigScope.BROKER, "1"), BROKER_CONFIG_TYPES),
            (ConfigResource(ConfigScope.GROUP, "g"), known_configs(ConfigScope.GROUP)),
        ):
            answer = cluster.configs([resource])[resource]
            if not isinstance(answer, Refusal):  # a version without configs of groups
                found |= {
                    key: each.type
                    for key, each in answer.items()
                    if key not in types and not each.is_read_only and each.type not in texts
                }
    assert found == {}


@pytest.mark.broker
def test_values_are_compared_as_the_broker_writes_them(broker: Sandbox, tmp_path: Path) -> None:
    with closing(WireCluster(settings_of(broker, "anonymous"))) as cluster:
        estate = Estate(tmp_path, cluster)  # type: ignore[arg-type] # any implementation does
        estate.write(
            """
            provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
            resource "kafka_broker_config" "one" {
              broker_id = 1
              config = {
                "log.roll.ms"           = "+604800000"
                "ssl.enabled.protocols" = "TLSv1.2, TLSv1.3"
              }
            }
            """
        )
        done = estate.apply()
        assert [each.is_verified for each in done.outcomes] == [True]
        assert actions(estate) == {}
        estate.apply(is_destroy=True)


@pytest.mark.broker
@pytest.mark.needs(ELIGIBLE_LEADERS)
def test_what_kafka_does_not_remove_is_forgotten_or_refused_with_a_way_out(
    broker: Sandbox, tmp_path: Path
) -> None:
    provider = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
    kept = """
    resource "kafka_broker_config" "b" {
      config = { "min.insync.replicas" = 1 }
    }
    """
    root = """
    resource "kafka_logger" "r" {
      node_id = 1
      logger  = "root"
      level   = "INFO"
    }
    """
    with closing(WireCluster(settings_of(broker, "anonymous"))) as cluster:
        estate = Estate(tmp_path, cluster)  # type: ignore[arg-type] # any implementation does
        estate.write(provider + kept + root)
        estate.apply()

        plan = estate.plan(is_destroy=True).plan
        actions = {each.kind: each.action for each in plan.changes}
        assert actions["kafka_logger"] is Action.FORGET
        assert [each.hint for each in plan.diagnostics] == [
            "Leave the object on the cluster: kplan state rm 'kafka_broker_config.b'"
        ]
        estate.write(provider + kept.replace("min.insync.replicas", "log.cleaner.threads"))
        assert estate.plan().plan.diagnostics[0].hint.startswith("Declare min.insync.replicas;")
        estate.write(provider + kept.replace('"b" {', '"one" {\nbroker_id = 1'))
        told = {str(each.address): each.hint for each in estate.plan().plan.diagnostics}
        assert "in a block without broker_id" in told["kafka_broker_config.one"]


@pytest.mark.broker
@pytest.mark.needs(SCRAM)
def test_a_user_that_was_made_can_log_in(sasl_broker: Sandbox, prefix: str) -> None:
    """S27: the password arrives as it was meant."""
    admin = settings_of(sasl_broker, "admin")
    name = ScramUser(f"{prefix}carol", "SCRAM-SHA-256")
    with closing(WireCluster(admin)) as cluster:
        assert cluster.alter_scram_users([ScramAlteration(name, 4096, "hunter=2,ü")]) == {
            name: None
        }
        soon(lambda: name in cluster.scram_users())
        for password, is_right in (("hunter=2,ü", True), ("hunter3", False)):
            own = replace(admin, sasl=ScramSha256(name.user, password))
            with closing(WireCluster(own)) as carol:
                if is_right:
                    assert carol.describe().cluster_id
                else:
                    with pytest.raises(AuthError):
                        carol.describe()
        assert cluster.alter_scram_users([ScramAlteration(name)]) == {name: None}
