"""One folder with all that a team has: on a real broker, schema registry and Connect worker."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.connect import NewConnector
from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, ConfigAlteration
from kplan.cluster.settings import QuotaAlteration, QuotaEntity
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import RestService
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import settings_of, soon
from tests.e2e.commands import Ran, kplan

pytestmark = pytest.mark.broker

EXAMPLE = Path(__file__).parents[2] / "examples" / "team-pipeline"
TOPIC = "shop.orders"
KINDS = {"kafka_topic", "kafka_acl", "kafka_quota", "kafka_schema", "kafka_connector"}


@pytest.fixture
def cluster(broker: Sandbox, registry_url: str, connect_url: str) -> Iterator[Cluster]:
    settings = replace(
        settings_of(broker, "anonymous"),
        schema_registry=RestService(registry_url),
        connect=RestService(connect_url),
    )
    with closing(open_cluster(settings)) as found:
        yield found


class Folder:
    """The example, in a folder of its own."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self._env = env

    def run(self, *args: str) -> Ran:
        return kplan(self.folder, *args, env=self._env)

    def changed_kinds(self, verb: str, key: str) -> set[str]:
        """Run and return the kinds of what is not as it should be."""
        ran = self.run(verb, "-report=json=-" if verb == "drift" else "-out=plan.bin")
        assert ran.code in {0, 2}, ran.err
        shown = ran if verb == "drift" else self.run("show", "-json", "plan.bin")
        found = json.loads(shown.out)
        return {
            each["type"] for each in found[key] if each["change"]["actions"] not in (["no-op"], [])
        }


@pytest.fixture
def team(broker: Sandbox, registry_url: str, connect_url: str, tmp_path: Path) -> Folder:
    shutil.copytree(EXAMPLE, tmp_path / "team")
    (tmp_path / "orders.txt").write_text("one\n")
    return Folder(
        tmp_path / "team",
        {
            "CI": "true",
            "KPLAN_STATE": str(tmp_path / "kept.json"),
            "KPLAN_BOOTSTRAP_SERVERS": broker.properties["bootstrap.servers"],
            "KPLAN_TLS_ENABLED": "false",
            "KPLAN_SCHEMA_REGISTRY_URL": registry_url,
            "KPLAN_CONNECT_URL": connect_url,
            "KPLAN_VAR_source_file": str(tmp_path / "orders.txt"),
        },
    )


def change_everything(cluster: Cluster) -> None:
    """Change each object as someone else would."""
    registry, connect = cluster.schema_registry(), cluster.kafka_connect()
    assert registry is not None
    assert connect is not None
    cluster.alter_topic_configs([ConfigAlteration(TOPIC, {"retention.ms": "1"})])
    acl = AclBinding("TOPIC", TOPIC, "LITERAL", "User:shop-billing", "*", "READ", "ALLOW")
    cluster.delete_acls([acl])
    user = QuotaEntity(user="shop-billing")
    cluster.alter_quotas([QuotaAlteration(user, {"consumer_byte_rate": 5.0})])
    registry.set_compatibility({f"{TOPIC}-value": "NONE"})
    config = connect.connectors()["shop-orders"].config
    connect.configure_connectors([NewConnector("shop-orders", {**config, "batch.size": "7"})])
    soon(lambda: acl not in cluster.acls())
    soon(lambda: "batch.size" in connect.connectors()["shop-orders"].config)


def test_a_teams_folder_is_applied_watched_mended_and_destroyed(
    team: Folder, cluster: Cluster
) -> None:
    registry, connect = cluster.schema_registry(), cluster.kafka_connect()
    assert registry is not None
    assert connect is not None
    applied = team.run("apply", "-auto-approve")
    assert applied.code == 0, applied.err
    assert "6 added" in applied.out
    second = team.run("plan", "-detailed-exitcode")
    assert second.code == 0, second.out
    assert "No changes." in second.out
    change_everything(cluster)
    assert team.changed_kinds("plan", "resource_drift") == KINDS
    assert team.run("drift").code == 2
    mended = team.run("apply", "-auto-approve")
    assert mended.code == 0, mended.out + mended.err
    assert team.run("plan", "-detailed-exitcode").code == 0
    gone = team.run("destroy", "-auto-approve")
    assert gone.code == 0, gone.out + gone.err
    assert TOPIC not in cluster.topics()
    assert not [each for each in cluster.acls() if each.principal == "User:shop-billing"]
    assert QuotaEntity(user="shop-billing") not in cluster.quotas()
    assert f"{TOPIC}-value" not in registry.subjects()
    assert "shop-orders" not in connect.connectors()
